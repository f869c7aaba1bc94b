"""Fields that a template declares forbidden, and conversations that use one.

A template that never looks at a field loses it without a word; whoever hands it over must be told.
"""

from __future__ import annotations

from typing import Any

from trlm_lab.chat.contract import TemplateContract
from trlm_lab.chat.render import Conversation, given_variables
from trlm_lab.errors import ForbiddenFieldError

FORBIDDEN = "forbidden"
_LOST = frozenset({"forbidden", "refused", "ignored"})


def declared_fields(contract: TemplateContract) -> dict[str, str]:
    """Every field with what the template makes of it; `forbidden` for what it refuses or loses."""
    rows = {
        "system": contract.system,
        "unknown_role": contract.unknown_role,
        "structured_blocks": contract.structured_content,
        "tools": contract.tools,
        "tool_calls": contract.tool_calls,
        "memory": contract.memory,
        "precedence": contract.precedence,
        "aliases": "; ".join(map(" = ".join, contract.aliases)) or "none",
        **{f"role {name}": verdict for name, verdict in contract.roles.items()},
    }
    return {name: FORBIDDEN if verdict in _LOST else verdict for name, verdict in rows.items()}


def used_fields(given: Conversation, contract: TemplateContract) -> dict[str, str]:
    """The declared fields that a conversation uses, each with the place of its first use."""
    found: dict[str, str] = {}
    for field, held in (("tools", given.tools), ("memory", given.documents)):
        if held:
            found[field] = "documents" if field == "memory" else field
    for index, message in enumerate(given.messages):
        for field in _of_message(message, contract):
            found.setdefault(field, f"messages[{index}]")
    return found


def _of_message(message: dict[str, Any], contract: TemplateContract) -> list[str]:
    role, fields = message.get("role"), []
    if isinstance(role, str):
        fields.append(f"role {role}" if role in contract.roles else "unknown_role")
    if role == "system":
        fields.append("system")
    if isinstance(message.get("content"), (list, dict)):
        fields.append("structured_blocks")
    if message.get("tool_calls"):
        fields.append("tool_calls")
    return fields


def forbidden_uses(given: Conversation, contract: TemplateContract) -> list[tuple[str, str]]:
    """Forbidden fields that a conversation uses, with their places."""
    declared = declared_fields(contract)
    used = used_fields(given, contract)
    return [(field, where) for field, where in used.items() if declared[field] == FORBIDDEN]


def require_permitted(given: Conversation, contract: TemplateContract) -> None:
    """Refuse a conversation that uses a forbidden field.

    Raises:
        ChatInputError: the input is no plain data.
        ForbiddenFieldError: the first one, with its place.
    """
    given_variables(given)
    for field, where in forbidden_uses(given, contract):
        raise ForbiddenFieldError(where=where, field=field)
