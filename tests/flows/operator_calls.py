"""How the tests of `trlm op` call it, and what they hold its answers against."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.ops.bounds import gamma
from trlm_lab.backends.profiles import evaluation_profile

Array = NDArray[Any]
F32, F64 = np.float32, np.float64
LOWEST = np.finfo(F32).min
KNOWN: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "ops" / "known_answers.json").read_text(encoding="utf-8")
)
Serve = Callable[..., dict[str, Array]]
ENGINES = ("reference", "native-scalar", "wasm-scalar@wasmtime")


def near(got: Array, expected: Any, roundings: int, profile: str = "f64-reference") -> bool:
    """Whether each value lies within so many roundings, of the answer's own size."""
    exact = np.asarray(expected, F64)
    bound = gamma(evaluation_profile(profile), roundings) * np.abs(exact)
    return bool((np.abs(got.astype(F64) - exact) <= bound).all())
