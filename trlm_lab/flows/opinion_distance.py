"""How far the peer's logits are from an engine's, and the table of that."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from trlm_lab.base.records.third_opinion import Distance, OpinionLimit
from trlm_lab.errors import OpinionScaleError
from trlm_lab.flows.opinion_limits import opinion_limit
from trlm_lab.metrics import max_abs_difference

if TYPE_CHECKING:
    from trlm_lab.flows.run import Run

PEER, ORACLE = "llama.cpp", "torch"
LOGITS = "logits"

Logits = NDArray[np.float32]


def rms_of(logits: Logits, case: str, limit: OpinionLimit) -> float:
    """Root mean square of logits (T, V), squared and summed in float64.

    Raises:
        OpinionScaleError: it is below the least that is judged.
    """
    squares = math.fsum(float(np.dot(row, row)) for row in map(_wide, logits))
    found = math.sqrt(squares / logits.size)
    if not found >= limit.least_rms:
        raise OpinionScaleError(where=case, rms=found, least=limit.least_rms)
    return found


def _wide(row: Logits) -> NDArray[np.float64]:
    return row.astype(np.float64)


def distance(engine: str, case: str, logits: Logits, peer: Logits, rms: float) -> Distance:
    """The distance of one case; NaN where either holds one, which is within no limit."""
    farthest = max_abs_difference(logits, peer)
    same = int(np.count_nonzero(logits.argmax(axis=1) == peer.argmax(axis=1)))
    return Distance(engine, case, len(logits), rms, farthest, farthest / rms, same)


def opinion_rows(distances: Iterable[Distance], limit: OpinionLimit) -> list[dict[str, Any]]:
    """One row an engine: its farthest case, by the RMS of the oracle's logits and by the limit."""
    groups: dict[str, list[Distance]] = {}
    for row in distances:
        groups.setdefault(row.engine, []).append(row)
    rows = []
    for engine, own in groups.items():
        worst = max(own, key=lambda d: d.order)
        same, positions = sum(d.same_greedy for d in own), sum(d.positions for d in own)
        rows.append(
            {
                "engine": engine,
                "cases": len(own),
                "farthest": worst.case_id,
                "max error": worst.max_abs,
                "RMS of the logits": worst.rms,
                "error/RMS": worst.relative,
                "limit": limit.relative,
                "same greedy token": f"{same} of {positions}",
            }
        )
    return rows


def run_opinions(run: Run) -> list[dict[str, Any]]:
    """The table of a run in which the peer ran: oracle and stored engine beside it, by artifact."""
    rows = []
    limit = opinion_limit(run.described.config.hidden_act)
    for label in run.plan.artifacts:
        ran = run.engines.get((PEER, label))
        found = [] if ran is None else _stored(run, label, limit)
        rows += [{"artifact": label, **row} for row in opinion_rows(found, limit)]
    return rows


def _stored(run: Run, label: str, limit: OpinionLimit) -> list[Distance]:
    """Distances by the stored arrays; cases whose logits are too small are left out."""
    peer, oracle = run.trace(PEER, label), run.trace(ORACLE, label)
    rows = []
    for case in peer.case_ids():
        theirs, measure = peer.read(case, LOGITS), oracle.read(case, LOGITS)
        try:
            rms = rms_of(measure, case, limit)
        except OpinionScaleError:
            continue
        rows.append(distance(ORACLE, case, measure, theirs, rms))
        if (run.stored_engine, label) in run.engines:
            ours = run.trace(run.stored_engine, label).read(case, LOGITS)
            rows.append(distance(run.stored_engine, case, ours, theirs, rms))
    return rows
