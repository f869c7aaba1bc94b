"""What the judge says of one pair of arrays, with the first failing element."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trlm_lab.base.bits import bits_hex
from trlm_lab.base.records import Outcome


@dataclass(frozen=True)
class Judgement:
    """An outcome and why.

    `max_abs` is the largest |c - r| over the entries with values, None where it was not formed;
    `failing` counts failing elements; `index` is the first failing one in C order, `flat` the same
    as one number, and the bits are those of that element. `array` names the array that `index`
    counts in where it is not the checkpoint itself.
    """

    outcome: Outcome
    max_abs: float | None = None
    failing: int = 0
    flat: int | None = None
    index: tuple[int, ...] | None = None
    reference_bits: str | None = None
    candidate_bits: str | None = None
    note: str = ""
    array: str = ""


def located(
    outcome: Outcome,
    reference: NDArray[Any],
    candidate: NDArray[Any],
    failing: NDArray[np.bool_],
    *,
    max_abs: float | None = None,
    note: str = "",
) -> Judgement:
    """A judgement at the first true element of `failing` (flat, at least one is true)."""
    flat = int(np.argmax(failing))
    return Judgement(
        outcome,
        max_abs=max_abs,
        failing=int(np.count_nonzero(failing)),
        flat=flat,
        index=tuple(int(i) for i in np.unravel_index(flat, reference.shape)),
        reference_bits=bits_hex(reference.reshape(-1)[flat]),
        candidate_bits=bits_hex(candidate.reshape(-1)[flat]),
        note=note,
    )
