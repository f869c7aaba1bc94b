"""Gram matrices of the inputs of a model's matrices, over calibration texts, by its own framework.

Forward passes and products run on one thread whatever else is set, so that the same lock and
processor features give the same bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from trlm_lab.base.model_parts import EMBEDDING, HEAD, POSITIONS
from trlm_lab.base.records import EffectiveConfig
from trlm_lab.base.source_tensors import source_tensors
from trlm_lab.oracle.defaults import effective_config, source_defaults
from trlm_lab.oracle.loading import load_model
from trlm_lab.oracle.settings import pinned_thread

Grams = dict[str, NDArray[np.float64]]


def calibration_grams(model_dir: Path, sequences: Sequence[Sequence[int]]) -> Grams:
    """sum over tokens of x x^T in float64, by the name of the model's tensor that reads x.

    The embedding has one where it is tied to the head: the head's. Sequences run one by one in
    their order.

    Raises:
        OracleMissingError: torch or transformers is not installed.
        OracleModelError: the directory holds no whole model of a known family.
    """
    config = effective_config(source_defaults(model_dir))
    with pinned_thread(1):
        model = load_model(model_dir)
        taps = _Taps(model, config)
        for ids in sequences:
            model(input_ids=torch.tensor([list(ids)], dtype=torch.int64), use_cache=False)
        return taps.grams()


class _Taps:
    """Hooks before every matrix; matrices that read the same tensor share its Gram matrix."""

    def __init__(self, model: Any, config: EffectiveConfig) -> None:
        self._totals: dict[str, torch.Tensor] = {}
        self._names: dict[str, list[str]] = {}
        self._last: tuple[Any, torch.Tensor] | None = None
        for source in source_tensors(config):
            parts = [part.destination for part in source.parts]
            looked_up = {EMBEDDING, POSITIONS}.intersection(parts)
            if len(source.shape) != 2 or looked_up or not source.name.endswith(".weight"):
                continue
            names = [EMBEDDING if n == HEAD and config.tie_word_embeddings else n for n in parts]
            path = source.name.removesuffix(".weight")
            self._names[path] = names
            model.get_submodule(path).register_forward_pre_hook(self._hook(path))

    def _hook(self, path: str) -> Any:
        def before(module: Any, args: tuple[Any, ...]) -> None:
            given = args[0]
            if self._last is None or self._last[0] is not given:
                x = given.reshape(-1, given.shape[-1]).to(torch.float64)
                self._last = given, x.T @ x
            gram, total = self._last[1], self._totals.get(path)
            self._totals[path] = gram if total is None else total + gram

        return before

    def grams(self) -> Grams:
        """By tensor; made symmetric by its upper triangle."""
        found = {}
        for path, total in self._totals.items():
            upper = np.triu(total.numpy())
            gram = upper + np.triu(upper, 1).T
            found.update(dict.fromkeys(self._names[path], gram))
        return found
