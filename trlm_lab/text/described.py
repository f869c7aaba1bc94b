"""A stage with all its parameters as a map: small values as they are, large ones hashed."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import fields, is_dataclass
from typing import Any

from trlm_lab.base import canon
from trlm_lab.base.records.tokenizer_profile import StageProfile
from trlm_lab.text.normalizers import Bert
from trlm_lab.text.pattern import Pattern
from trlm_lab.text.pattern_nodes import Node, children
from trlm_lab.text.scalar_sets import ScalarSet

#: Longer lists are hashed.
_SHOWN = 64
#: Tables of BertNormalizer that a step goes by, by the field that switches the step on.
_BERT = {
    "removed": "clean_text", "space": "clean_text", "ideographs": "chinese",
    "tables": "strip_accents", "nonspacing": "strip_accents", "lower": "lowercase",
}  # fmt: skip


def stage_profile(stage: Any) -> StageProfile:
    """A stage by the name of what does it, with its parameters."""
    return StageProfile(type(stage).__name__, parameters(stage))


def parameters(stage: Any, *, without: frozenset[str] = frozenset()) -> dict[str, Any]:
    """Every public field of a dataclass but some; what a step that is off would go by is none."""
    names = [one.name for one in fields(stage)] if is_dataclass(stage) else sorted(vars(stage))
    off = {k for k, step in _BERT.items() if isinstance(stage, Bert) and not getattr(stage, step)}
    return {
        name: described(getattr(stage, name))
        for name in names
        if not name.startswith("_") and name not in without | off
    }


def described(value: Any) -> Any:
    """One parameter."""
    if isinstance(value, Pattern):
        return {"pattern_sha256": pattern_sha256(value.root)}
    if isinstance(value, ScalarSet):
        return {"scalars_sha256": scalars_sha256(value)}
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        text = plain(value)
        return {"bytes_hex": text.hex()} if isinstance(text, bytes) else text
    if isinstance(value, bytes):
        return {"bytes": len(value), "sha256": canon.sha256_hex(value)}
    if is_dataclass(value):
        return {"is": type(value).__name__} | parameters(value)
    if isinstance(value, tuple | list) and len(value) <= _SHOWN:
        return [described(one) for one in value]
    return {"entries": len(value), "sha256": table_sha256(value)}


def pattern_sha256(root: Node) -> str:
    """SHA-256 of the canonical encoding of the tree's nodes in preorder.

    A node is its name, its own values, and the number of nodes directly below it.
    """
    rows: list[Any] = []
    waiting = [root]
    while waiting:
        node = waiting.pop()
        below = children(node)
        values = [getattr(node, one.name) for one in fields(node)]
        own = [described(one) for one in values if one not in (below, *below)]
        rows.append([type(node).__name__, own, len(below)])
        waiting.extend(reversed(below))
    return canon.content_id(rows)


def scalars_sha256(found: ScalarSet) -> str:
    """SHA-256 of the canonical encoding of its ranges, both ends included."""
    return canon.content_id([list(one) for one in found.ranges])


def table_sha256(table: Any) -> str:
    """SHA-256 of the canonical encoding of a table's rows.

    A map gives its pairs by ascending keys, a set its members ascending, a list its items.
    """
    if isinstance(table, Mapping):
        rows = [[_listed(key), _listed(table[key])] for key in sorted(table)]
    else:
        rows = list(map(_listed, sorted(table) if isinstance(table, Set) else table))
    try:
        return canon.content_id(rows)
    except UnicodeEncodeError:
        return canon.content_id(plain(rows))


def _listed(value: Any) -> Any:
    # Lists are encoded without a copy; half a million merges are worth that.
    return list(value) if isinstance(value, tuple) else value


def plain(value: Any) -> Any:
    """A value with an encoding: a text that has no UTF-8 is the bytes that it would have."""
    if isinstance(value, tuple | list):
        return [plain(one) for one in value]
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            return value.encode("utf-8", "surrogatepass")
    return value
