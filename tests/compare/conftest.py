"""A trace in memory that holds anything, sound or not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from trlm_lab.base.records import PolicyEntry, TolerancePolicy

Arrays = Mapping[str, Mapping[str, NDArray[Any]]]


@dataclass
class DictTrace:
    """Arrays by case and name; an exception in the place of an array is raised on reading."""

    arrays: Arrays
    trace_id: str = "0" * 64

    def case_ids(self) -> tuple[str, ...]:
        return tuple(self.arrays)

    def names(self, case_id: str) -> tuple[str, ...]:
        return tuple(self.arrays[case_id])

    def read(self, case_id: str, name: str) -> NDArray[Any]:
        value = self.arrays[case_id][name]
        if isinstance(value, Exception):
            raise value
        return value


@pytest.fixture
def trace() -> Callable[[Arrays], DictTrace]:
    return DictTrace


@pytest.fixture
def policy() -> Callable[..., TolerancePolicy]:
    """`policy(name=(floor, limit), ...)`; dots in names are written as two underscores."""

    def make(**limits: tuple[float, float]) -> TolerancePolicy:
        entries = tuple(
            PolicyEntry(name.replace("__", "."), floor, limit, "test")
            for name, (floor, limit) in limits.items()
        )
        return TolerancePolicy("test", 1, 4.0, "o", "r", "s", ("c@x",), entries)

    return make


@pytest.fixture
def sound_case() -> dict[str, NDArray[Any]]:
    rng = np.random.default_rng(5)
    logits = rng.standard_normal((2, 8)).astype(np.float32)
    return {
        "token_ids": np.array([3, 1], np.int64),
        "embedding": rng.standard_normal((2, 4)).astype(np.float32),
        "layers.0.input": rng.standard_normal((2, 4)).astype(np.float32),
        "layers.0.output": rng.standard_normal((2, 4)).astype(np.float32),
        "logits": logits,
    }
