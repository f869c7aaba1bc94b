"""How an engine rounds float32 to float16, asked of its single operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from trlm_lab.backends.profiles import operator_profile
from trlm_lab.errors import TrlmError
from trlm_lab.flows.operator_engines import OPERATOR_ENGINES, operator_kernels
from trlm_lab.flows.operators import apply_operator
from trlm_lab.ops.kernels import Kernels

F32 = NDArray[np.float32]

PROFILE: Final = "scalar-f32-v1"
NOT_SERVED: Final = "no conversion among its operators"

#: Two ties, one to an even neighbour below and one above; a little more and less than a tie.
NORMAL: Final = (1 + 2.0**-11, 1 + 3 * 2.0**-11, 1 + 2.0**-11 + 2.0**-16, 1 + 2.0**-11 - 2.0**-16)
#: Subnormal in float16: exact, and a tie to an even neighbour below.
SUBNORMAL: Final = (2.0**-24, 2.0**-24 + 2.0**-25)


def rounding_to_f16(engine: str) -> str:
    """What the operators `cast` or `quantize` (its scales) of an engine do, in words."""
    kind = engine.partition(":")[0]
    if kind not in OPERATOR_ENGINES:
        return NOT_SERVED
    arithmetic = operator_profile(PROFILE).arithmetic()
    try:
        kernels = operator_kernels(kind, arithmetic)
        asked = [name for name in ("cast", "quantize") if name in kernels.table]
        if not asked:
            return NOT_SERVED
        convert = CONVERSIONS[asked[0]]
        return described(lambda x: convert(kernels, x), subnormals=asked[0] == "cast")
    except TrlmError as error:
        return f"not asked: {error.code}"


def described(convert: Callable[[F32], NDArray[Any]], *, subnormals: bool) -> str:
    """The rule that a conversion follows; `subnormals` where it takes any number."""
    found = _rule(_converted(convert, NORMAL))
    if not subnormals:
        return found
    tiny = _converted(convert, SUBNORMAL)
    if not tiny.any():
        return f"{found}, subnormals flushed"
    return f"{found}, subnormals kept" if tiny[0] == 2.0**-24 else f"{found}, subnormals changed"


def _converted(convert: Callable[[F32], NDArray[Any]], values: tuple[float, ...]) -> Any:
    return np.asarray(convert(np.array(values, np.float32)), np.float64)


def _rule(got: Any) -> str:
    """The named rounding that explains all four answers."""
    below, above = 1.0, 1 + 2.0**-10
    rules = {
        "to nearest, ties to even": (below, 1 + 2.0**-9, above, below),
        "to nearest, ties away from zero": (above, 1 + 2.0**-9, above, below),
        "toward zero": (below, above, below, below),
        "upward": (above, 1 + 2.0**-9, above, above),
    }
    for name, expected in rules.items():
        if got.tolist() == list(expected):
            return name
    return "unclear"


def _cast(kernels: Kernels, x: F32) -> NDArray[Any]:
    arithmetic = operator_profile(PROFILE).arithmetic()
    answer = apply_operator("cast", {"x": x, "dtype": np.array("f16")}, arithmetic, kernels)
    return answer["y"]


def _scales(kernels: Kernels, x: F32) -> NDArray[Any]:
    """One row a value, whose largest element is 127 times it: the scale is that value."""
    rows = np.zeros((len(x), 128), np.float32)
    rows[:, 0] = x * np.float32(127)
    arithmetic = operator_profile(PROFILE).arithmetic()
    return apply_operator("quantize", {"x": rows}, arithmetic, kernels)["scale"].reshape(-1)


CONVERSIONS: Final = {"cast": _cast, "quantize": _scales}
