"""The oracle's own drift as evidence: measured once an artifact, and bound into its limits."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from trlm_lab.base import canon
from trlm_lab.base.records import Case, CaseSuite
from trlm_lab.calibrate import OwnDrift
from trlm_lab.errors import PathMissingError, RecordError
from trlm_lab.flows.execution import Ran
from trlm_lab.flows.identity import package_sha256
from trlm_lab.flows.workspace import Workspace
from trlm_lab.oracle.drift import CONDITIONS, OracleDrift, measure_drift
from trlm_lab.oracle.drift.measure import weights_id

#: Shorter cases move little: their sums fit into one vector.
SHORTEST = 8


@dataclass(frozen=True)
class MeasuredDrift:
    """The record, and the `observation` node that holds it."""

    record: OracleDrift
    node: str

    @property
    def own(self) -> OwnDrift:
        """What limits are made of."""
        return own_drift(self.record)


def own_drift(record: OracleDrift) -> OwnDrift:
    """The figures of a record as limits take them.

    Raises:
        OracleUnsteadyError: the same run gave other bits.
    """
    record.require_steady()
    return OwnDrift(record.record_id, record.moved())


def measured_drift(
    ws: Workspace, label: str, oracle: Ran, model_dir: Path, suite: CaseSuite
) -> MeasuredDrift:
    """Measure a calibration case under every condition that needs no process of its own.

    Raises:
        OracleUnsteadyError: the same run gave other bits.
    """
    case = drift_case(suite)
    conditions = [condition for condition in CONDITIONS if not condition.needs_process]
    inputs = {
        "oracle": oracle.record.trace_id,
        "case": case.digest,
        "conditions": [condition.name for condition in conditions],
        "package": package_sha256(),
    }

    def measure() -> object:
        ws.board.say(f"oracle on {label}: how far it moves by itself")
        return measure_drift(model_dir, [case], conditions).to_map()

    record = OracleDrift.from_map(ws.once(f"oracle-drift-{label}", inputs, measure))
    record.require_steady()
    facts = {"drift_id": record.record_id, "repeats": record.repeats}
    blob = {"drift_blob": ws.store.put_value(record.to_map())}
    return MeasuredDrift(record, ws.store.add("observation", {**facts, **blob}, [oracle.node]))


def drift_case(suite: CaseSuite) -> Case:
    """The shortest case of at least eight tokens, else the longest."""
    long = [case for case in suite.cases if len(case.token_ids) >= SHORTEST]
    if long:
        return min(long, key=lambda case: len(case.token_ids))
    return max(suite.cases, key=lambda case: len(case.token_ids))


def read_drift(path: Path, model_dir: Path, config_id: str) -> OwnDrift:
    """The record that `trlm oracle drift --out` wrote, of this very model.

    Raises:
        PathMissingError: there is no such file.
        NotCanonicalError, RecordError: it holds no record, or that of other weights or another
            configuration.
        OracleUnsteadyError: the same run gave other bits.
    """
    if not path.is_file():
        raise PathMissingError(where=str(path))
    record = OracleDrift.from_map(canon.decode(path.read_bytes(), where=str(path)))
    for what, said, here in (
        ("weights", record.weights, weights_id(model_dir)),
        ("configuration", record.config_id, config_id),
    ):
        if said != here:
            detail = f"the drift was measured on the {what} {said:.12}, this model has {here:.12}"
            raise RecordError(where=str(path), detail=detail)
    return own_drift(record)
