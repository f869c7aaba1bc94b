"""What a table of rendered conversations claims, engine by engine (C2); read from digests alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trlm_lab.base.records import Outcome
from trlm_lab.errors import TemplateLimitError, TemplateUnsupportedError

#: A refusal of ours that the source does not share: the subset, and its bounds.
OURS = (TemplateUnsupportedError.code, TemplateLimitError.code)

Row = dict[str, Any]


def outcomes(table: Row) -> Iterator[tuple[str, Outcome, str]]:
    """Engine, outcome and detail of every claim that a table makes."""
    cases = table["cases"]
    for engine in cases[0]["engines"]:
        rows = [
            (row["source"], row["engines"][engine], row["engines"]["reference"]) for row in cases
        ]
        wrong = [row["case"] for row, one in zip(cases, rows, strict=True) if not _equal(*one)]
        outside = sum(one[1].get("refused") in OURS for one in rows)
        refused = sum("refused" in one[1] for one in rows)
        detail = f"{len(rows) - len(wrong)} of {len(rows)} conversations, {refused} refused by both"
        if wrong:
            yield engine, Outcome.WRONG, f"{detail}; first parting: {wrong[0]}"
        elif outside or refused == len(rows):
            why = f"{outside} outside the subset or its bounds" if outside else "none is rendered"
            yield engine, Outcome.NOT_SUPPORTED, f"{detail}; {why}"
        else:
            yield engine, Outcome.MATCH, detail
    for engine, code in table["missing"].items():
        yield engine, Outcome.NOT_SUPPORTED, f"the renderer is not here: {code}"


def _equal(source: Row, engine: Row, reference: Row) -> bool:
    """The source's bytes and the reference's owners, or both refuse."""
    if engine != reference:
        return False
    if "refused" in source or "refused" in engine:
        return "refused" in source and "refused" in engine
    return bool(source["text_sha256"] == engine["text_sha256"])
