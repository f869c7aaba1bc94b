"""From noise floors to a tolerance policy: one limit a checkpoint, each with its reason."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from trlm_lab.base.names import parse_checkpoint
from trlm_lab.base.records import Case, CaseSuite, PolicyEntry, TolerancePolicy
from trlm_lab.calibrate.disjoint import calibration_key, check_disjoint
from trlm_lab.calibrate.floor import Floor, NoiseFloors
from trlm_lab.errors import CalibrationEmptyError, PolicyFactorError

#: Declared before any measurement: the limit is this many times the measured noise.
SAFETY_FACTOR: Final = 4.0


@dataclass(frozen=True)
class OwnDrift:
    """How far the oracle moved by itself: the content id of the record, and the largest absolute
    movement of each checkpoint under any condition.
    """

    record_id: str
    moved: Mapping[str, float]


def make_policy(
    floors: NoiseFloors,
    *,
    name: str,
    oracle_id: str,
    reference_id: str,
    factor: float = SAFETY_FACTOR,
    version: int = 1,
    ceilings: Mapping[str, float] | None = None,
    judged: Iterable[Case] = (),
    own_drift: OwnDrift | None = None,
) -> TolerancePolicy:
    """Limit = factor x the larger of floor and algorithm error, never above the ceiling.

    The oracle's own noise and the error of the intended algorithm are two of the three sources
    that a limit may have; the smaller never binds, and both stand in the entry.

    With `own_drift` no floor is below what the oracle moved by itself; each entry holds that
    figure, and the policy names the record.

    `ceilings` maps full checkpoint names or operator names (`attn_probs`) to absolute limits that
    no measurement may raise. A floor above its ceiling stays as measured; the comparator then
    says UNSTABLE_ORACLE. `oracle_id` and `reference_id` are the content ids of the two runs.

    Raises:
        CalibrationEmptyError: no floor.
        PolicyFactorError: the factor is below 1 or not finite.
        CalibrationOverlapError: a judged case is a calibration case.
    """
    if not floors.floors or not floors.cases:
        raise CalibrationEmptyError()
    if not math.isfinite(factor) or factor < 1:
        raise PolicyFactorError(factor=factor)
    cases = len(floors.cases)
    entries = tuple(_entry(f, factor, ceilings or {}, cases, own_drift) for f in floors.floors)
    policy = TolerancePolicy(
        name=name,
        version=version,
        factor=float(factor),
        oracle_id=oracle_id,
        reference_id=reference_id,
        calibration_suite=CaseSuite("calibration", floors.cases).digest,
        calibration_cases=tuple(calibration_key(case) for case in floors.cases),
        entries=entries,
        drift_id="" if own_drift is None else own_drift.record_id,
    )
    check_disjoint(policy, judged)
    return policy


def _entry(
    floor: Floor,
    factor: float,
    ceilings: Mapping[str, float],
    cases: int,
    own_drift: OwnDrift | None,
) -> PolicyEntry:
    checkpoint = floor.checkpoint
    drift = None if own_drift is None else float(own_drift.moved.get(checkpoint, 0.0))
    noise = max(floor.floor, drift or 0.0)
    widest = max(noise, floor.algorithm)
    limit = factor * widest
    ceiling = ceilings.get(checkpoint, ceilings.get(parse_checkpoint(checkpoint).op))
    source = "oracle"
    if floor.algorithm > noise:
        source = "algorithm"
    case = floor.case_id if source == "oracle" else floor.algorithm_case
    reason = (
        f"{factor:g} x max|{source} - reference| over {floor.elements} elements of {cases} "
        f"calibration cases, largest in {case}"
    )
    if noise > floor.floor and source == "oracle":
        reason = f"{factor:g} x the oracle's own drift, above {reason.partition(' x ')[2]}"
    if widest == 0.0:
        reason += "; the two agree bit for bit or in value, so any difference fails"
    if ceiling is not None and limit > ceiling:
        limit, reason = float(ceiling), f"{reason}; held at the ceiling {ceiling:g}"
    return PolicyEntry(checkpoint, noise, limit, reason, floor.algorithm, drift)
