"""The receipt nodes of a chat template: its source by hash, and its compiled form above it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from trlm_lab.chat import compile_template
from trlm_lab.errors import Refused
from trlm_lab.flows.model_templates import chosen_template, template_bytes
from trlm_lab.receipts import ReceiptStore

#: What the prompts of a model with a template rest on: the second only where it does not compile.
TEMPLATE_TYPES = ("template_ir", "template_source")


def template_node(store: ReceiptStore, root: Path, receipt: dict[str, Any], tree: str) -> str:
    """The node that prompts rest on; empty where the model has no template, or none is chosen.

    It is the compiled form. Of a template outside the subset it is the source, which then holds
    the refusal: what was not compiled stops no run.

    Args:
        store: where the nodes, the source and the compiled form go.
        root: the directory of the snapshot.
        receipt: the map of the conflict receipt, which says whose template is run.
        tree: the node of the source tree.
    """
    found = chosen_template(root, receipt)
    if found is None:
        return ""
    source = template_bytes(found)
    facts = {"place": found.place, "source_blob": store.blobs.put(source)}
    try:
        compiled = compile_template(source, where=found.place).ir
    except Refused as error:
        refusal = store.put_value(dict(error.as_finding()))
        return store.add("template_source", {**facts, "refusal_blob": refusal}, [tree])
    below = store.add("template_source", facts, [tree])
    return store.add("template_ir", {"ir_blob": store.blobs.put(compiled.encoded)}, [below])
