"""The receipt graph read as evidence: nodes as the records they hold, each parsed once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from trlm_lab.base.records import (
    Case,
    Comparison,
    EffectiveConfig,
    Ledger,
    Node,
    TolerancePolicy,
    TraceRecord,
)
from trlm_lab.compare import ExactTable, exact_equality
from trlm_lab.errors import EvidenceMissingError
from trlm_lab.receipts import ReceiptStore


class EvidenceGraph:
    """Nodes of one store by id, with their records; nothing here judges.

    A record whose content id is not the one that its node states is still returned: comparing the
    two is the verifier's work.
    """

    def __init__(self, store: ReceiptStore, read: Mapping[str, Node] | None = None) -> None:
        """`read` are nodes of the store that are at hand."""
        self.store = store
        self._nodes: dict[str, Node] = dict(read or {})
        self._records: dict[tuple[str, str], Any] = {}

    def node(self, node_id: str) -> Node:
        """A node, read once. Raises NodeMissingError, NodeCorruptError."""
        if node_id not in self._nodes:
            self._nodes[node_id] = self.store.get(node_id)
        return self._nodes[node_id]

    def children(self, node_id: str, *types: str) -> list[str]:
        """Ids of the children of these types, in order."""
        return [c for c in self.node(node_id).children if self.node(c).type in types]

    def child(self, node_id: str, node_type: str) -> str:
        """The one child of a type. Raises EvidenceMissingError where there is none or more."""
        found = self.children(node_id, node_type)
        if len(found) != 1:
            where = f"node {node_id[:12]} ({self.node(node_id).type})"
            raise EvidenceMissingError(where=where, wanted=node_type, found=len(found))
        return found[0]

    def hold(self, node_id: str, key: str, record: Any) -> None:
        """Keep a record that is at hand, so that it is not parsed again."""
        self._records[node_id, key] = record

    def value(self, node_id: str, key: str) -> Any:
        """The decoded blob that a metadata entry names."""
        return self._once(node_id, key, lambda blob: blob)

    def _once(self, node_id: str, key: str, parse: Callable[[Any], Any]) -> Any:
        if (node_id, key) not in self._records:
            blob = self.store.get_value(self.node(node_id).metadata[key])
            self._records[node_id, key] = parse(blob)
        return self._records[node_id, key]

    def trace(self, node_id: str) -> TraceRecord:
        """The record of a `trace` or `oracle_run`."""
        found: TraceRecord = self._once(node_id, "trace_blob", TraceRecord.from_map)
        return found

    def comparison(self, node_id: str) -> Comparison:
        """The record of a comparison under a policy."""
        found: Comparison = self._once(node_id, "comparison_blob", Comparison.from_map)
        return found

    def policy(self, node_id: str) -> TolerancePolicy:
        """The record of a `tolerance_policy`."""
        found: TolerancePolicy = self._once(node_id, "policy_blob", TolerancePolicy.from_map)
        return found

    def config(self, node_id: str) -> EffectiveConfig:
        """The record of an `effective_config`."""
        found: EffectiveConfig = self._once(node_id, "config_blob", EffectiveConfig.from_map)
        return found

    def ledger(self, node_id: str) -> Ledger:
        """The record of a `ledger`."""
        found: Ledger = self._once(node_id, "ledger_blob", Ledger.from_map)
        return found

    def exact_table(self, node_id: str) -> ExactTable:
        """Digests of the engines of an exact comparison, derived from their traces."""
        if (node_id, "table") not in self._records:
            node = self.node(node_id)
            records = [self.trace(child) for child in node.children]
            engines = dict(zip(node.metadata["engines"], records, strict=True))
            self._records[node_id, "table"] = exact_equality(engines)
        found: ExactTable = self._records[node_id, "table"]
        return found

    def suite(self, run_id: str) -> tuple[Case, ...]:
        """The cases that a trace or oracle run was given, in order."""
        return tuple(_case(self.node(c).metadata) for c in self.children(run_id, "case"))

    def label(self, node_id: str) -> str:
        """The quantization profile of the artifact that a trace or inspection rests on."""
        artifact = self.child(node_id, "artifact")
        return str(self.node(self.child(artifact, "quant_profile")).metadata["name"])

    def candidate(self, comparison_id: str) -> str:
        """The trace that a comparison under a policy judges."""
        return self.child(comparison_id, "trace")


def _case(row: dict[str, Any]) -> Case:
    made: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in row.items()}
    return Case(**made)
