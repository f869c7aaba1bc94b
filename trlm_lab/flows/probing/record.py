"""The record of a probe: its form, what a profile makes of it, and how it is shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

SCHEMA: Final = "trlm.probe.v1"

#: The cases of a probe: engines take other ways for one token than for several.
CASES: Final = {"one_token": 1, "several_tokens": 8}

#: What each fact is, in the words of tables.
WORDS: Final = {
    "subnormal_operands": "subnormal operands",
    "subnormal_results": "subnormal results",
    "subnormal_weights": "subnormal weights",
    "sum_of_negative_zeros": "sum of negative zeros",
    "contraction": "multiply and add",
    "order": "order of a sum",
    "reassociated": "reassociated",
    "operands": "operands",
    "overflow": "overflow",
    "nan": "bits of inf - inf",
}

_EXACT: Final = {
    "subnormal_operands": "kept",
    "subnormal_results": "kept",
    "subnormal_weights": "kept",
    "sum_of_negative_zeros": "+0",
    "contraction": "separate",
    "operands": "float32",
    "overflow": "inf",
    "nan": "7fc00000",
}
#: What the exact profiles demand (docs/operators.md); the others promise none of it.
DEMANDED: Final = {
    "scalar-f32-v1": {**_EXACT, "order": "ascending", "reassociated": "no"},
    "lanes16-f32-v1": {**_EXACT, "order": "16 lanes, merged by halves"},
}


def deviations(record: Mapping[str, Any]) -> list[str]:
    """Where the facts contradict the engine's profile: the field, what it is and must be."""
    demanded = DEMANDED.get(record.get("profile", ""), {})
    return [
        f"{record['engine']}, {case.replace('_', ' ')}: {WORDS[name]} {found[name]}, "
        f"{record['profile']} demands {wanted}"
        for case in CASES
        if (found := record.get(case)) is not None
        for name, wanted in demanded.items()
        if found[name] != wanted
    ]


def shown(record: Mapping[str, Any]) -> list[dict[str, str]]:
    """Rows of a table; a single cell where one token and several give the same."""
    if "refused" in record:
        return [{"asked": "all", "found": f"not probed: {record['refused']}"}]
    rows = []
    for name, words in WORDS.items():
        one, several = (record[case][name] for case in CASES)
        rows.append({"asked": words, "found": _joined(one, several)})
    return [*rows, {"asked": "float32 to float16", "found": record["to_f16"]}]


def sentence(record: Mapping[str, Any]) -> str:
    """The record in a cell: what another engine would have to do alike."""
    if "refused" in record:
        return f"not probed: {record['refused']}"
    one, several = (record[case] for case in CASES)
    parts = [
        _joined(_subnormals(one), _subnormals(several)),
        _joined(one["contraction"], several["contraction"]),
        _joined(one["order"], several["order"]),
        f"NaN {_joined(one['nan'], several['nan'])}",
    ]
    return "; ".join(parts)


def _subnormals(facts: Mapping[str, str]) -> str:
    kinds = {facts[f"subnormal_{part}"] for part in ("operands", "results", "weights")}
    return f"subnormals {kinds.pop() if len(kinds) == 1 else 'partly flushed'}"


def _joined(one: str, several: str) -> str:
    return one if one == several else f"{one} (several tokens: {several})"
