"""A small forward pass that shows every checkpoint; a test may change any of them as it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from trlm_lab.base.names import LAYER_CHECKPOINTS, layer_checkpoint
from trlm_lab.base.records import Case, Observation, TolerancePolicy
from trlm_lab.calibrate import FloorMeter, make_policy

Array = NDArray[Any]
Change = Callable[[Array], Array]
LOWEST = np.finfo(np.float32).min
HEADS, SIZE = 2, 4
HIDDEN = HEADS * SIZE


@dataclass
class Tiny:
    """A llama-like model with sandwich norms and query and key norms, in one float type."""

    layers: int = 4
    seed: int = 11
    dtype: type = np.float32
    changes: dict[str, Change] = field(default_factory=dict)

    def weight(self, name: str, *shape: int) -> Array:
        rng = np.random.default_rng([self.seed, *name.encode()])
        return (rng.standard_normal(shape) * 0.6).astype(np.float32).astype(self.dtype)

    def names(self) -> list[str]:
        inner = [layer_checkpoint(i, op) for i in range(self.layers) for op in LAYER_CHECKPOINTS]
        return ["embedding", *inner, "final_norm", "logits"]

    def run(self, case: Case) -> Iterator[tuple[str, Array]]:
        """(name, array) in ladder order; a change acts on the array and on all that follows."""
        seen: list[tuple[str, Array]] = []

        def show(name: str, values: Array) -> Array:
            values = self.changes.get(name, lambda x: x)(values.astype(self.dtype))
            seen.append((name, values))
            return values

        x = show("embedding", self.weight("embedding", 16, HIDDEN)[list(case.token_ids)])
        for i in range(self.layers):
            x = self._layer(lambda op, v, i=i: show(layer_checkpoint(i, op), v), x, f"l{i}")
        x = show("final_norm", norm(x))
        show("logits", x @ self.weight("embedding", 16, HIDDEN).T)
        yield from seen

    def _layer(self, show: Callable[[str, Array], Array], x: Array, at: str) -> Array:
        x = show("input", x)
        h = show("attn_norm", norm(x))
        projections = [show(f"{p}_proj", h @ self.weight(at + p, HIDDEN, HIDDEN)) for p in "qkv"]
        q, k, v = (p.reshape(-1, HEADS, SIZE) for p in projections)
        q, k = show("q_norm", norm(q)), show("k_norm", norm(k))
        q, k = show("q_rope", turn(q)), show("k_rope", turn(k))
        scores = show("attn_scores", np.einsum("the,she->hts", q, k) / SIZE**0.5)
        future = np.triu(np.ones(scores.shape[1:], bool), 1)
        masked = show("attn_masked", np.where(future, self.dtype(LOWEST), scores))
        weights = np.where(masked <= LOWEST, 0, np.exp(masked - masked.max(-1, keepdims=True)))
        probs = show("attn_probs", weights / weights.sum(-1, keepdims=True))
        mixed = show("attn_values", np.einsum("hts,she->the", probs, v).reshape(x.shape))
        o = show("o_proj", mixed @ self.weight(at + "o", HIDDEN, HIDDEN))
        x = show("attn_residual", x + show("post_attn_norm", norm(o)))
        h = show("mlp_norm", norm(x))
        gate = show("gate_proj", h @ self.weight(at + "gate", HIDDEN, 12))
        up = show("up_proj", h @ self.weight(at + "up", HIDDEN, 12))
        act = show("mlp_act", gate / (1 + np.exp(-gate)) * up)
        down = show("down_proj", act @ self.weight(at + "down", 12, HIDDEN))
        return show("output", x + show("post_mlp_norm", norm(down)))


def norm(x: Array) -> Array:
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + x.dtype.type(1e-5))


def turn(x: Array) -> Array:
    angle = (np.arange(x.shape[0])[:, None, None] * np.array([1.0, 0.01])).astype(x.dtype)
    a, b = x[..., :2], x[..., 2:]
    c, s = np.cos(angle), np.sin(angle)
    return np.concatenate([a * c - b * s, b * c + a * s], -1)


@dataclass
class TinyTrace:
    """A `TraceView` of runs of a model; tests change `arrays` at will."""

    arrays: dict[str, dict[str, Array]]
    trace_id: str = "0" * 64

    def case_ids(self) -> tuple[str, ...]:
        return tuple(self.arrays)

    def names(self, case_id: str) -> tuple[str, ...]:
        return tuple(self.arrays[case_id])

    def read(self, case_id: str, name: str) -> Array:
        return self.arrays[case_id][name]


CASES = (Case("one", (3, 1, 4, 1, 5)), Case("two", (9, 2, 6)))
CALIBRATION = (Case("cal1", (1, 2, 3, 4, 5, 6)), Case("cal2", (7, 8, 15, 0)))


@dataclass
class Lab:
    """The oracle's trace, the frozen limits, and runs of changed models."""

    oracle: TinyTrace
    policy: TolerancePolicy
    names: list[str]

    def run(
        self, changes: dict[str, Change] | None = None, *, only: str | None = None
    ) -> TinyTrace:
        """A candidate: the model with other rounding (see `lab`), changed in all cases or one."""
        arrays = {}
        for case in CASES:
            mine = changes if only in (None, case.case_id) else {}
            model = Tiny(changes=dict(mine or {}))
            arrays[case.case_id] = traced(model, case)
        return TinyTrace(arrays)


def traced(model: Tiny, case: Case) -> dict[str, Array]:
    ids = {"token_ids": np.array(case.token_ids, np.int64)}
    return ids | dict(model.run(case))


@pytest.fixture(scope="session")
def tiny() -> type[Tiny]:
    return Tiny


@pytest.fixture(scope="session")
def lab() -> Lab:
    """The oracle is the model in float64 rounded to float32, candidates run in float32."""
    wide = Tiny(dtype=np.float64)
    meter = FloorMeter()
    for case in CALIBRATION:
        ours = (Observation(n, v) for n, v in Tiny().run(case))
        meter.add(case, ours, (Observation(n, v.astype(np.float32)) for n, v in wide.run(case)))
    policy = make_policy(meter.result(), name="tiny", oracle_id="o", reference_id="r", judged=CASES)
    arrays = {c.case_id: traced(wide, c) for c in CASES}
    narrow = {
        c: {n: v if v.dtype == np.int64 else v.astype(np.float32) for n, v in case.items()}
        for c, case in arrays.items()
    }
    return Lab(TinyTrace(narrow), policy, wide.names())
