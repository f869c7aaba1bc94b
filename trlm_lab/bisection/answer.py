"""The answers of a bisection in words and figures: a named fault, or the nearest thing to one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from trlm_lab.base.names import boundary_rank, parse_checkpoint
from trlm_lab.base.records import SOUND, Mismatch, Outcome
from trlm_lab.base.records.outcome import worst
from trlm_lab.bisection.probe import PROMPT_IDS, Probe

NO_BOUNDARY = "no boundary exceeds its limit"


def fault(probe: Probe, boundary: str, *, corrected: bool) -> Mismatch:
    """The first failing boundary; `corrected` says that the sweep moved the search's answer."""
    found = probe.judge(boundary)
    notes = [found.note] if found.note else []
    if corrected:
        notes.append("the sweep found a failing checkpoint before the binary search's answer")
    notes += _unjudged(probe, boundary)
    return Mismatch(
        verdict=found.outcome,
        case_id=probe.case_id,
        boundary=boundary,
        after=probe.after(boundary),
        layer=None if boundary == PROMPT_IDS else parse_checkpoint(boundary).layer,
        checkpoint=found.array or boundary,
        index=found.index,
        reference_bits=found.reference_bits,
        candidate_bits=found.candidate_bits,
        max_abs=found.max_abs,
        limit=probe.limit(boundary),
        note="; ".join(notes),
    )


def _unjudged(probe: Probe, boundary: str) -> list[str]:
    """A sentence on malformed checkpoints before the boundary, which nobody could judge."""
    bar = boundary_rank(boundary)
    broken = [n for n in probe.having(Outcome.INFRA) if boundary_rank(n) < bar]
    if not broken:
        return []
    return [f"{len(broken)} malformed before it, first {broken[0]}: {probe.judge(broken[0]).note}"]


def without_fault(probes: Sequence[Probe]) -> Mismatch:
    """The verdict where nothing fails: sound, or neither sound nor a fault.

    A sound verdict names the checkpoint whose error is the largest share of its limit, so that a
    fault below the limit leaves its trace.
    """
    outcomes = [_case_outcome(probe) for probe in probes]
    verdict = worst(outcomes)
    if verdict not in SOUND:
        return _neither(probes[outcomes.index(verdict)], verdict)
    notes = [probe.judge(n).note for probe in probes for n in probe.having(Outcome.TIE)]
    shares = list(_shares(probes))
    if not shares:
        return Mismatch(verdict, note="; ".join(["all compared bits are equal", *notes]))
    top = max(shares, key=lambda share: share.ratio)
    text = (
        f"{NO_BOUNDARY}; the largest error is {top.ratio:.3g} of its limit, "
        f"at {top.checkpoint} in case {top.case_id}"
    )
    return Mismatch(
        verdict=verdict,
        case_id=top.case_id,
        layer=parse_checkpoint(top.checkpoint).layer,
        checkpoint=top.checkpoint,
        max_abs=top.error,
        limit=top.limit,
        note="; ".join([text, *notes]),
    )


@dataclass(frozen=True)
class _Share:
    ratio: float
    case_id: str
    checkpoint: str
    error: float
    limit: float


def _shares(probes: Sequence[Probe]) -> Iterator[_Share]:
    """Error over limit of every sound checkpoint that has both; 0 where both are 0."""
    for probe in probes:
        for name in probe.pair.shared:
            error, limit = probe.judge(name).max_abs, probe.limit(name)
            if error is not None and limit is not None:
                ratio = error / limit if limit else 0.0
                yield _Share(ratio, probe.case_id, name, error, limit)


def _case_outcome(probe: Probe) -> Outcome:
    """The worst outcome of a case; one that shows nothing comparable is NOT_SUPPORTED."""
    if not probe.pair.shared:
        return Outcome.NOT_SUPPORTED
    names = (PROMPT_IDS, *probe.pair.shared)
    return worst([probe.judge(name).outcome for name in names])


def _neither(probe: Probe, verdict: Outcome) -> Mismatch:
    named = probe.having(verdict)
    if not probe.pair.shared or not named:
        note = "the candidate shows no checkpoint of this case"
        return Mismatch(verdict, case_id=probe.case_id, note=note)
    found = probe.judge(named[0])
    return Mismatch(
        verdict=verdict,
        case_id=probe.case_id,
        layer=None if named[0] == PROMPT_IDS else parse_checkpoint(named[0]).layer,
        checkpoint=found.array or named[0],
        index=found.index,
        max_abs=found.max_abs,
        limit=probe.limit(named[0]),
        note=found.note,
    )
