"""What a table of tokenized texts claims, engine by engine (C1); read from digests alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trlm_lab.base.records import Outcome

Row = dict[str, Any]


def outcomes(table: Row) -> Iterator[tuple[str, Outcome, str]]:
    """Engine, outcome and detail of every claim that a table makes."""
    cases = table["cases"]
    for engine in cases[0]["engines"]:
        wrong = [row["case"] for row in cases if not _equal(row, engine)]
        refused = sum("refused" in row["engines"][engine] for row in cases)
        detail = f"{len(cases) - len(wrong)} of {len(cases)} texts, {refused} refused by both"
        if wrong:
            yield engine, Outcome.WRONG, f"{detail}; first parting: {wrong[0]}"
        elif refused == len(cases):
            yield engine, Outcome.NOT_SUPPORTED, f"{detail}; no text is tokenized"
        else:
            yield engine, Outcome.MATCH, detail
    for engine, code in table["missing"].items():
        yield engine, Outcome.NOT_SUPPORTED, f"the tokenizer is not here: {code}"


def _equal(row: Row, engine: str) -> bool:
    """The source's ids, offsets and text, and the reference's bytes; or all refuse."""
    source, reference, ours = row["source"], row["engines"]["reference"], row["engines"][engine]
    if ours != reference:
        return False
    if "refused" in source or "refused" in ours:
        return "refused" in source and "refused" in ours
    return all(source[key] == ours[key] for key in ("ids_sha256", "text_sha256"))
