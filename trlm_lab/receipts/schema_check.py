"""Every node of a store held against the closed schema of its type."""

from __future__ import annotations

from collections.abc import Mapping

from trlm_lab.base.records import Node
from trlm_lab.base.records.node_schema import check_children, check_metadata
from trlm_lab.errors import NodeSchemaError
from trlm_lab.receipts.findings import VerifyReport


def check_schemas(nodes: Mapping[str, Node], report: VerifyReport) -> None:
    """Report NODE_SCHEMA for nodes of another form than their types have.

    Under the root it is an error. Beside it lies history, which another version may have written:
    a note. Children that are not here are found elsewhere and are not looked at.
    """
    live = _under(nodes, report.root)
    for node_id, node in nodes.items():
        try:
            shape = check_metadata(node.type, node.metadata)
            if all(child in nodes for child in node.children):
                check_children(node.type, shape, [nodes[c].type for c in node.children])
        except NodeSchemaError as error:
            _say(report, node_id, node, error, live=node_id in live)


def _say(
    report: VerifyReport, node_id: str, node: Node, error: NodeSchemaError, *, live: bool
) -> None:
    place = error.where.removeprefix(node.type)
    where = f"node {node_id[:12]} ({node.type}){place}"
    detail = f"{error.code}: {error.detail}"
    if live:
        report.fail("NODE_SCHEMA", where, detail)
    else:
        report.note("NODE_SCHEMA", where, f"{detail}; no sealed receipt rests on it")


def _under(nodes: Mapping[str, Node], root: str | None) -> set[str]:
    pending, seen = [root or ""], set[str]()
    while pending:
        node_id = pending.pop()
        if node_id in nodes and node_id not in seen:
            seen.add(node_id)
            pending.extend(nodes[node_id].children)
    return seen
