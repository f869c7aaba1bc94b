"""A candidate trace against a reference trace: every shared checkpoint judged and measured.

Streaming: one pair of arrays is in memory at a time. Checkpoints that the candidate does not show
leave no row; a case of which it shows nothing is NOT_SUPPORTED, so that nothing passes unseen.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from trlm_lab.base.interfaces import TraceView
from trlm_lab.base.names import parse_checkpoint
from trlm_lab.base.records import (
    CaseComparison,
    CheckpointComparison,
    Comparison,
    LogitMetrics,
    Metrics,
    Outcome,
    TolerancePolicy,
)
from trlm_lab.metrics import (
    MASKED_OPERATORS,
    ArrayPair,
    CasePair,
    Judgement,
    Noise,
    chosen_cases,
    logit_metrics,
    masked_entries,
    measure,
)

PROMPT_IDS = "prompt_ids"


def compare_traces(
    reference: TraceView,
    candidate: TraceView,
    policy: TolerancePolicy | None,
    *,
    cases: Iterable[str] | None = None,
    noise: Noise | None = None,
) -> Comparison:
    """Compare under a frozen policy, or for equal bits where `policy` is None.

    `noise` gives the measured float32 noise of some cases (`metrics.excused`).

    Raises:
        UnknownNameError: a case that the reference does not hold.
        NothingToCompareError: no case at all.
        TrlmError: the reference trace cannot be read; the candidate's errors are outcomes.
    """
    rows = tuple(
        compare_case(
            CasePair(reference, candidate, case_id, noise=(noise or {}).get(case_id)), policy
        )
        for case_id in chosen_cases(reference, cases)
    )
    policy_id = None if policy is None else policy.policy_id
    return Comparison(reference.trace_id, candidate.trace_id, policy_id, rows)


def compare_case(pair: CasePair, policy: TolerancePolicy | None) -> CaseComparison:
    """All rows of one case; other inputs make the one row `prompt_ids` and end it."""
    inputs = pair.judge_inputs()
    if inputs.outcome is not Outcome.MATCH:
        return CaseComparison(pair.case_id, (_row(PROMPT_IDS, inputs, None, policy),))
    rows = [row for name in pair.exposed for row in _checkpoint_rows(pair, name, policy)]
    if not any(row.checkpoint in pair.shared for row in rows):
        note = "the candidate shows no checkpoint of this case"
        rows.insert(0, _row(PROMPT_IDS, Judgement(Outcome.NOT_SUPPORTED, note=note), None, policy))
    return CaseComparison(pair.case_id, tuple(rows))


def _checkpoint_rows(
    pair: CasePair, name: str, policy: TolerancePolicy | None
) -> list[CheckpointComparison]:
    """The row of one checkpoint; none for a finite one that the reference lacks.

    Logits beside a top k that is not theirs have a second row, in the name of the top-k array.
    """
    if name not in pair.shared:
        alone = pair.judge(name, policy)
        kept = alone.outcome is not Outcome.NOT_SUPPORTED
        return [_row(alone.array or name, alone, None, policy)] if kept else []
    arrays = pair.read(name)
    if isinstance(arrays, Judgement):
        return [_row(name, arrays, None, policy)]
    found = arrays.judge(policy)
    rows = [_row(name, found, arrays, policy)]
    top = pair.judge_own_top_k(name, found)
    return [*rows, _row(top.array, top, None, policy)] if top else rows


def _row(
    name: str, judgement: Judgement, arrays: ArrayPair | None, policy: TolerancePolicy | None
) -> CheckpointComparison:
    entry = None if policy is None else policy.entry(name)
    # Arrays with NaN, or of another form, have no distances: then the judge formed no error.
    measurable = arrays if judgement.max_abs is not None else None
    return CheckpointComparison(
        checkpoint=name,
        outcome=judgement.outcome,
        metrics=None if measurable is None else _figures(measurable, judgement),
        limit=None if entry is None else entry.limit,
        floor=None if entry is None else entry.floor,
        index=judgement.index,
        reference_bits=judgement.reference_bits,
        candidate_bits=judgement.candidate_bits,
        note=judgement.note,
        logits=None if measurable is None else _logit_figures(measurable),
    )


def _figures(arrays: ArrayPair, judgement: Judgement) -> Metrics:
    """Metrics over the entries that hold values on both sides."""
    reference, candidate = arrays.reference, arrays.candidate
    if arrays.ids is not None:
        reference = np.take_along_axis(reference, arrays.ids, axis=-1)
    elif parse_checkpoint(arrays.checkpoint).op in MASKED_OPERATORS:
        visible = ~(masked_entries(reference) | masked_entries(candidate))
        reference, candidate = reference[visible], candidate[visible]
    return measure(reference, candidate, failing=judgement.failing, first_failing=judgement.flat)


def _logit_figures(arrays: ArrayPair) -> LogitMetrics | None:
    whole = arrays.checkpoint == "logits" and arrays.ids is None
    if not whole or arrays.reference.ndim != 2 or arrays.reference.shape[1] < 2:
        return None
    return logit_metrics(arrays.reference, arrays.candidate)
