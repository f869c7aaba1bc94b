"""What the answers of an engine tell about its arithmetic; pure, logits in and facts out."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from trlm_lab.base.bits import bits_hex, bits_of
from trlm_lab.flows.probing import experiments
from trlm_lab.flows.probing.orders import candidates

F32 = NDArray[np.float32]

KEPT: Final = "kept"
FLUSHED: Final = "flushed"
UNCLEAR: Final = "unclear"

_TENTH: Final = 1 + 2.0**-9


def read_logits(logits: F32) -> dict[str, str]:
    """The facts of one position's logits, shape (V,) with the experiments' rows first."""
    answers = dict(zip(experiments.ROWS, logits, strict=False))
    ordered = logits[len(experiments.ROWS) : len(experiments.ROWS) + experiments.ORDER_ROWS]
    order, fused = _order(ordered)
    return {
        "subnormal_operands": _subnormal(answers["subnormal_operand"], 2.0**-120),
        "subnormal_results": _subnormal(answers["subnormal_result"], 2.0**-140),
        "subnormal_weights": _subnormal(answers["subnormal_weight"], 2.0**-125),
        "sum_of_negative_zeros": _zero(answers["negative_zeros"]),
        "contraction": _contraction(answers["contraction"], fused),
        "order": order,
        "reassociated": {"ascending": "no", UNCLEAR: UNCLEAR}.get(order, "yes"),
        "operands": _operands(answers["last_bit"], answers["tenth_bit"]),
        "overflow": str(answers["overflow"]),
        "nan": bits_hex(answers["invalid"]) if np.isnan(answers["invalid"]) else "none",
    }


def _subnormal(got: np.float32, kept: float) -> str:
    if got == np.float32(kept):
        return KEPT
    return FLUSHED if got == 0 else UNCLEAR


def _zero(got: np.float32) -> str:
    return {0: "+0", 1 << 31: "-0"}.get(bits_of(got), UNCLEAR)


def _contraction(got: np.float32, fused_order: str) -> str:
    """0 where both products were rounded; one rounding error, or their difference, where not."""
    x = experiments.operand().astype(np.float64)
    row = experiments.weights()[experiments.ROWS.index("contraction")].astype(np.float64)
    first, second = (x[i] * row[i] for i in (experiments.FACTOR, experiments.OTHER_FACTOR))
    rounded = float(np.float32(first))
    if got == 0:
        # In accumulators that the two products do not share, the order of the sums tells.
        return fused_order or "separate"
    if float(got) in (first - rounded, second + rounded):
        return "fused"
    return "exact products" if float(got) == first + second else UNCLEAR


def _order(sums: F32) -> tuple[str, str]:
    """The first order that gives these very bits, and `fused` where its steps are fused."""
    rows = experiments.weights()[len(experiments.ROWS) :]
    with np.errstate(all="ignore"):
        for name, fused, expected in candidates(experiments.operand(), rows):
            if expected.tobytes() == sums.tobytes():
                return name, "fused" if fused else ""
    return UNCLEAR, ""


def _operands(last_bit: np.float32, tenth_bit: np.float32) -> str:
    """The narrowest type that the operands went through."""
    if last_bit == np.float32(1 + 2.0**-23):
        return "float32"
    return "10 bits of fraction" if tenth_bit == np.float32(_TENTH) else "fewer than 9 bits"
