"""Ids that a node states beside a record, against the record; and nodes against their children."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from trlm_lab.base import canon
from trlm_lab.base.document_names import documents
from trlm_lab.base.records.tokenizer_profile import TokenizerProfile
from trlm_lab.flows.verification_dossier import Dossier
from trlm_lab.flows.verification_ladder import check_ladder_rung
from trlm_lab.flows.verification_rendered import check_rendered
from trlm_lab.flows.verification_templates import check_template_ir, check_template_source
from trlm_lab.flows.verification_tokenized import check_tokenized


def check_record(dossier: Dossier, node_id: str) -> None:
    """Whatever a node of RECORD_TYPES says twice must be said the same."""
    _CHECKS[dossier.type(node_id)](dossier, node_id)


def _same(dossier: Dossier, node_id: str, key: str, derived: Any) -> None:
    stated = dossier.graph.node(node_id).metadata[key]
    if stated != derived:
        detail = f"states {stated!r:.90}, its content gives {derived!r:.90}"
        dossier.fail("RECORD_ID", node_id, detail, key)


def _config(dossier: Dossier, node_id: str) -> None:
    _same(dossier, node_id, "config_id", dossier.graph.config(node_id).config_id)


def _ledger(dossier: Dossier, node_id: str) -> None:
    _same(dossier, node_id, "ledger_id", dossier.graph.ledger(node_id).ledger_id)


def _policy(dossier: Dossier, node_id: str) -> None:
    _same(dossier, node_id, "policy_id", dossier.graph.policy(node_id).policy_id)


def _trace(dossier: Dossier, node_id: str) -> None:
    # The name of a blob is the content id of what it holds, and large to compute again.
    facts = dossier.graph.node(node_id).metadata
    _same(dossier, node_id, "trace_id", facts["trace_blob"])
    _same(dossier, node_id, "engine", dossier.graph.trace(node_id).engine.to_map())


def _comparison(dossier: Dossier, node_id: str) -> None:
    facts = dossier.graph.node(node_id).metadata
    if "comparison_blob" in facts:
        _same(dossier, node_id, "comparison_id", facts["comparison_blob"])


def _source_tree(dossier: Dossier, node_id: str) -> None:
    rows = [dossier.graph.node(f).metadata for f in dossier.graph.children(node_id, "file")]
    _same(dossier, node_id, "files", len(rows))
    _same(dossier, node_id, "snapshot_id", _snapshot_id(rows))


def _snapshot_id(rows: list[dict[str, Any]]) -> str:
    """As `Snapshot.snapshot_id`."""
    return canon.content_id([[r["path"], r["size"], r["sha256"]] for r in rows])


def _conflict(dossier: Dossier, node_id: str) -> None:
    receipt = dossier.graph.value(node_id, "receipt_blob")
    _same(dossier, node_id, "findings", len(receipt["findings"]))
    stops = any(finding["level"] == "error" for finding in receipt["findings"])
    if (receipt["verdict"] == "accept") == stops:
        dossier.fail("RECORD_ID", node_id, "the verdict is not that of the findings", "verdict")


def _licence(dossier: Dossier, node_id: str) -> None:
    tree = dossier.graph.child(node_id, "source_tree")
    rows = [dossier.graph.node(f).metadata for f in dossier.graph.children(tree, "file")]
    texts = [row["sha256"] for row in rows if row["path"] == b"LICENSE"]
    _same(dossier, node_id, "text_sha256", texts[0] if texts else None)
    _decision(dossier, node_id, {r["path"].decode("utf-8", "replace"): r["sha256"] for r in rows})


def _decision(dossier: Dossier, node_id: str, held: dict[str, str]) -> None:
    """A decision names every licence text and card of the tree; those of packages name none.

    The list beside it names them for every source; receipts before it was written have none.
    """
    decision, wanted = dossier.graph.value(node_id, "decision_blob"), documents(held)
    for key, derived in wanted.items():
        if isinstance(decision, dict) and decision.get(key, derived) != derived:
            detail = f"the decision's {key} are not those of the source: {derived!r:.200}"
            dossier.fail("RECORD_ID", node_id, detail, key)
    if "documents_blob" not in dossier.graph.node(node_id).metadata:
        return
    if dossier.graph.value(node_id, "documents_blob") != wanted:
        detail = f"the licence texts and cards of the source are {wanted!r:.200}"
        dossier.fail("RECORD_ID", node_id, detail, "documents_blob")


def _inspection(dossier: Dossier, node_id: str) -> None:
    artifact = dossier.graph.node(dossier.graph.child(node_id, "artifact"))
    _same(dossier, node_id, "file_sha256", artifact.metadata["file_sha256"])


def _probe(dossier: Dossier, node_id: str) -> None:
    """The logits that were watched are those of the oracle's own trace of that case."""
    graph = dossier.graph
    if "rendered_blob" in graph.node(node_id).metadata:
        check_rendered(dossier, node_id)
        return
    if graph.children(node_id, "tokenizer_profile"):
        check_tokenized(dossier, node_id)
        return
    case_id = graph.node(node_id).metadata["case_id"]
    label = graph.label(graph.child(node_id, "oracle_run"))
    held = [
        array.sha256
        for run in dossier.of("oracle_run")
        if graph.label(run) == label
        for case in graph.trace(run).cases
        if case.case_id == case_id
        for array in case.arrays
        if array.name == "logits"
    ]
    if not held:
        dossier.fail("RECORD_ID", node_id, f"no oracle run holds the case {case_id!r}", "case_id")
    elif graph.node(node_id).metadata["watched"] not in held:
        _same(dossier, node_id, "watched", held[0])


def _tokenizer(dossier: Dossier, node_id: str) -> None:
    """The file is one of the source tree, and the profile a whole record."""
    facts = dossier.graph.node(node_id).metadata
    tree = dossier.graph.child(node_id, "source_tree")
    rows = [dossier.graph.node(f).metadata for f in dossier.graph.children(tree, "file")]
    held = [row["sha256"] for row in rows if row["path"] == facts["file"].encode()]
    _same(dossier, node_id, "sha256", held[0] if held else None)
    if "profile_blob" in facts:
        profile = TokenizerProfile.from_map(dossier.graph.value(node_id, "profile_blob"))
        _same(dossier, node_id, "profile_id", profile.profile_id)


_CHECKS: dict[str, Callable[[Dossier, str], None]] = {
    "effective_config": _config,
    "ledger": _ledger,
    "tolerance_policy": _policy,
    "trace": _trace,
    "oracle_run": _trace,
    "comparison": _comparison,
    "source_tree": _source_tree,
    "tokenizer_profile": _tokenizer,
    "template_source": check_template_source,
    "template_ir": check_template_ir,
    "conflict": _conflict,
    "licence": _licence,
    "inspection": _inspection,
    "ladder_rung": check_ladder_rung,
    "probe": _probe,
}

#: Types of nodes that say something twice.
RECORD_TYPES = tuple(_CHECKS)
