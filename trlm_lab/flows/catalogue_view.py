"""The scoreboard of a catalogue run for people: one line a planting, one a sound engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any


def planting_rows(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The trials of one planting joined: judged whole, then with each third of the ladder hidden.

    Args:
        rows: rows of `Scored.rows`; the trials of a planting stand together, the whole one first.
    """
    return list(_joined(rows))


def _joined(rows: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    for (artifact, fault, layer), group in groupby(rows, _planting):
        whole, *hidden = group
        yield {
            "artifact": artifact,
            "planted": fault if layer is None else f"{fault}@{layer}",
            "expected": whole["expected"],
            "named at": whole["boundary"],
            "standing": whole["standing"],
            "with thirds hidden": ", ".join(row["standing"] for row in hidden),
            "error": _short(whole["max_abs"]),
            "limit": _short(whole["limit"]),
        }


def _planting(row: Mapping[str, Any]) -> tuple[str, str, int | None]:
    return row["artifact"], row["fault"], row["layer"]


def _short(number: float | None) -> str:
    return "" if number is None else f"{number:.3g}"
