"""Merging by rank: the same as the plain definition, and not quadratic."""

import random
from itertools import pairwise

import pytest

from trlm_lab.text.models import merging
from trlm_lab.text.models.merging import Merges, merged


def plain(ids: list[int], merges: Merges) -> list[int]:
    """The definition: the lowest rank anywhere, leftmost, until nothing merges."""
    while True:
        found = [(merges[pair][0], at) for at, pair in enumerate(pairwise(ids)) if pair in merges]
        if not found:
            return ids
        _, at = min(found)
        ids = [*ids[:at], merges[ids[at], ids[at + 1]][1], *ids[at + 2 :]]


def test_equals_the_definition() -> None:
    """Every merge makes a token of its own, so that no waiting merge is ambiguous."""
    draw = random.Random(4)
    for _ in range(300):
        pairs: list[tuple[int, int]] = []
        for made in range(4, 12):
            pairs.append((draw.randrange(made), draw.randrange(made)))
        merges: Merges = {}
        for rank, pair in enumerate(pairs):
            merges.setdefault(pair, (rank, rank + 4))
        ids = draw.choices(range(4), k=draw.randrange(30))
        assert [n for n, _ in merged([(n, 1) for n in ids], merges)] == plain(ids, merges)


def test_million_letters(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two doublings over one run: pushes stay below two a letter."""
    pushes = 0

    def counted(heap: list[tuple[int, int, int]], item: tuple[int, int, int]) -> None:
        nonlocal pushes
        pushes += 1
        push(heap, item)

    push = merging.heappush
    monkeypatch.setattr(merging, "heappush", counted)
    merges: Merges = {(0, 0): (0, 1), (1, 1): (1, 2)}
    count = 1_000_000
    found = merged([(0, 1)] * count, merges)
    assert found == [(2, 4)] * (count // 4)
    assert pushes < 2 * count
