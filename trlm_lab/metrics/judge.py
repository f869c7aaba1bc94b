"""The one rule that turns a pair of arrays and a policy entry into an outcome.

The steps stand in the order in which they decide: form, non-finite values, mask set, bits, policy
entry, floor, limit, greedy token. The bound holds for every element; no average takes part.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trlm_lab.base.bits import bits_hex
from trlm_lab.base.names import parse_checkpoint
from trlm_lab.base.records import SOUND, Outcome, PolicyEntry
from trlm_lab.metrics.difference import abs_difference, differing_bits, max_abs_difference
from trlm_lab.metrics.greedy import gravest_change, greedy_changes
from trlm_lab.metrics.judgement import Judgement, located
from trlm_lab.metrics.masks import MASKED_OPERATORS, future_entries, masked_entries

Array = NDArray[Any]

FUTURE_NOTE = (
    "only entries of future keys fail: attn_scores is what stands just before masking, so an "
    "engine that does not compute them leaves this checkpoint out"
)


def form_problem(reference: Array, candidate: Array) -> str | None:
    """Why two arrays cannot be compared element by element, or None."""
    for who, array in (("reference", reference), ("candidate", candidate)):
        if array.dtype != np.float32:
            return f"the {who} has dtype {array.dtype}, a checkpoint is float32"
    if reference.shape != candidate.shape:
        return f"shape {list(candidate.shape)}, the reference has {list(reference.shape)}"
    return None if reference.size else "no elements"


def nonfinite(checkpoint: str, values: Array) -> NDArray[np.bool_]:
    """Elements that may not be: NaN and infinities; -inf may stand in `attn_masked`. Flat."""
    bad = ~np.isfinite(values.reshape(-1))
    if parse_checkpoint(checkpoint).op in MASKED_OPERATORS:
        bad &= ~np.isneginf(values.reshape(-1))
    return bad


def judge_alone(checkpoint: str, candidate: Array) -> Judgement:
    """Judge an array that the reference lacks: NONFINITE, INFRA or NOT_SUPPORTED."""
    note = "the reference lacks this checkpoint"
    if candidate.dtype != np.float32:
        return Judgement(Outcome.INFRA, note=f"dtype {candidate.dtype}, a checkpoint is float32")
    bad = nonfinite(checkpoint, candidate)
    if not bad.any():
        return Judgement(Outcome.NOT_SUPPORTED, note=note)
    found = located(Outcome.NONFINITE, candidate, candidate, bad, note=note)
    return replace(found, reference_bits=None)


def judge(
    checkpoint: str,
    reference: Array,
    candidate: Array,
    entry: PolicyEntry | None,
    *,
    exact: bool = False,
) -> Judgement:
    """Judge one checkpoint; `exact` asks for equal bits and takes no entry.

    A checkpoint without an entry is MATCH where the bits agree and NOT_SUPPORTED otherwise: no
    limit was declared, so neither a pass nor a fault can be claimed.
    """
    problem = form_problem(reference, candidate)
    if problem:
        return Judgement(Outcome.INFRA, note=problem)
    bad = nonfinite(checkpoint, candidate)
    if bad.any():
        found = located(Outcome.NONFINITE, reference, candidate, bad)
        return _with_future_note(checkpoint, reference.shape, bad, found)
    bad = nonfinite(checkpoint, reference)
    if bad.any():
        note = "the reference itself is not finite here"
        return located(Outcome.UNSTABLE_ORACLE, reference, candidate, bad, note=note)
    if parse_checkpoint(checkpoint).op in MASKED_OPERATORS:
        return _judge_masked(reference, candidate, entry, exact)
    found = _judge_values(reference, candidate, entry, exact)
    if found.outcome is Outcome.WRONG:
        bad = _failing(reference, candidate, entry)
        return _with_future_note(checkpoint, reference.shape, bad, found)
    return _with_greedy_rule(checkpoint, reference, candidate, entry, found)


def _failing(reference: Array, candidate: Array, entry: PolicyEntry | None) -> NDArray[np.bool_]:
    if entry is None:
        return differing_bits(reference, candidate)
    return abs_difference(reference, candidate) > entry.limit


def _judge_values(
    reference: Array, candidate: Array, entry: PolicyEntry | None, exact: bool
) -> Judgement:
    """Bits, entry, floor and limit over finite arrays without masked entries."""
    if not differing_bits(reference, candidate).any():
        return Judgement(Outcome.MATCH, max_abs=0.0)
    error = max_abs_difference(reference, candidate)
    if exact:
        bad, note = differing_bits(reference, candidate), "exact comparison: the bits differ"
        return located(Outcome.WRONG, reference, candidate, bad, max_abs=error, note=note)
    if entry is None:
        note = "the bits differ and the policy has no entry for this checkpoint"
        return Judgement(Outcome.NOT_SUPPORTED, max_abs=error, note=note)
    if entry.floor > entry.limit:
        note = f"the noise floor {entry.floor:.6g} is above the limit {entry.limit:.6g}"
        return Judgement(Outcome.UNSTABLE_ORACLE, max_abs=error, note=note)
    if error <= entry.limit:
        outcome = Outcome.MATCH if error <= entry.floor else Outcome.DRIFT
        return Judgement(outcome, max_abs=error)
    bad = _failing(reference, candidate, entry)
    return located(Outcome.WRONG, reference, candidate, bad, max_abs=error)


def _judge_masked(
    reference: Array, candidate: Array, entry: PolicyEntry | None, exact: bool
) -> Judgement:
    """Marks as a set, which needs no tolerance; then the values where both have one."""
    ours, theirs = masked_entries(reference), masked_entries(candidate)
    strange, marked = ours != theirs, ours | theirs
    left, right = (np.where(marked, np.float32(0), side) for side in (reference, candidate))
    if not strange.any():
        return _judge_values(left, right, entry, exact)
    beyond = 0.0 if entry is None or exact else entry.limit
    bad = strange.reshape(-1) | (abs_difference(left, right) > beyond)
    count = int(np.count_nonzero(strange))
    return located(
        Outcome.WRONG,
        reference,
        candidate,
        bad,
        max_abs=max_abs_difference(left, right),
        note=f"mask set: {count} entries are masked on one side only",
    )


def _with_future_note(
    checkpoint: str, shape: tuple[int, ...], bad: NDArray[np.bool_], found: Judgement
) -> Judgement:
    # Of picked query rows the place says nothing about the query.
    square = len(shape) >= 2 and shape[-2] == shape[-1]
    if parse_checkpoint(checkpoint).op != "attn_scores" or not square:
        return found
    only_future = not (bad.reshape(shape) & ~future_entries(shape)).any()
    return replace(found, note=FUTURE_NOTE) if only_future else found


def _with_greedy_rule(
    checkpoint: str,
    reference: Array,
    candidate: Array,
    entry: PolicyEntry | None,
    found: Judgement,
) -> Judgement:
    usable = reference.ndim == 2 and reference.shape[-1] > 1
    if checkpoint != "logits" or entry is None or found.outcome not in SOUND or not usable:
        return found
    tokens = np.argmax(candidate, axis=-1)
    change = gravest_change(greedy_changes(reference, tokens, entry.limit))
    if change is None:
        return found
    place = (change.position, change.candidate_token)
    return replace(
        found,
        outcome=change.outcome,
        index=place,
        reference_bits=bits_hex(reference[place]),
        candidate_bits=bits_hex(candidate[place]),
        note=change.note,
    )
