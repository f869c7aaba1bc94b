"""Calibration and judged cases never meet: neither by id nor by content."""

from __future__ import annotations

from collections.abc import Iterable

from trlm_lab.base import canon
from trlm_lab.base.records import Case, TolerancePolicy
from trlm_lab.errors import CalibrationOverlapError


def input_id(case: Case) -> str:
    """Content id of what an engine is given: ids, positions and mask, not the case's name.

    Default positions (0 to T-1) and a mask of ones are the same input as none.
    """
    length = len(case.token_ids)
    positions = case.position_ids or tuple(range(length))
    mask = case.attention_mask or (1,) * length
    return canon.content_id([list(case.token_ids), list(positions), list(mask)])


def calibration_key(case: Case) -> str:
    """How a policy lists a calibration case: `case_id@input id`."""
    return f"{case.case_id}@{input_id(case)}"


def check_disjoint(policy: TolerancePolicy, judged: Iterable[Case]) -> None:
    """Refuse judged cases whose id or content the policy was calibrated on.

    Raises:
        CalibrationOverlapError: naming the shared cases.
    """
    ids = {key.partition("@")[0] for key in policy.calibration_cases}
    inputs = {key.partition("@")[2] for key in policy.calibration_cases}
    shared = [c.case_id for c in judged if c.case_id in ids or input_id(c) in inputs]
    if shared:
        where = f"policy {policy.name} {policy.version}"
        raise CalibrationOverlapError(where=where, shared=", ".join(shared))
