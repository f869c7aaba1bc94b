"""What a source's configuration may ask for that no effective configuration can say."""

from __future__ import annotations

from typing import Any

#: Kinds of frequencies that depend on the length of the text; no table of them can be stored.
LENGTH_DEPENDENT = ("dynamic", "longrope")

#: Switches of GPT-2 that change its attention, and of the Gemma models that open it both ways.
SWITCHES = (
    "scale_attn_by_inverse_layer_idx",
    "reorder_and_upcast_attn",
    "add_cross_attention",
    "use_bidirectional_attention",
)


def refused(config: Any) -> str:
    """Why the live configuration is refused; empty if it is not."""
    for switch in SWITCHES:
        if getattr(config, switch, None):
            return f"{switch} is set, and no effective configuration can say it"
    rope = getattr(config, "rope_parameters", None) or {}
    # Gemma 3 has one map of parameters for each kind of layer.
    for table in (rope, *(value for value in rope.values() if isinstance(value, dict))):
        kind = table.get("rope_type")
        if kind in LENGTH_DEPENDENT:
            return f"rope_type {kind!r} makes frequencies that depend on the length of the text"
    return ""
