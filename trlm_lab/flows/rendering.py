"""JSON lines of conversations through one template engine; a bad line is answered in its place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from trlm_lab import chat
from trlm_lab.backends.source_template import SECONDS, SourceTemplate
from trlm_lab.base import strict_json
from trlm_lab.errors import (
    ChatInputError,
    JsonError,
    TemplateLimitError,
    TemplateSourceError,
    TrlmError,
    UnknownNameError,
)
from trlm_lab.flows.lines import MAX_LINE_BYTES
from trlm_lab.flows.model_templates import template_source
from trlm_lab.flows.rendering_contract import owned, permitted
from trlm_lab.text import text_of

ENGINES = ("jinja", "native", "python", "wasm")
_OWN = frozenset({"messages", "tools", "documents", "add_generation_prompt", "variables"})

Row = dict[str, Any]


def open_engine(
    template: Path, engine: str, *, strict: bool = False, tokenizer: Path | None = None
) -> Callable[[chat.Conversation], Row]:
    """A function from a conversation to its answer.

    With `strict` it refuses a conversation that uses what the template's contract forbids; with
    `tokenizer` it says who inserts BOS and EOS, and refuses where two would. Both go by the
    compiled template, whichever engine renders.

    Raises:
        UnknownNameError: no such engine.
        PathMissingError, TemplateSourceError, TemplateUnsupportedError, TemplateLimitError.
        InfrastructureError: `native` or `wasm` is not here.
        Refused: the tokenizer file is none that the reference reads.
    """
    if engine not in ENGINES:
        known = ", ".join(ENGINES)
        raise UnknownNameError(where="--engine", kind="engine", name=engine, known=known)
    source, name = template_source(template)
    answer = _by_source(source, name) if engine == "jinja" else _by_compiled(source, name, engine)
    if strict:
        answer = permitted(chat.compile_template(source, where=name).ir, answer)
    if tokenizer is not None:
        answer = owned(chat.compile_template(source, where=name).ir, name, tokenizer, answer)
    return answer


def _renderer(ir: chat.TemplateIR, name: str, engine: str) -> Callable[..., chat.Rendered]:
    """The compiled template in one of the three renderers that know nothing else."""
    if engine == "python":
        return partial(chat.render, ir, where=name)
    from trlm_lab.backends.abi_chat import native_chat, wasmtime_chat

    start = native_chat if engine == "native" else wasmtime_chat
    return start(ir.encoded, where=name).render


def _by_compiled(source: bytes, name: str, engine: str) -> Callable[[chat.Conversation], Row]:
    compiled = chat.compile_template(source, where=name)
    contract = chat.derive_contract(compiled.ir)
    render = _renderer(compiled.ir, name, engine)

    def answer(given: chat.Conversation) -> Row:
        rendered = render(given)
        row: Row = {"text": rendered.text, "ownership": [list(r) for r in rendered.ownership]}
        found = chat.findings(given, rendered, contract)
        return {**row, "findings": found} if found else row

    return answer


def _by_source(source: bytes, name: str) -> Callable[[chat.Conversation], Row]:
    """The source's text. It knows no owners: they are the compiled template's, on equal text."""
    try:
        text = source.decode()
    except UnicodeDecodeError as error:
        detail = f"ill-formed UTF-8 at byte {error.start}"
        raise TemplateSourceError(where=name, detail=detail) from error
    chat.parse_template(text, where=name)
    ir, bounded = _compiled(source, name), SourceTemplate(text, where=name, seconds=SECONDS)

    def answer(given: chat.Conversation) -> Row:
        own = _own(ir, given, name)
        made = bounded.render(given)
        owners = own.ownership if own is not None and own.text == made else None
        return {"text": made, "ownership": None if owners is None else [list(r) for r in owners]}

    return answer


def _compiled(source: bytes, name: str) -> chat.TemplateIR | None:
    try:
        return chat.compile_template(source, where=name).ir
    except TrlmError:
        return None


def _own(ir: chat.TemplateIR | None, given: chat.Conversation, name: str) -> chat.Rendered | None:
    """The compiled template's rendering, if it has one.

    It is made before the source is asked, which counts no steps and might run without end.

    Raises:
        ChatInputError: no plain data.
        TemplateLimitError: beyond a bound.
    """
    try:
        return None if ir is None else chat.render(ir, given, where=name)
    except (ChatInputError, TemplateLimitError):
        raise
    except TrlmError:
        return None


def render_lines(
    lines: Iterable[bytes | None], engine: Callable[[chat.Conversation], Row]
) -> Iterator[Row]:
    """One answer a line; `{"error": …}` in the place of a line that is refused."""
    for number, line in enumerate(lines, start=1):
        if line is not None and not line.strip():
            continue
        try:
            if line is None:
                raise ChatInputError(detail=f"the line has more than {MAX_LINE_BYTES} bytes")
            row = engine(read_line(line.rstrip(b"\r\n"), f"line {number}"))
        except TrlmError as error:
            row = {"error": _refusal(error, number)}
        yield row


def read_line(line: bytes, where: str) -> chat.Conversation:
    """A conversation of one JSON line; further keys are variables, as for the source's function.

    Raises:
        JsonError, JsonDuplicateKeyError: no JSON object.
        ChatInputError: a key of the wrong type, or a variable given twice.
    """
    # The first invalid byte is named before the line is looked at as JSON.
    text_of(line, where=where)
    row = strict_json.loads(line, where=where)
    if not isinstance(row, dict):
        raise JsonError(where=where, detail="the line is no object")
    given, more = row.get("variables"), {k: v for k, v in row.items() if k not in _OWN}
    variables = {} if given is None else given
    if not isinstance(variables, dict):
        raise ChatInputError(where=where, detail="variables is no object")
    twice = sorted(set(variables) & set(more))
    if twice:
        raise ChatInputError(where=where, detail=f"the variable {twice[0]!r} is given twice")
    flag = row.get("add_generation_prompt")
    if flag is not None and not isinstance(flag, bool):
        raise ChatInputError(where=where, detail="add_generation_prompt is no Boolean")
    return chat.Conversation(
        messages=row.get("messages", []),
        add_generation_prompt=bool(flag),
        tools=row.get("tools"),
        documents=row.get("documents"),
        variables={**variables, **more},
    )


def _refusal(error: TrlmError, number: int) -> Row:
    finding: Row = dict(error.as_finding())
    finding["where"] = finding["where"] or f"line {number}"
    return {**finding, "line": number, **_index(error)}


def _index(error: TrlmError) -> Row:
    return {"index": error.facts["index"]} if "index" in error.facts else {}
