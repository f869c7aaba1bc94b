"""The evidence of C2: what the source and each engine of a run render, as a table of digests.

The run makes it; `trlm verify` makes the columns of source and reference again, from the template
and the compiled form that the receipts hold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from trlm_lab import chat
from trlm_lab.backends.source_template import SourceTemplate
from trlm_lab.base import canon, strict_json
from trlm_lab.errors import InfrastructureError, Refused
from trlm_lab.flows.template_corpus import judged
from trlm_lab.flows.template_outcomes import OURS
from trlm_lab.receipts import ReceiptStore

#: The renderer of each engine of a run; the others render no template.
RENDERERS = {"reference": "python", "native-scalar": "native", "wasm-scalar@wasmtime": "wasm"}
_TOKENS = ("bos_token", "eos_token", "pad_token", "unk_token")

Render = Callable[[chat.Conversation], chat.Rendered]
Row = dict[str, Any]


def template_table(store: ReceiptStore, root: Path, node: str, engines: Sequence[str]) -> Row:
    """The table of a run's compiled template.

    Args:
        store: what holds the template's node.
        root: the directory of the snapshot, for the texts of its special tokens.
        node: the run's `template_ir`.
        engines: those of the run.
    """
    source, ir = template_of(store, node)
    return rendered_table(source, ir, special_texts(root), engines)


def template_probe(store: ReceiptStore, node: str, table: Row) -> str:
    """The node of a table, over the compiled template."""
    facts = {"probe": "template", "rendered_blob": store.put_value(table)}
    return store.add("probe", facts, [node])


def template_of(store: ReceiptStore, node: str) -> tuple[bytes, chat.TemplateIR]:
    """Source and compiled form below a `template_ir` node.

    Raises:
        TemplateIrError: the bytes are no compiled template.
    """
    found = store.get(node)
    below = store.get(found.children[0])
    ir = chat.read_ir(store.blobs.get(found.metadata["ir_blob"]))
    return store.blobs.get(below.metadata["source_blob"]), ir


def special_texts(root: Path) -> dict[str, str]:
    """The special tokens that the source's function gives a template, as they are declared."""
    path = root / "tokenizer_config.json"
    document = strict_json.load_object(path) if path.exists() else {}
    rows = ((name, document.get(name)) for name in _TOKENS)
    texts = ((n, v.get("content") if isinstance(v, dict) else v) for n, v in rows)
    return {name: text for name, text in texts if isinstance(text, str)}


def rendered_table(
    source: bytes, ir: chat.TemplateIR, variables: dict[str, str], engines: Sequence[str]
) -> Row:
    """The table: `variables`, `cases` (a row of answers each), `missing` engines and why."""
    renderers, missing = _renderers(ir, engines)
    asked = SourceTemplate(source.decode("utf-8", "surrogatepass"))
    cases = []
    for name, given in judged(variables):
        ours = {engine: answer(partial(render, given)) for engine, render in renderers.items()}
        cases.append({"case": name, "source": _source_answer(asked, given, ours), "engines": ours})
    asked.close()
    return {"variables": variables, "cases": cases, "missing": missing}


def _renderers(
    ir: chat.TemplateIR, engines: Sequence[str]
) -> tuple[dict[str, Render], dict[str, str]]:
    from trlm_lab.backends.abi_chat import native_chat, wasmtime_chat

    made: dict[str, Render] = {"reference": partial(chat.render, ir)}
    missing: dict[str, str] = {}
    for engine in (one for one in engines if RENDERERS.get(one, "python") != "python"):
        start = native_chat if RENDERERS[engine] == "native" else wasmtime_chat
        try:
            made[engine] = start(ir.encoded).render
        except InfrastructureError as error:
            missing[engine] = error.code
    return made, missing


def answer(render: Callable[[], chat.Rendered]) -> Row:
    """Digests of the text and of its owners, or the code of the refusal."""
    try:
        made = render()
    except Refused as error:
        return {"refused": error.code}
    owners = canon.sha256_hex(canon.encode([list(row) for row in made.ownership]))
    return {"text_sha256": canon.sha256_hex(made.rendered_bytes), "owners_sha256": owners}


def _source_answer(source: SourceTemplate, given: chat.Conversation, ours: dict[str, Row]) -> Row:
    """What the source gives. It is not asked where the reference reached a limit."""
    if ours["reference"].get("refused") in OURS:
        return {"refused": "not asked"}
    try:
        made = source.render(given)
    except Refused as error:
        return {"refused": error.code}
    return {"text_sha256": canon.sha256_hex(made.encode("utf-8", "surrogatepass"))}
