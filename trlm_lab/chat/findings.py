"""What a reader should know about a rendering: text that was lost, text that nobody wrote."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trlm_lab.chat.contract import TemplateContract
from trlm_lab.chat.forbidden import forbidden_uses
from trlm_lab.chat.render import Conversation, Rendered

#: Fields whose loss no text of a message shows.
_UNSEEN = ("tools", "tool_calls", "memory", "structured_blocks")
_REASONING = "reasoning_content"


def findings(given: Conversation, rendered: Rendered, contract: TemplateContract) -> list[str]:
    """Codes with their place: FORBIDDEN_FIELD, LOSSY_CONTENT, SYNTHESISED_SYSTEM."""
    messages: list[dict[str, Any]] = given.messages
    uses = [(name, at) for name, at in forbidden_uses(given, contract) if name in _UNSEEN]
    found = [f"FORBIDDEN_FIELD {name} at {at}" for name, at in uses]
    found += [f"LOSSY_CONTENT at {place}" for place in _lost(messages, rendered)]
    # What stands in its place may hang on the date or on variables; that it stands there does not.
    roles = [message.get("role") for message in messages]
    if contract.system == "synthesised" and roles and "system" not in roles:
        found.append("SYNTHESISED_SYSTEM")
    return found


def _lost(messages: list[dict[str, Any]], rendered: Rendered) -> list[str]:
    """Places of texts that the output does not hold, each as a part of its own with some content.

    Longer texts are found first, so that a short one is not found inside another's; a role or a
    word of the template that spells the same has no content. Of equal texts the last ones count as
    found: templates leave out the beginning of a conversation.
    """
    content = bytearray(len(rendered.rendered_bytes))
    for start, end, owner in rendered.ownership:
        if owner == "content":
            content[start:end] = b"\x01" * (end - start)
    places: dict[bytes, list[str]] = {}
    for place, text in _texts(messages):
        places.setdefault(text.encode(), []).append(place)
    lost = set()
    for said in sorted(places, key=len, reverse=True):
        found = _take(said, rendered.rendered_bytes, content, len(places[said]))
        lost |= set(places[said][: len(places[said]) - found])
    return [place for place, _ in _texts(messages) if place in lost]


def _take(text: bytes, data: bytes, content: bytearray, most: int) -> int:
    """How often a text stands over free content, from the end; each place takes its content."""
    found, end = 0, len(data)
    while found < most and (free := content.rfind(1, 0, end)) >= 0:
        at = data.rfind(text, 0, min(end, free + len(text)))
        if at < 0:
            break
        if content.find(1, at, at + len(text)) >= 0:
            content[at : at + len(text)] = bytes(len(text))
            found, end = found + 1, at
        else:
            end = at + len(text) - 1
    return found


def _texts(messages: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """Every text of the messages by its place, white space at its ends left aside."""
    for index, message in enumerate(messages):
        place, content = f"messages[{index}]", message.get("content")
        rows: list[tuple[str, Any]] = [(place, content)]
        if isinstance(content, list):
            parts = (p for p in enumerate(content) if isinstance(p[1], dict))
            rows = [(f"{place}.content[{i}]", part.get("text")) for i, part in parts]
        rows.append((f"{place}.{_REASONING}", message.get(_REASONING)))
        yield from (
            (at, text.strip()) for at, text in rows if isinstance(text, str) and text.strip()
        )
