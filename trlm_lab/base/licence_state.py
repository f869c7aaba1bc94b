"""Whether anybody decided on the licence of a source: whatever is passed on asks this first."""

from __future__ import annotations

from typing import Any

UNDECIDED = "undecided"
#: What an earlier version wrote of every user's own copy.
_EARLIER = "local use only"


def is_undecided(licence: Any) -> bool:
    """Whether the row `licence` of a snapshot's provenance holds no decision."""
    said = licence.get("decision") if isinstance(licence, dict) else None
    return said in (None, UNDECIDED, _EARLIER)
