"""Named operators that belong to other rooms than `ops`: block formats and the margin rule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trlm_lab.errors import QuantCodeError, ShapeMismatchError, UnknownNameError
from trlm_lab.metrics import top_margins
from trlm_lab.ops.kernels import Kernel
from trlm_lab.ops.operands import Operands
from trlm_lab.quant import GROUPED
from trlm_lab.quant.grouped import UNIT, Grouped

Array = NDArray[Any]
Answers = dict[str, Array]

DEFAULT_FORMAT = "q8_r128"


def _format(given: Operands) -> str:
    name = given.text("format") if "format" in given else DEFAULT_FORMAT
    if name not in GROUPED:
        where, known = f"{given.operator}: format", ", ".join(GROUPED)
        raise UnknownNameError(where=where, kind="block format", name=name, known=known)
    return name


def _quantize(given: Operands) -> Answers:
    block, x = _format(given), given.tensor("x")
    if x.ndim == 0:
        given.refuse("x", "has rank 0, needed is at least one axis")
    # The rows of a tensor are all its axes but the last.
    rows = np.ascontiguousarray(x.reshape(-1, x.shape[-1]), dtype=np.float32)
    codes, scale = given.compute_pair(rows, block)
    return {"y": codes.reshape(x.shape), "scale": scale.reshape(*x.shape[:-1], -1)}


def _dequantize(given: Operands) -> Answers:
    block = _format(given)
    codes, scale = given.exactly("codes", np.int8), given.exactly("scale", np.float16)
    if codes.ndim == 0:
        given.refuse("codes", "has rank 0, needed is at least one axis")
    wanted = (*codes.shape[:-1], GROUPED[block].groups(codes.shape[-1]))
    if scale.shape != wanted:
        raise ShapeMismatchError(where="dequantize", name="scale", got=scale.shape, expected=wanted)
    rows = codes.reshape(-1, codes.shape[-1])
    y = given.compute(rows, scale.reshape(len(rows), -1), block)
    return {"y": y.reshape(codes.shape)}


def _logit_margin(given: Operands) -> Answers:
    """Margins of the reference, and what they say about another engine's greedy tokens."""
    reference, candidate = given.tensor("reference", 1, 2), given.tensor("candidate", 1, 2)
    bound = given.number("error_bound")
    if bound < 0:
        given.refuse("error_bound", "must be 0 or more")
    if candidate.shape != reference.shape or reference.shape[-1] < 2:
        raise ShapeMismatchError(
            where="logit_margin",
            name="candidate",
            got=candidate.shape,
            expected=f"as reference {reference.shape}, at least 2 logits",
        )
    rows, others = (np.atleast_2d(x).astype(np.float64) for x in (reference, candidate))
    margins, verdicts = given.compute_pair(rows, others, bound)
    error = np.abs(rows - others).max()
    shape = reference.shape[:-1]
    return {
        "y": margins.reshape(shape),
        "verdict": verdicts.reshape(shape),
        "max_error": np.asarray(error),
        "bound_holds": np.asarray(error <= bound),
    }


def _reference_quantize(x: Array, block: str) -> tuple[Array, Array]:
    form = GROUPED[block]
    codes, scales = form.quantize(x, where="x")
    packed = np.frombuffer(codes, np.uint8).reshape(len(x), -1)
    stored = form.unpack(packed)[:, : x.shape[1]]
    scale = np.frombuffer(scales, "<f2").reshape(len(x), -1)
    return np.ascontiguousarray(stored), scale


def _reference_dequantize(codes: Array, scale: Array, block: str) -> Array:
    form, (rows, cols) = GROUPED[block], codes.shape
    padded = np.zeros((rows, -(-cols // UNIT) * UNIT), np.int8)
    padded[:, :cols] = codes
    _check_width(padded, form)
    packed = form.pack(padded).tobytes()
    planes = (memoryview(packed), memoryview(scale.astype("<f2").tobytes()))
    return form.dequantize(*planes, rows, cols, where="codes")


def _check_width(codes: NDArray[np.int8], form: Grouped) -> None:
    """Refuse a code that packing would cut. Raises QuantCodeError."""
    beyond = (codes > form.q) | (codes < -form.q - 1)
    if beyond.any():
        row, col = (int(i) for i in np.argwhere(beyond)[0])
        why = f"beyond {form.bits} bits"
        raise QuantCodeError(
            where="codes", row=row, column=col, value=int(codes[row, col]), why=why
        )


def _reference_margin(reference: Array, candidate: Array, bound: float) -> tuple[Array, Array]:
    """The margin rule: a swap beyond 2 * bound cannot be the error's doing."""
    margins = top_margins(reference)
    swapped = reference.argmax(axis=-1) != candidate.argmax(axis=-1)
    words = np.where(margins > 2 * bound, "CONTRADICTION", "TIE")
    return margins, np.where(swapped, words, "SAME")


REFERENCE: dict[str, Kernel] = {
    "quantize": _reference_quantize,
    "dequantize": _reference_dequantize,
    "logit_margin": _reference_margin,
}

#: Name to operand names (a question mark: optional) and function.
JOINED: dict[str, tuple[tuple[str, ...], Callable[[Operands], Answers]]] = {
    "quantize": (("x", "format?"), _quantize),
    "dequantize": (("codes", "scale", "format?"), _dequantize),
    "logit_margin": (("reference", "candidate", "error_bound"), _logit_margin),
}
