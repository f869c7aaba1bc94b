"""The small model that the tests of the reference engine share, and how they look at it."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.backends import tiny_slm as tiny
from trlm_lab.backends.model_files import OpenModel
from trlm_lab.backends.reference import Plant, ReferenceRunner, ReferenceSession
from trlm_lab.base.bits import same_bits
from trlm_lab.base.records import Case, EffectiveConfig, Observation
from trlm_lab.ops.arithmetic import Array
from trlm_lab.ops.matmul import RowBlocks

F32 = np.float32
EXACT = ("scalar-f32-v1", "lanes16-f32-v1")
CASE = Case("five", (3, 66, 0, 41, 41))
CONFIG: EffectiveConfig = tiny.tiny_config()
WEIGHTS = tiny.tiny_weights(CONFIG)


def arrays(q8: bool = False) -> dict[str, RowBlocks]:
    """The tensors in memory, with the tied head under its own name."""
    tensors = {w.name: w.values for w in WEIGHTS if w.values is not None}
    if q8:
        tensors = {n: tiny.dequantize(v) if v.ndim == 2 else v for n, v in tensors.items()}
    return {**tensors, "lm_head.weight": tensors["model.embed_tokens.weight"]}


MODEL = OpenModel(CONFIG, arrays())


def family_model(family: str, **changes: Any) -> OpenModel:
    """A family's small model in memory."""
    config = tiny.tiny_config(family, **changes)
    tensors = {w.name: w.values for w in tiny.tiny_weights(config) if w.values is not None}
    tensors.setdefault("lm_head.weight", tensors["model.embed_tokens.weight"])
    return OpenModel(config, dict(tensors))


def session(profile: str = "scalar-f32-v1", plant: Plant | None = None) -> ReferenceSession:
    return ReferenceRunner(profile, plant=plant or Plant()).start(MODEL)


def observed(stream: Iterator[Observation]) -> dict[str, Array]:
    rows = list(stream)
    assert len({o.name for o in rows}) == len(rows)
    return {o.name: o.values for o in rows}


def assert_same(a: dict[str, Array], b: dict[str, Array]) -> None:
    assert list(a) == list(b)
    assert [n for n in a if not same_bits(a[n], b[n])] == []
