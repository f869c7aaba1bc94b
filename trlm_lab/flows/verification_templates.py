"""Chat templates in a receipt: the source is the tree's, and compiles to what is stated, again."""

from __future__ import annotations

from typing import Any

from trlm_lab.chat import compile_template
from trlm_lab.errors import Refused
from trlm_lab.flows.model_templates import chosen_place
from trlm_lab.flows.template_nodes import TEMPLATE_TYPES
from trlm_lab.flows.verification_dossier import Dossier

#: Holds the keys of a GGUF file, and is no file of the tree: it is written over the tree.
_PROVENANCE = "provenance.cbor"
_OWN_FILE = b"chat_template.jinja"


def check_template_source(dossier: Dossier, node_id: str) -> None:
    """The file is one of the source tree; it compiles, or the refusal is stated."""
    facts = dossier.graph.node(node_id).metadata
    _check_place(dossier, node_id, facts["place"], facts["source_blob"])
    _, refused = _compiled(dossier, node_id)
    stated = ""
    if "refusal_blob" in facts:
        stated = dossier.graph.value(node_id, "refusal_blob")["code"]
    if stated != refused:
        detail = f"states the refusal {stated!r:.60}, compiling gives {refused!r:.60}"
        dossier.fail("RECORD_ID", node_id, detail, "refusal_blob")
    elif not refused and not _has_ir(dossier, node_id):
        detail = "it compiles, and no compiled form rests on it"
        dossier.fail("EVIDENCE_LEFT_OUT", node_id, detail, "template_ir")


def check_template_ir(dossier: Dossier, node_id: str) -> None:
    """The compiled form is what the source compiles to."""
    derived, refused = _compiled(dossier, dossier.graph.child(node_id, "template_source"))
    stated = dossier.graph.node(node_id).metadata["ir_blob"]
    if stated != derived:
        detail = f"states {stated!r:.90}, its source gives {derived or refused!r:.90}"
        dossier.fail("RECORD_ID", node_id, detail, "ir_blob")


def check_template_there(dossier: Dossier, promotion: str) -> None:
    """A source with a template, in whichever file, has its node under the promotion."""
    graph = dossier.graph
    tree = graph.child(promotion, "source_tree")
    receipts = [
        graph.value(graph.child(config, "conflict"), "receipt_blob")
        for config in graph.children(promotion, "effective_config")
    ]
    place = next(filter(None, map(chosen_place, receipts)), None)
    if place is None and any(row["path"] == _OWN_FILE for row in _files(dossier, tree)):
        place = _OWN_FILE.decode()
    if place is not None and not graph.children(promotion, *TEMPLATE_TYPES):
        detail = f"the source has the template {place:.80}, and no node of it is here"
        dossier.fail("EVIDENCE_LEFT_OUT", promotion, detail)


def _files(dossier: Dossier, tree: str) -> list[dict[str, Any]]:
    return [dossier.graph.node(f).metadata for f in dossier.graph.children(tree, "file")]


def _compiled(dossier: Dossier, source: str) -> tuple[str, str]:
    """SHA-256 of the compiled form, or the code of the refusal."""
    facts = dossier.graph.node(source).metadata
    data = dossier.graph.store.blobs.get(facts["source_blob"])
    try:
        return compile_template(data, where=facts["place"]).ir_sha256, ""
    except Refused as error:
        return "", error.code


def _check_place(dossier: Dossier, node_id: str, place: str, sha256: str) -> None:
    """A file of its own has its hash in the tree; of a text within a file the tree names that."""
    name, _, pointer = place.partition("#")
    rows = _files(dossier, dossier.graph.child(node_id, "source_tree"))
    held = [row["sha256"] for row in rows if row["path"] == name.encode()]
    if name == _PROVENANCE:
        return
    if not held:
        dossier.fail("RECORD_ID", node_id, f"the source has no file {name!r:.80}", "place")
    elif not pointer and held[0] != sha256:
        detail = f"states {sha256}, the source tree has {held[0]}"
        dossier.fail("RECORD_ID", node_id, detail, "source_blob")


def _has_ir(dossier: Dossier, source: str) -> bool:
    return any(source in dossier.graph.node(i).children for i in dossier.of("template_ir"))
