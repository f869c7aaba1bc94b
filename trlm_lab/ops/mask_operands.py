"""Masks as operands: what is visible (`mask`) or a plane that is added (`additive_mask`).

The two are opposite: 0 hides in the one and shows in the other. So the name decides, never the
values, and values that do not belong to the name are refused.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool

from trlm_lab.ops.arithmetic import Array
from trlm_lab.ops.masks import MASKED_SCORE
from trlm_lab.ops.operands import Operands


def _visible(given: Operands, name: str) -> Bool[Array, "*S"]:
    """Booleans, or integers that are 0 (hidden) or 1 (visible)."""
    value = given.raw(name, "biuf")
    if value.dtype.kind == "f":
        given.refuse(
            name, "holds floats; give Booleans with true for visible, or an additive plane"
        )
    if value.dtype.kind in "iu" and not ((value == 0) | (value == 1)).all():
        given.refuse(name, "holds integers other than 0 (hidden) and 1 (visible)")
    return value.astype(np.bool_)


def _unmasked(given: Operands, name: str) -> Bool[Array, "*S"]:
    """A float plane: 0 is visible, -inf or the most negative float32 is masked."""
    value = given.raw(name, "biuf")
    if value.dtype.kind != "f":
        given.refuse(name, f"has the element type {value.dtype}, needed are floats")
    masked = value <= MASKED_SCORE
    if not ((value == 0) | masked).all():
        given.refuse(name, "holds values that are neither visible (0) nor masked (-inf or lowest)")
    return np.asarray(~masked)


def mask_of(given: Operands, shape: tuple[int, ...]) -> Bool[Array, "*S"]:
    """What is visible, broadcast to `shape`; everything where neither operand is given."""
    if "mask" in given and "additive_mask" in given:
        given.refuse("mask, additive_mask", "exclude each other")
    name = "additive_mask" if "additive_mask" in given else "mask"
    if name not in given:
        return np.ones(shape, dtype=np.bool_)
    plane = _unmasked(given, name) if name == "additive_mask" else _visible(given, name)
    try:
        return np.array(np.broadcast_to(plane, shape))
    except ValueError:
        given.refuse(name, f"has the shape {plane.shape}, which does not broadcast to {shape}")


def combine_masks(given: Operands) -> Array:
    """Two masks as one: visible where both are.

    Of additive planes the answer is one again, its masked entries one sentinel: the sum of two
    would overflow to -inf.
    """
    additive = "first_additive" in given or "second_additive" in given
    names = [f"{place}{'_additive' if additive else ''}" for place in ("first", "second")]
    read = _unmasked if additive else _visible
    if additive and ("first" in given or "second" in given):
        given.refuse("first, second", "are both Boolean or both additive")
    first, second = (read(given, name) for name in names)
    try:
        first, second = np.broadcast_arrays(first, second)
    except ValueError:
        given.refuse(names[1], f"has the shape {second.shape}, the first has {first.shape}")
    visible = np.asarray(given.compute(first, second))
    if not additive:
        return visible
    return np.where(visible, np.float32(0), MASKED_SCORE)
