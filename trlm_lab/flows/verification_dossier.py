"""What a verification looks at: graph, plan and stored arrays, and the report it writes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from trlm_lab.base.blobs import file_sha256
from trlm_lab.errors import TrlmError
from trlm_lab.flows.evidence_graph import EvidenceGraph
from trlm_lab.flows.plan import PLAN_FILE, RunPlan
from trlm_lab.receipts import Progress, ReceiptStore, VerifyReport, silent, walk_with
from trlm_lab.traces import TraceStore

#: What reading a record raises that has another form than this version writes.
UNREADABLE = (
    TrlmError, LookupError, TypeError, ValueError, AttributeError, ArithmeticError, OSError,
    RecursionError,
)  # fmt: skip


@dataclass
class Dossier:
    """One sound store under verification; `nodes` are all under the root, parents first."""

    directory: Path
    report: VerifyReport
    root: str
    graph: EvidenceGraph
    nodes: tuple[str, ...]
    plan: RunPlan | None = None
    promotion: str | None = None
    traces: dict[str, TraceStore] = field(default_factory=dict)
    progress: Progress = silent

    @classmethod
    def open(cls, directory: Path, report: VerifyReport, root: str, progress: Progress) -> Dossier:
        """Read the graph of a store that `receipts.verify_store` found sound."""
        graph = EvidenceGraph(ReceiptStore(directory), report.read)
        nodes = tuple(node_id for node_id, _ in walk_with(graph.node, root))
        made = cls(directory, report, root, graph, nodes, progress=progress)
        promotions = graph.children(root, "promotion") if made.type(root) == "report" else []
        made.promotion = promotions[0] if len(promotions) == 1 else None
        # A plan that no receipt lists could be anyone's.
        if PLAN_FILE in report.hashes:
            with made.reading(PLAN_FILE):
                made.plan = RunPlan.load(directory)
        return made

    def type(self, node_id: str) -> str:
        """The type of a node."""
        return self.graph.node(node_id).type

    def of(self, *types: str) -> list[str]:
        """Nodes of these types under the root, in its order."""
        places = sorted(place for t in types for place in self._places.get(t, ()))
        return [self.nodes[place] for place in places]

    @cached_property
    def _places(self) -> dict[str, list[int]]:
        """Where in `nodes` each type stands."""
        found: dict[str, list[int]] = {}
        for place, node_id in enumerate(self.nodes):
            found.setdefault(self.type(node_id), []).append(place)
        return found

    def place(self, node_id: str, *parts: str) -> str:
        """How findings name a node and a place inside it."""
        return " ".join((f"node {node_id[:12]} ({self.type(node_id)})", *parts))

    def fail(self, code: str, node_id: str, detail: str, *parts: str) -> None:
        """Record a finding at a node."""
        self.report.fail(code, self.place(node_id, *parts), detail)

    @contextmanager
    def reading(self, where: str) -> Iterator[None]:
        """Turn what a malformed record raises into a finding."""
        try:
            yield
        except UNREADABLE as error:
            detail = f"{type(error).__name__}: {error}"
            self.report.fail("EVIDENCE_UNREADABLE", where, detail)

    def sha256(self, path: Path) -> str:
        """The hash of a file below the directory; listed files were hashed already."""
        known = self.report.hashes.get(path.relative_to(self.directory).as_posix())
        return known or file_sha256(path)
