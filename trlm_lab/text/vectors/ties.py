"""Texts with two best paths of one score through a Unigram model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

_WANTED, _TRIED, _LONGEST = 40, 60_000, 8


def tied_texts(scores: Mapping[str, float]) -> list[str]:
    """Up to forty pieces, or pairs of pieces, in which the path that is found first decides."""
    candidates = islice(_candidates(scores), _TRIED)
    return list(islice((text for text in candidates if is_tied(scores, text)), _WANTED))


def _candidates(scores: Mapping[str, float]) -> Iterator[str]:
    short = [piece for piece in scores if 0 < len(piece) <= _LONGEST]
    yield from short
    for first in short:
        for second in short[:64]:
            yield first + second


def is_tied(scores: Mapping[str, float], text: str) -> bool:
    """Whether the best path could have come to one of its places by another piece as well."""
    best = [0.0] + [float("-inf")] * len(text)
    ways: list[list[int]] = [[] for _ in best]
    for end in range(1, len(text) + 1):
        for start in range(max(0, end - _LONGEST * 2), end):
            own = scores.get(text[start:end])
            if own is None or best[start] == float("-inf"):
                continue
            score = own + best[start]
            if score > best[end]:
                best[end], ways[end] = score, [start]
            elif score == best[end]:
                ways[end].append(start)
    place = len(text)
    while place and len(ways[place]) == 1:
        place = ways[place][0]
    return place > 0 and len(ways[place]) > 1
