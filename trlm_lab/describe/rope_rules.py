"""Rotary embeddings in a configuration: which kinds are computed, and what their keys ask for.

An engine reads the source's own frequencies, so every kind whose frequencies do not depend on the
length of the text is computed without more ado. Source: `modeling_rope_utils.py` of transformers
5.24.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from trlm_lab.base.config_bounds import shown
from trlm_lab.describe.schema import Check, bounded, flag, number, only, or_null, whole

_FACTOR = number(1.0, 1e6)
_ORIGINAL = whole(1, 2**31 - 1)
#: Kind of rotary embedding to the keys it must have and those it may have.
_KINDS: dict[str, tuple[dict[str, Check], dict[str, Check]]] = {
    "default": ({}, {}),
    "linear": ({"factor": _FACTOR}, {}),
    "llama3": (
        {
            "factor": _FACTOR,
            "low_freq_factor": number(1e-6, 1e6),
            "high_freq_factor": number(1e-6, 1e6),
            "original_max_position_embeddings": _ORIGINAL,
        },
        {},
    ),
    "yarn": (
        {"factor": _FACTOR},
        {
            "original_max_position_embeddings": _ORIGINAL,
            "attention_factor": or_null(number(1e-6, 1e6)),
            "beta_fast": or_null(number(1e-6, 1e6)),
            "beta_slow": or_null(number(1e-6, 1e6)),
            "mscale": or_null(number(0.0, 1e6)),
            "mscale_all_dim": or_null(number(0.0, 1e6)),
            "truncate": flag,
        },
    ),
}
SCALED = ("default", "linear", "llama3", "yarn")
_BY_LENGTH = ("dynamic", "longrope", "su")
LAYERS = ("full_attention", "sliding_attention")
#: Of a family whose class rotates the whole head, whatever the key says.
WHOLE_HEAD: Check = or_null(only(1, 1.0))


def rope_object(kinds: tuple[str, ...] = SCALED, partial: Check = WHOLE_HEAD) -> Check:
    """Accept null, or an object of one of the kinds with the keys of that kind and no other."""

    def check(value: Any) -> str:
        return "" if value is None else _problem(value, kinds, partial)

    return check


def rope_objects(kinds: tuple[str, ...] = SCALED) -> Check:
    """Accept null, or an object with one such object a layer type (null: the class's own)."""
    inner = rope_object(kinds)

    def check(value: Any) -> str:
        if value is None:
            return ""
        if not isinstance(value, dict) or set(value) - set(LAYERS):
            return f"{shown(value)} is no object with the keys {list(LAYERS)}"
        problems = ((name, inner(one)) for name, one in value.items())
        return next((f"{name}: {problem}" for name, problem in problems if problem), "")

    return check


def _problem(value: Any, kinds: tuple[str, ...], partial: Check) -> str:
    if not isinstance(value, dict):
        return f"{shown(value)} is no object"
    names = {str(value[key]) for key in ("rope_type", "type") if key in value} or {"default"}
    kind = names.pop()
    if names or kind not in kinds:
        because = ": its frequencies depend on the length" if kind in _BY_LENGTH else ""
        return f"the kind {shown(kind)} is not supported{because}; supported: {list(kinds)}"
    must, may = _KINDS[kind]
    every = {"rope_theta": bounded("rope_theta"), "partial_rotary_factor": partial}
    known = must | may | every
    strange = sorted(value.keys() - known.keys() - {"rope_type", "type"})
    missing = sorted(must.keys() - value.keys())
    if strange or missing:
        return f"{shown(value)}: unknown {strange[:4]}, missing {missing} for the kind {kind!r}"
    return next(_values(value, known), "")


def _values(value: Mapping[str, Any], known: Mapping[str, Check]) -> Iterator[str]:
    for key, check in known.items():
        problem = check(value[key]) if key in value else ""
        if problem:
            yield f"{key}: {problem}"


def rotates(value: Any, document: Mapping[str, Any]) -> Mapping[str, Any]:
    """What one object asks for: base, attention factor, and how many pairs are rotated."""
    row = value or {}
    wanted = {"rope_theta": row.get("rope_theta")}
    wanted["rope_attention_factor"] = row.get("attention_factor")
    wanted |= rotated_share(row.get("partial_rotary_factor"), document)
    return {name: asked for name, asked in wanted.items() if asked is not None}


def rotates_by_layer(value: Any, document: Mapping[str, Any]) -> Mapping[str, Any]:
    """What an object of both layer types asks for; the sliding one has a base of its own."""
    full, local = ((value or {}).get(name) or {} for name in LAYERS)
    theta = local.get("rope_theta")
    return {**rotates(full, document), **({} if theta is None else {"rope_local_base_freq": theta})}


def rotated_share(value: Any, document: Mapping[str, Any]) -> Mapping[str, Any]:
    """How many pairs of coordinates of a head a share rotates, where the head's width is known."""
    heads, hidden = document.get("num_attention_heads"), document.get("hidden_size")
    if value is None or not heads or not hidden:
        return {}
    rotated = int((document.get("head_dim") or hidden // heads) * value)
    return {"rotary_pairs": (rotated + 1) // 2}
