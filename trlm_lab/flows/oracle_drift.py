"""`trlm oracle drift`: how far the oracle moves by itself on a model, as a record."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trlm_lab.base import canon
from trlm_lab.cases import require_fit
from trlm_lab.errors import UnknownNameError
from trlm_lab.flows.acquisition import admit_source
from trlm_lab.flows.progress import Board
from trlm_lab.flows.reviewed_files import NOTHING, Reviewed
from trlm_lab.flows.reviewed_source import reviewed_workspace
from trlm_lab.flows.single import suite_of

if TYPE_CHECKING:
    from trlm_lab.oracle.drift import Condition, OracleDrift


def oracle_drift(
    model: str, cases: str, only: list[str], board: Board, reviewed: Reviewed = NOTHING
) -> OracleDrift:
    """Measure the conditions named in `only`, all where it is empty, on a source.

    Raises:
        UnknownNameError: no such condition.
        Refused, InfrastructureError: as `admit_source` and the oracle's own `measure_drift`.
    """
    from trlm_lab.oracle.drift import measure_drift

    suite, conditions = suite_of(cases), chosen_conditions(only)
    with tempfile.TemporaryDirectory() as scratch:
        ws = reviewed_workspace(Path(scratch), board, reviewed)
        source, described = admit_source(ws, model)
    require_fit(suite, described.config)
    return measure_drift(source.root, suite.cases, conditions, board.say)


def write_drift(drift: OracleDrift, out: Path) -> None:
    """The record as canonical CBOR; its SHA-256 is the record's id."""
    out.write_bytes(canon.encode(drift.to_map()))


def drift_rows(drift: OracleDrift) -> list[dict[str, Any]]:
    """One row a condition: the checkpoint that moved the farthest, or why it was not measured."""
    rows = []
    for standing in drift.standings:
        worst = standing.worst
        moved = worst is not None and worst.differing
        rows.append(
            {
                "condition": standing.name,
                "differing": sum(row.differing for row in standing.spread),
                "farthest": worst.checkpoint if worst and moved else "",
                "relative": worst.relative if worst else None,
                "max_abs": worst.max_abs if worst else None,
                "max_ulp": worst.max_ulp if worst else None,
                "reason": standing.reason,
            }
        )
    return rows


def chosen_conditions(only: Sequence[str]) -> list[Condition]:
    """The conditions of these names, all where there is none; the repetition is always among them.

    Raises:
        UnknownNameError: no such condition.
    """
    from trlm_lab.oracle.drift import CONDITIONS

    known = {condition.name: condition for condition in CONDITIONS}
    for name in only:
        if name not in known:
            listed = ", ".join(known)
            raise UnknownNameError(where="--only", kind="condition", name=name, known=listed)
    # The repetition always runs: without it no other figure means anything.
    return [c for c in CONDITIONS if not only or c.name in only or c.name == "again"]
