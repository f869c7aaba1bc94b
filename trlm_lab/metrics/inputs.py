"""Whether two runs had the same input: ids, positions and mask, compared exactly."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from trlm_lab.base.records import Outcome
from trlm_lab.metrics.judgement import Judgement

Array = NDArray[Any]

#: Inputs of a case that traces repeat as int64.
INPUTS: Final = ("token_ids", "position_ids", "attention_mask")


def default_input(name: str, tokens: int) -> Array:
    """What a case of `tokens` tokens that does not give positions or a mask is run on."""
    values = np.arange(tokens) if name == "position_ids" else np.ones(tokens)
    return values.astype(np.int64)


def judge_input(name: str, reference: Array, candidate: Array) -> Judgement:
    """MATCH, WRONG at the first other integer, or INFRA for another dtype."""
    for who, array in (("reference", reference), ("candidate", candidate)):
        if array.dtype != np.int64:
            return Judgement(Outcome.INFRA, note=f"{name} of the {who} is {array.dtype}, not int64")
    if reference.shape != candidate.shape:
        shapes = f"shape {list(candidate.shape)}, the reference has {list(reference.shape)}"
        return Judgement(Outcome.WRONG, note=f"{name}: {shapes}")
    differing = np.flatnonzero(reference.reshape(-1) != candidate.reshape(-1))
    if differing.size == 0:
        return Judgement(Outcome.MATCH)
    flat = int(differing[0])
    left, right = int(reference.reshape(-1)[flat]), int(candidate.reshape(-1)[flat])
    return Judgement(
        Outcome.WRONG,
        failing=int(differing.size),
        flat=flat,
        index=tuple(int(i) for i in np.unravel_index(flat, reference.shape)),
        reference_bits=int64_hex(left),
        candidate_bits=int64_hex(right),
        note=f"{name}: {right} instead of {left}",
    )


def int64_hex(value: int) -> str:
    """An int64 as sixteen hex digits."""
    return f"{value & (2**64 - 1):016x}"
