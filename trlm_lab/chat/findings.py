"""What a reader should know about a rendering: text that was lost, text that nobody wrote."""

from __future__ import annotations

from typing import Any

from trlm_lab.chat.contract import TemplateContract
from trlm_lab.chat.forbidden import forbidden_uses
from trlm_lab.chat.render import Conversation, Rendered

#: Fields whose loss no text of a message shows.
_UNSEEN = ("tools", "tool_calls", "memory", "structured_blocks")


def findings(given: Conversation, rendered: Rendered, contract: TemplateContract) -> list[str]:
    """Codes with their place: FORBIDDEN_FIELD, LOSSY_CONTENT, SYNTHESISED_SYSTEM."""
    messages: list[dict[str, Any]] = given.messages
    uses = [(name, at) for name, at in forbidden_uses(given, contract) if name in _UNSEEN]
    found = [f"FORBIDDEN_FIELD {name} at {at}" for name, at in uses]
    for index, message in enumerate(messages):
        content = message.get("content")
        if isinstance(content, str) and content.strip() not in rendered.text:
            found.append(f"LOSSY_CONTENT at messages[{index}]")
    roles = [message.get("role") for message in messages]
    added = contract.system == "synthesised" and contract.synthesised_system in rendered.text
    if added and "system" not in roles:
        found.append("SYNTHESISED_SYSTEM")
    return found
