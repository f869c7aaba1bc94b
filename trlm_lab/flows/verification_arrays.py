"""Comparisons judged again from the stored arrays, and held against the records bit for bit."""

from __future__ import annotations

from collections.abc import Mapping

from trlm_lab.base.records import CaseComparison, CheckpointComparison, TolerancePolicy
from trlm_lab.compare import compare_case
from trlm_lab.compare.compare import PROMPT_IDS
from trlm_lab.flows.verification_dossier import Dossier
from trlm_lab.flows.verification_rows import EXCUSES
from trlm_lab.metrics import CasePair
from trlm_lab.traces import TraceStore

Noise = Mapping[str, Mapping[str, float]]

#: One comparison reports at most this many rows that differ.
SHOWN = 8


def check_arrays(
    dossier: Dossier, node_id: str, policy: TolerancePolicy, noise: Noise, *, everything: bool
) -> None:
    """Judge again what excuses a difference, or every row, and compare with what is recorded."""
    comparison = dossier.graph.comparison(node_id)
    traces = _stored(dossier, node_id, comparison.reference_id, comparison.candidate_id)
    if traces is None:
        return
    wrong: list[str] = []
    cases = [case for case in comparison.cases if everything or _excused(case)]
    title = f"judge again {'every row' if everything else 'what is excused'}"
    for done, case in enumerate(cases):
        dossier.progress(title, done, len(cases))
        excused = None if everything else _excused(case)
        again = _again(traces, case, policy, noise, excused)
        kept = case.checkpoints if excused is None else tuple(case.checkpoints[i] for i in excused)
        dossier.report.recomputed += len(kept)
        wrong += [f"{case.case_id} {name}" for name in _differing(kept, again)]
    dossier.progress(title, len(cases), len(cases))
    for place in wrong[:SHOWN]:
        detail = "the stored arrays give another row than the record holds"
        dossier.fail("COMPARISON_RECOMPUTED", node_id, detail, place)
    if len(wrong) > SHOWN:
        dossier.fail("COMPARISON_RECOMPUTED", node_id, f"{len(wrong) - SHOWN} more rows differ")


def _stored(
    dossier: Dossier, node_id: str, reference: str, candidate: str
) -> tuple[TraceStore, TraceStore] | None:
    """Both stored traces; a comparison whose arrays are gone proves nothing about them."""
    for trace_id in (reference, candidate):
        if trace_id not in dossier.traces:
            detail = f"the arrays of the trace {trace_id[:12]} are not in this directory"
            dossier.fail("TRACE_LOST", node_id, detail)
            return None
    return dossier.traces[reference], dossier.traces[candidate]


def _excused(case: CaseComparison) -> list[int]:
    """Rows that excuse a difference, by number."""
    rows = enumerate(case.checkpoints)
    return [i for i, row in rows if row.outcome in EXCUSES and row.checkpoint != PROMPT_IDS]


def _again(
    traces: tuple[TraceStore, TraceStore],
    case: CaseComparison,
    policy: TolerancePolicy,
    noise: Noise,
    rows: list[int] | None,
) -> tuple[CheckpointComparison, ...]:
    """The rows that the arrays give; with `rows` only these are read."""
    wanted = None if rows is None else {case.checkpoints[i].checkpoint for i in rows}

    def hidden(name: str) -> bool:
        return wanted is not None and name not in wanted

    pair = CasePair(*traces, case.case_id, hidden, noise.get(case.case_id))
    return compare_case(pair, policy).checkpoints


def _differing(
    recorded: tuple[CheckpointComparison, ...], again: tuple[CheckpointComparison, ...]
) -> list[str]:
    """Checkpoints whose two rows differ in anything, or that only one side has."""
    ours, theirs = ({row.checkpoint: row for row in rows} for rows in (recorded, again))
    return [name for name in {**ours, **theirs} if ours.get(name) != theirs.get(name)]
