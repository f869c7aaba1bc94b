"""The first boundary at which a candidate fails, over all cases, proved by a sweep.

The answer is the first exposed checkpoint on the ladder that fails in any case: after the binary
search every exposed checkpoint before its answer is judged, in every case. The fault lies in
(`after`, `boundary`].
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from trlm_lab.base.interfaces import TraceView
from trlm_lab.base.names import boundary_rank
from trlm_lab.base.records import Mismatch, TolerancePolicy
from trlm_lab.bisection.answer import fault, without_fault
from trlm_lab.bisection.probe import PROMPT_IDS, Probe
from trlm_lab.bisection.search import bisect_case
from trlm_lab.metrics import CasePair, Noise, chosen_cases


@dataclass(frozen=True)
class _Answer:
    probe: Probe
    boundary: str


def find_first_mismatch(
    reference: TraceView,
    candidate: TraceView,
    policy: TolerancePolicy | None,
    *,
    cases: Iterable[str] | None = None,
    hidden: Callable[[str], bool] | None = None,
    noise: Noise | None = None,
) -> Mismatch:
    """Name the first failing boundary; `hidden` names count as not exposed by the candidate.

    `noise` gives the measured float32 noise of some cases (`metrics.excused`).

    Without a policy the bits must be equal. Raises as `compare_traces`.
    """
    ids = chosen_cases(reference, cases)
    known = noise or {}
    pairs = [CasePair(reference, candidate, i, hidden, known.get(i)) for i in ids]
    probes = [Probe(pair, policy) for pair in pairs]
    guess, examined = _search(probes)
    answer = _sweep(probes, guess)
    verified = sum(len(probe.judged) for probe in probes)
    if answer is None:
        found = without_fault(probes)
    else:
        corrected = guess is not None and guess != answer
        found = fault(answer.probe, answer.boundary, corrected=corrected)
    return replace(found, examined=examined, verified=verified)


def _search(probes: list[Probe]) -> tuple[_Answer | None, tuple[str, ...]]:
    """The answer of the binary search in the first case that fails at its end."""
    examined: list[str] = []
    for probe in probes:

        def fails(name: str, probe: Probe = probe) -> bool:
            if name not in probe.judged:
                examined.append(name)
            return probe.fails(name)

        if fails(PROMPT_IDS):
            return _Answer(probe, PROMPT_IDS), tuple(examined)
        found = bisect_case(probe.pair.exposed, fails)
        if found is not None:
            return _Answer(probe, found), tuple(examined)
    return None, tuple(examined)


def _sweep(probes: list[Probe], guess: _Answer | None) -> _Answer | None:
    """The earliest failing boundary of all cases: everything before the guess is judged."""
    best = guess
    for probe in probes:
        for name in probe.boundaries:
            if best is not None and boundary_rank(name) >= boundary_rank(best.boundary):
                break
            if probe.fails(name):
                best = _Answer(probe, name)
                break
    return best
