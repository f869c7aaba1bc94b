"""Merging by score with a heap: two neighbours go together where their joined text is a piece.

Order: the best score first, then the leftmost place; n log n on any text. This is how both
SentencePiece and llama.cpp run a SentencePiece vocabulary; they differ in what counts as a piece.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import heapify, heappop, heappush

from trlm_lab.text.coordinates import Span

#: Told of every pair that could go together: where it begins, is cut, and ends.
Seen = Callable[[int, int, int], None]
_Waiting = tuple[int, int, int]


def merged_spans(
    text: str,
    starts: Sequence[int],
    ranks: dict[str, int],
    *,
    frozen: frozenset[int] = frozenset(),
    seen: Seen | None = None,
) -> list[Span]:
    """The symbols that begin at `starts`, merged; `ranks` orders the pieces, 0 being the best.

    `frozen` are starts of symbols that never go together with others.
    """
    run = _Run(text, starts, ranks, frozen, seen)
    run.merge()
    return run.spans()


class _Run:
    def __init__(
        self,
        text: str,
        starts: Sequence[int],
        ranks: dict[str, int],
        frozen: frozenset[int],
        seen: Seen | None,
    ) -> None:
        count = len(starts)
        self._text, self._ranks, self._frozen, self._seen = text, ranks, frozen, seen
        self._starts = starts
        self._ends = [*starts[1:], len(text)][:count]
        self._after = list(range(1, count + 1))
        self._before = list(range(-1, count - 1))
        self._alive = bytearray(b"\1" * count)
        pairs = [self._pair(at, at + 1) for at in range(count - 1)]
        self._heap = [pair for pair in pairs if pair]
        heapify(self._heap)

    def _pair(self, left: int, right: int) -> _Waiting | None:
        start, end = self._starts[left], self._ends[right]
        rank = self._ranks.get(self._text[start:end])
        if rank is None or start in self._frozen or self._starts[right] in self._frozen:
            return None
        if self._seen:
            self._seen(start, self._ends[left], end)
        return rank, left, end

    def _push(self, left: int, right: int) -> None:
        if left >= 0 and right < len(self._starts) and (pair := self._pair(left, right)):
            heappush(self._heap, pair)

    def merge(self) -> None:
        """Until no pair waits; a pair counts while it still has the extent that it had."""
        while self._heap:
            _, at, end = heappop(self._heap)
            right = self._after[at]
            if not self._alive[at] or right == len(self._starts) or self._ends[right] != end:
                continue
            self._ends[at] = end
            self._alive[right] = 0
            following = self._after[at] = self._after[right]
            if following < len(self._starts):
                self._before[following] = at
            self._push(self._before[at], at)
            self._push(at, following)

    def spans(self) -> list[Span]:
        """What is left, from left to right."""
        return [
            (start, end)
            for start, end, alive in zip(self._starts, self._ends, self._alive, strict=True)
            if alive
        ]
