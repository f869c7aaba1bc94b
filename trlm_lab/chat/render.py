"""The renderer: a compiled template, a conversation and variables become bytes with owners."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from trlm_lab.chat import limits
from trlm_lab.chat.allowed import FUNCTIONS
from trlm_lab.chat.budget import Budget
from trlm_lab.chat.execute import call_macro, execute
from trlm_lab.chat.ir import TemplateIR
from trlm_lab.chat.owned_text import (
    BOS,
    CONTENT,
    EOS,
    OWNER_NAMES,
    PREFIX,
    TEMPLATE,
    Text,
    of,
    runs,
)
from trlm_lab.chat.state import State
from trlm_lab.chat.values import take, take_messages
from trlm_lab.errors import ChatInputError, TemplateLimitError

#: Variables that hold special tokens; their text belongs to the template, or to BOS and EOS.
SPECIAL_OWNERS = {
    "bos_token": BOS,
    "eos_token": EOS,
    **dict.fromkeys(("pad_token", "unk_token", "sep_token", "cls_token", "mask_token"), TEMPLATE),
}
_OWN_KEYS = frozenset({"messages", "tools", "documents", "add_generation_prompt"})


@dataclass(frozen=True)
class Conversation:
    """What a template is given; `variables` may hold `strftime_now`, the date as text."""

    messages: Any
    add_generation_prompt: bool = False
    tools: Any = None
    documents: Any = None
    variables: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Segment:
    """A stretch of text for a tokenizer: `template` may become control ids, `content` never."""

    text: str
    owner: str


@dataclass(frozen=True)
class Rendered:
    """Rendered text; `ownership` rows are (start, end, owner) over its UTF-8 bytes."""

    text: str
    ownership: tuple[tuple[int, int, str], ...]

    @property
    def rendered_bytes(self) -> bytes:
        """The exact UTF-8 bytes."""
        return self.text.encode()

    @property
    def segments(self) -> tuple[Segment, ...]:
        """Neighbouring stretches of the two kinds that a tokenizer tells apart."""
        data, found = self.rendered_bytes, list[Segment]()
        for start, end, owner in self.ownership:
            text = data[start:end].decode()
            kind = "content" if owner == "content" else "template"
            if found and found[-1].owner == kind:
                text = found.pop().text + text
            found.append(Segment(text, kind))
        return tuple(found)


def render(
    ir: TemplateIR,
    given: Conversation,
    *,
    where: str = "template",
    budget: Budget | None = None,
) -> Rendered:
    """Render a conversation from the compiled template alone; `budget` counts on where it stands.

    Raises:
        ChatInputError: the input is no plain data.
        TemplateEvaluationError, TemplateRaisedError: the source refuses it as well.
        TemplateUnsupportedError: an operation on values outside the subset.
        TemplateLimitError: beyond a bound.
        NondeterministicTemplateError: the clock is read and no date is given.
    """
    variables, clock = given_variables(given)
    state = State(ir, variables, clock, call_macro, where, budget or Budget())
    state.begin()
    try:
        execute(state, ir.root)
    except RecursionError as error:
        # The bounds keep below Python's own; a caller deep in its stack may have less room.
        raise TemplateLimitError(
            where=where, what="depth of evaluation", got="the stack", limit=limits.MAX_LIVE_DEPTH
        ) from error
    return _finished(state.end(), variables)


def given_variables(given: Conversation) -> tuple[dict[str, Any], Text | None]:
    """All names with owned values, and the date. Raises ChatInputError."""
    held = dict(given.variables or {})
    clock = held.pop("strftime_now", None)
    if clock is not None and not isinstance(clock, str):
        detail = f"a {type(clock).__name__} is no date text"
        raise ChatInputError(where="variables.strftime_now", detail=detail)
    for name in held:
        if name in _OWN_KEYS | FUNCTIONS:
            detail = f"the name {name!r} belongs to the renderer"
            raise ChatInputError(where="variables", detail=detail)
    taken: dict[str, Any] = {
        name: take(value, f"variables.{name}", SPECIAL_OWNERS.get(name, CONTENT))
        for name, value in held.items()
    }
    taken["messages"] = take_messages(given.messages)
    taken["tools"] = take(given.tools, "tools")
    taken["documents"] = take(given.documents, "documents")
    taken["add_generation_prompt"] = given.add_generation_prompt
    return taken, None if clock is None else of(clock, CONTENT)


def _finished(text: Text, variables: dict[str, Any]) -> Rendered:
    owners = bytearray(text.owners)
    for name, owner in (("bos_token", BOS), ("eos_token", EOS)):
        _mark(text, owners, variables.get(name), owner)
    marked, rows, start = Text(text, bytes(owners)), [], 0
    for first, last, owner in runs(marked):
        end = start + len(str(text)[first:last].encode())
        rows.append((start, end, OWNER_NAMES[owner]))
        start = end
    return Rendered(str(text), tuple(rows))


def _mark(text: Text, owners: bytearray, token: Any, owner: int) -> None:
    """A special token that the template spells out is that token, not just text."""
    if not isinstance(token, str) or not token:
        return
    at = text.find(token)
    while at >= 0:
        end = at + len(token)
        if all(o in (TEMPLATE, PREFIX) for o in owners[at:end]):
            owners[at:end] = bytes([owner]) * len(token)
        at = text.find(token, end)
