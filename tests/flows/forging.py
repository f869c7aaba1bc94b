"""A forger at work: edits evidence, then makes every hash, id, list and page agree again.

What this leaves wrong is exactly what verification must see; a plain byte flip is no forgery.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from trlm_lab.base.records import Comparison, Node, TolerancePolicy
from trlm_lab.flows.claim_rows import claims_of, holds
from trlm_lab.flows.evidence_graph import EvidenceGraph
from trlm_lab.flows.plan import RunPlan
from trlm_lab.flows.report import headline
from trlm_lab.flows.verification import verify_directory
from trlm_lab.receipts import ReceiptStore, VerifyReport, walk
from trlm_lab.receipts.verify import RECEIPT_FILE, list_files, read_receipt, receipt_text

Edit = Callable[[ReceiptStore, Node], Node]


def copy_of(directory: Path, target: Path) -> Path:
    """A copy by hard links: whoever edits a file writes a new one."""
    shutil.copytree(directory, target, copy_function=os.link)
    return target


def write_anew(path: Path, data: bytes) -> None:
    """Replace a file of a hard-linked copy."""
    path.unlink(missing_ok=True)
    path.write_bytes(data)


def written(store: ReceiptStore, node: Node) -> str:
    """Write a node whatever its form: no store of ours would take it."""
    if not store.node_path(node.id).exists():
        write_anew(store.node_path(node.id), node.encode())
    return node.id


class Forger:
    """One run directory in a forger's hands."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.store = ReceiptStore(directory)
        self.root = str(read_receipt(directory, VerifyReport()))
        self.new: dict[str, str] = {}

    def nodes(self, node_type: str, *keys: str) -> list[str]:
        """Nodes of a type whose metadata has these keys."""
        return [
            i
            for i, n in walk(self.store, self.root)
            if n.type == node_type and all(k in n.metadata for k in keys)
        ]

    def bounded(self) -> str:
        """The comparison under a policy on the first artifact."""
        found = self.nodes("comparison", "comparison_blob")
        return next(i for i in found if self.store.get(i).metadata["artifact"] == "f32")

    def exact(self) -> str:
        """The comparison of digests on the first artifact."""
        found = self.nodes("comparison", "exactness_blob")
        return next(i for i in found if self.store.get(i).metadata["artifact"] == "f32")

    def forge(
        self,
        edits: dict[str, Edit],
        *,
        claims: Callable[[list[dict[str, Any]]], list[dict[str, Any]]] = lambda rows: rows,
        facts: dict[str, Any] | None = None,
        page: Callable[[bytes], bytes] = lambda data: data,
        derive: bool = True,
    ) -> str:
        """Apply the edits and seal again.

        With `derive` the claims are derived anew, as a careful forger does, then edited; `facts`
        go into the promotion last.
        """
        self._edits, self._page, self._facts = edits, page, facts or {}
        self._claims = claims if derive else None
        return self.seal(self.store.get(self._rebuilt(self.root)))

    def again(self) -> Forger:
        """Start from the sound root once more."""
        self.new = {}
        return self

    def hashes(self) -> dict[str, str]:
        """SHA-256 by path, as the sound root lists them."""
        blob = self.store.get(self.root).metadata["files_blob"]
        return {path: sha256 for path, _, sha256 in self.store.get_value(blob)}

    def _rebuilt(self, node_id: str) -> str:
        """The id of a node after its subtree and the node itself were forged."""
        if node_id in self.new:
            return self.new[node_id]
        node = self.store.get(node_id)
        node = replace(node, children=tuple(self._rebuilt(c) for c in node.children))
        if node_id in self._edits:
            node = self._edits[node_id](self.store, node)
        if node.type == "promotion" and self._claims is not None:
            node = self._promotion(node_id, node, self._claims)
        self.new[node_id] = written(self.store, node)
        return self.new[node_id]

    def _promotion(self, old: str, node: Node, edit: Callable[[Any], Any]) -> Node:
        graph, plan = EvidenceGraph(self.store), RunPlan.load(self.directory)
        before = claims_of(graph, self.store.get(old).children, plan)
        derived = claims_of(graph, node.children, plan)
        facts = {
            "claims_blob": self.store.put_value(edit([claim.row() for claim in derived])),
            "holds": holds(graph, derived, node.children),
            **self._facts,
        }
        made = replace(node, metadata={**node.metadata, **facts})
        page = (self.directory / "report.html").read_bytes()
        page = page.replace(old.encode(), made.id.encode())
        page = page.replace(headline(before).encode(), headline(derived).encode())
        write_anew(self.directory / "report.html", self._page(page))
        return made

    def seal(self, node: Node | None = None, **facts: Any) -> str:
        """List the files again and name the root; `facts` go into a report node. Returns its id."""
        root = self.store.get(self.root) if node is None else node
        if root.type == "report":
            page = (self.directory / "report.html").read_bytes()
            made = {
                "report_blob": self.store.blobs.put(page),
                "files_blob": self.store.put_value(list_files(self.directory)),
                **facts,
            }
            root = replace(root, metadata={**root.metadata, **made})
        root_id = written(self.store, root)
        write_anew(self.directory / RECEIPT_FILE, receipt_text(root_id).encode())
        return root_id


def with_facts(**facts: Any) -> Edit:
    """Change metadata of a node."""
    return lambda store, node: replace(node, metadata={**node.metadata, **facts})


def with_children(change: Callable[[tuple[str, ...]], tuple[str, ...]]) -> Edit:
    """Change the children of a node."""
    return lambda store, node: replace(node, children=change(node.children))


def with_comparison(change: Callable[[dict[str, Any]], None]) -> Edit:
    """Change the record of a comparison in place; ids and outcome follow."""

    def edit(store: ReceiptStore, node: Node) -> Node:
        row = store.get_value(node.metadata["comparison_blob"])
        change(row)
        blob = store.put_value(row)
        outcome = Comparison.from_map(row).outcome.value
        facts = {"comparison_blob": blob, "comparison_id": blob, "outcome": outcome}
        return replace(node, metadata={**node.metadata, **facts})

    return edit


def with_policy(change: Callable[[TolerancePolicy], TolerancePolicy]) -> Edit:
    """Change the policy of a node; its id follows."""

    def edit(store: ReceiptStore, node: Node) -> Node:
        policy = change(TolerancePolicy.from_map(store.get_value(node.metadata["policy_blob"])))
        facts = {"policy_id": policy.policy_id, "policy_blob": store.put_value(policy.to_map())}
        return replace(node, metadata={**node.metadata, **facts})

    return edit


def errors(directory: Path, *, recompute: bool = False) -> set[str]:
    """Codes of the errors; every finding tells its place and fix."""
    report = verify_directory(directory, recompute=recompute)
    found = [f for f in report.findings if f.level == "error"]
    assert all(f.code and f.where and f.detail and f.fix for f in found), found
    return {f.code for f in found}


def row_of(record: dict[str, Any], checkpoint: str, case: int = 0) -> dict[str, Any]:
    """One row of a comparison's map."""
    rows = record["cases"][case]["checkpoints"]
    return next(row for row in rows if row["checkpoint"] == checkpoint)


def changed(checkpoint: str, **facts: Any) -> Edit:
    """A comparison with other facts in one row of its first case."""
    return with_comparison(lambda record: row_of(record, checkpoint).update(facts))
