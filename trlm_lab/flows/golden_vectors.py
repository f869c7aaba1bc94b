"""`trlm golden vectors`: the recorded golden vectors, made again and held against their hashes.

The vectors are of an exact profile, so every machine must make the same bits; the table in
`data/golden` was written once and says which.
"""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from trlm_lab.base.interfaces import Subject
from trlm_lab.base.records import Case
from trlm_lab.errors import UnknownNameError
from trlm_lab.flows.acquisition import admit_source
from trlm_lab.flows.engines import runner
from trlm_lab.flows.golden import Exported, export_golden, vectors_sha256
from trlm_lab.flows.identity import PACKAGE
from trlm_lab.flows.packing import pack_artifact
from trlm_lab.flows.progress import Board
from trlm_lab.flows.workspace import Workspace
from trlm_lab.golden import Bounds
from trlm_lab.traces import TraceWriter

TABLE: Final = PACKAGE / "data" / "golden" / "vectors.json"


@dataclass(frozen=True)
class VectorPlan:
    """A row of the table: what to run, what to keep, and the hash that must come out."""

    name: str
    source: str
    profile: str
    token_ids: tuple[int, ...]
    bounds: Bounds
    vectors_sha256: str


@dataclass(frozen=True)
class Made:
    """A container made from a row."""

    plan: VectorPlan
    engine: str
    exported: Exported

    @property
    def agrees(self) -> bool:
        """Whether the vectors have the recorded hash."""
        return vectors_sha256(self.exported.golden) == self.plan.vectors_sha256

    def row(self) -> dict[str, Any]:
        """JSON-ready row."""
        recorded = {"recorded_sha256": self.plan.vectors_sha256, "agrees": self.agrees}
        return {"engine": self.engine, **self.exported.row(), **recorded}


def vector_plans() -> dict[str, VectorPlan]:
    """The table by name."""
    rows: list[dict[str, Any]] = json.loads(TABLE.read_text())["vectors"]
    plans = (
        VectorPlan(
            row["name"],
            row["source"],
            row["profile"],
            tuple(row["token_ids"]),
            Bounds(
                None if row["layers"] is None else tuple(row["layers"]), row["tokens"], row["width"]
            ),
            row["vectors_sha256"],
        )
        for row in rows
    )
    return {plan.name: plan for plan in plans}


def make_vectors(name: str, out: Path, board: Board, *, engine: str = "native-scalar") -> Made:
    """Run one row's case in an engine of its profile and export it to `out/<name>`.

    Raises:
        UnknownNameError: no such row.
        GoldenExportError: something lies under that name already.
    """
    plans = vector_plans()
    if name not in plans:
        raise UnknownNameError(kind="vectors", name=name, known=", ".join(plans))
    plan = plans[name]
    with tempfile.TemporaryDirectory() as scratch:
        trace = _trace(plan, engine, Path(scratch), board)
        (exported,) = export_golden(trace, plan.source, out, board, bounds=plan.bounds)
    return Made(plan, engine, exported)


def _trace(plan: VectorPlan, engine: str, scratch: Path, board: Board) -> Path:
    ws = Workspace(scratch / "run", board)
    source, described = admit_source(ws, plan.source)
    packed = pack_artifact(ws, source, described, "f32")
    ids = {
        "artifact": packed.artifact.file_sha256,
        "config": described.config.config_id,
        "snapshot": source.snapshot.snapshot_id,
    }
    path, case = scratch / "trace.zarr", Case(plan.name, plan.token_ids)
    with runner(engine).open(Subject(artifact=packed.artifact.path, ids=ids)) as session:
        TraceWriter(path, session.identity, dict(ids)).write_case(case, session.run(case))
    return path
