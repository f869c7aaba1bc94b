"""What one row of a comparison must satisfy: figures, digests and outcome agree with the policy."""

from __future__ import annotations

import math
from dataclasses import dataclass

from trlm_lab.base.names import is_checkpoint, parse_checkpoint
from trlm_lab.base.records import (
    ArrayDigest,
    CheckpointComparison,
    Metrics,
    Outcome,
    PolicyEntry,
)
from trlm_lab.metrics import MASKED_OPERATORS

#: Outcomes that say the arrays were held against each other and nothing failed.
COMPARED = (Outcome.MATCH, Outcome.DRIFT, Outcome.TIE)
#: Outcomes that excuse a difference; they are judged again from the arrays.
EXCUSES = (Outcome.UNSTABLE_ORACLE, Outcome.NOT_SUPPORTED, Outcome.TIE)


@dataclass(frozen=True)
class RowFacts:
    """What stands beside a row: policy entry and factor, both digests where both traces show the
    checkpoint under its own name, and the third run's noise there."""

    entry: PolicyEntry | None
    factor: float
    reference: ArrayDigest | None
    candidate: ArrayDigest | None
    noise: float | None

    @property
    def both(self) -> bool:
        """Whether both traces hold the array."""
        return self.reference is not None and self.candidate is not None


def row_problem(row: CheckpointComparison, facts: RowFacts) -> str:
    """Why a row cannot be what the judge wrote, or empty."""
    entry = facts.entry
    if (row.limit, row.floor) != ((entry.limit, entry.floor) if entry else (None, None)):
        return "limit and floor are not those of the policy"
    if row.metrics is not None:
        problem = _figures_problem(row.metrics) or _digest_problem(row, row.metrics, facts)
        if problem:
            return problem
    if row.outcome in COMPARED:
        return _compared_problem(row, facts)
    if row.outcome is Outcome.UNSTABLE_ORACLE:
        return _unstable_problem(row, facts)
    if row.outcome is Outcome.NOT_SUPPORTED:
        return _unsupported_problem(row, facts)
    return ""


def _figures_problem(m: Metrics) -> str:
    """Figures that contradict one another."""
    sizes = (m.max_abs, m.max_rel, m.rms, m.reference_rms, *m.quantiles)
    if not all(isinstance(v, float) and math.isfinite(v) and v >= 0 for v in sizes):
        return "a figure is negative or no number"
    if m.bit_equal and any((m.max_abs, m.max_rel, m.rms, m.max_ulp, *m.quantiles, m.failing)):
        return "the bits are said to be equal beside figures that are not zero"
    ordered = (*m.quantiles, m.max_abs)
    if list(ordered) != sorted(ordered):
        return "the quantiles are not in order, or above the largest error"
    return ""


def _digest_problem(row: CheckpointComparison, m: Metrics, facts: RowFacts) -> str:
    """Figures that contradict the digests of the two arrays."""
    left, right = facts.reference, facts.candidate
    if left is None or right is None:
        return ""
    same = (left.dtype, left.shape, left.sha256) == (right.dtype, right.shape, right.sha256)
    if _is_masked(row.checkpoint):
        # The two marks of a masked entry may differ where every value agrees.
        return "" if m.bit_equal or not same else "equal digests, and yet the bits are to differ"
    if m.bit_equal != same:
        return f"bit_equal is {m.bit_equal}, the digests are {'equal' if same else 'different'}"
    if m.elements != math.prod(left.shape):
        return f"{m.elements} elements for the shape {list(left.shape)}"
    return ""


def _is_masked(checkpoint: str) -> bool:
    return is_checkpoint(checkpoint) and parse_checkpoint(checkpoint).op in MASKED_OPERATORS


def _compared_problem(row: CheckpointComparison, facts: RowFacts) -> str:
    """MATCH within the floor, DRIFT within the limit, TIE within the limit and the margin."""
    m, entry = row.metrics, facts.entry
    if m is None:
        return f"{row.outcome.value} without figures"
    if m.failing or m.first_failing is not None:
        return f"{row.outcome.value} beside failing elements"
    if row.outcome is Outcome.TIE:
        return _tie_problem(row, m, entry)
    if row.index is not None:
        return f"{row.outcome.value} beside a failing index"
    if _other_greedy_token(row) and entry is not None:
        return "another greedy token at some position is TIE or WRONG"
    if m.bit_equal:
        return "" if row.outcome is Outcome.MATCH else "equal bits are MATCH"
    if entry is None:
        return "the bits differ and the policy has no limit"
    lowest = -1.0 if row.outcome is Outcome.MATCH else entry.floor
    highest = entry.floor if row.outcome is Outcome.MATCH else entry.limit
    if not lowest < m.max_abs <= min(highest, entry.limit):
        return f"{row.outcome.value} with an error of {m.max_abs!r}"
    return ""


def _other_greedy_token(row: CheckpointComparison) -> bool:
    return row.logits is not None and row.logits.top1_equal != row.logits.positions


def _tie_problem(row: CheckpointComparison, m: Metrics, entry: PolicyEntry | None) -> str:
    if row.checkpoint != "logits" or entry is None or row.index is None:
        return "only logits tie, at a position, under a limit"
    if m.max_abs > entry.limit:
        return f"TIE with an error of {m.max_abs!r} beyond the limit"
    if row.logits is None:
        return ""
    if not _other_greedy_token(row) or row.logits.margin_min > 2 * entry.limit:
        return "TIE without another greedy token inside the margin"
    return ""


def _unstable_problem(row: CheckpointComparison, facts: RowFacts) -> str:
    """The third run must cover the error, or the floor lie above the limit.

    Without figures the reference itself is not finite, which only its array shows.
    """
    m, entry, noise = row.metrics, facts.entry, facts.noise
    if m is None:
        return "" if facts.both else "UNSTABLE_ORACLE for an array that is not in both traces"
    if entry is None:
        return "UNSTABLE_ORACLE without a policy entry"
    if entry.floor > entry.limit:
        return ""
    if noise is None:
        return "UNSTABLE_ORACLE without a third run of this case"
    if noise <= max(entry.floor, entry.algorithm):
        return f"the third run's noise {noise!r} is within what calibration saw"
    if not entry.limit < m.max_abs <= facts.factor * noise:
        return f"the third run's noise {noise!r} does not cover an error of {m.max_abs!r}"
    return ""


def _unsupported_problem(row: CheckpointComparison, facts: RowFacts) -> str:
    if facts.both and facts.entry is not None:
        return "NOT_SUPPORTED, and both traces show the checkpoint under a limit"
    if row.metrics is not None and row.metrics.bit_equal:
        return "NOT_SUPPORTED beside equal bits"
    return ""
