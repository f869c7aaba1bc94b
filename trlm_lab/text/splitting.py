"""Cutting a text at matches: what happens to the matches is the behaviour.

Source of facts: the documentation of the `tokenizers` library, checked against it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from trlm_lab.text.coordinates import Span

BEHAVIOURS = ("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous")
#: A span, and whether it is a match.
Part = tuple[Span, bool]


def parts(spans: Iterable[Span], length: int, *, invert: bool = False) -> list[Part]:
    """The whole text as matches and what lies between them."""
    out: list[Part] = []
    done = 0
    for start, end in spans:
        if done < start:
            out.append(((done, start), invert))
        out.append(((start, end), not invert))
        done = end
    if done < length:
        out.append(((done, length), invert))
    return out


def cut(rows: list[Part], behaviour: str) -> list[Span]:
    """The spans that are left, ascending."""
    if behaviour == "Removed":
        return [span for span, match in rows if not match]
    if behaviour == "Isolated":
        return [span for span, _ in rows]
    if behaviour == "Contiguous":
        return _joined(rows, lambda match, before: match == before)
    if behaviour == "MergedWithPrevious":
        return _joined(rows, lambda match, before: match and not before)
    backwards = [((-end, -start), match) for (start, end), match in reversed(rows)]
    merged = _joined(backwards, lambda match, before: match and not before)
    return [(-end, -start) for start, end in reversed(merged)]


def _joined(rows: list[Part], joins: Callable[[bool, bool], bool]) -> list[Span]:
    out: list[Span] = []
    before = False
    for (start, end), match in rows:
        if out and joins(match, before):
            out[-1] = (out[-1][0], end)
        else:
            out.append((start, end))
        before = match
    return out
