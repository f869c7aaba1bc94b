"""A tiny made-up run: two layers, three tokens, every llama checkpoint with seeded values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.ladders import llama_ladder
from trlm_lab.base.names import parse_checkpoint
from trlm_lab.base.records import Case, EngineIdentity, Observation
from trlm_lab.traces import TraceWriter

SIZES = {"D": 4, "H": 2, "K": 1, "E": 2, "HE": 4, "KE": 2, "F": 6, "V": 5}


def run_of(case: Case, layers: int = 2, seed: int = 0) -> list[Observation]:
    """A whole stream for a case, in ladder order."""
    rng = np.random.default_rng(seed)
    sizes = {**SIZES, "T": len(case.token_ids), "S": len(case.token_ids)}
    stream = [Observation("token_ids", np.array(case.token_ids, dtype=np.int64))]
    for name in llama_ladder(layers):
        shape = [sizes[axis] for axis in parse_checkpoint(name).axes]
        stream.append(Observation(name, rng.standard_normal(shape).astype(np.float32)))
    shape = (len(case.token_ids), 5)
    stream.append(Observation("logits.topk_ids", np.zeros(shape, dtype=np.int64)))
    stream.append(Observation("logits.topk_values", np.zeros(shape, dtype=np.float32)))
    return stream


@pytest.fixture
def stream_of() -> Callable[..., list[Observation]]:
    return run_of


@pytest.fixture
def case() -> Case:
    return Case("words", (3, 1, 4), text="hello")


@pytest.fixture
def identity() -> EngineIdentity:
    return EngineIdentity("made-up", "1", "scalar-f32-v1", "00" * 32, {"threads": 1})


@pytest.fixture
def subject() -> dict[str, str]:
    return {"artifact": "ab" * 32}


@pytest.fixture
def layers() -> int:
    """Layers of the stored run."""
    return 2


@pytest.fixture
def root(
    tmp_path: Path,
    case: Case,
    identity: EngineIdentity,
    subject: dict[str, str],
    layers: int,
) -> Path:
    """A store with one case."""
    path = tmp_path / "run.zarr"
    TraceWriter(path, identity, subject).write_case(case, iter(run_of(case, layers)))
    return path
