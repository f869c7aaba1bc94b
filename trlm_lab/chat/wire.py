"""Conversations as the bytes that renderers outside Python read (docs/abi.md)."""

from __future__ import annotations

import json
from typing import Any

from trlm_lab.chat.render import Conversation, given_variables


def encode_conversation(given: Conversation) -> bytes:
    """JSON in UTF-8; objects keep the order of their keys.

    Raises:
        ChatInputError: the input is no plain data.
    """
    given_variables(given)
    row: dict[str, Any] = {
        "messages": given.messages,
        "add_generation_prompt": bool(given.add_generation_prompt),
        "tools": given.tools,
        "documents": given.documents,
        "variables": dict(given.variables or {}),
    }
    return json.dumps(row, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
