"""Byte-pair merging by rank with a heap: n log n, whatever the text.

Order: the lowest rank first, then the leftmost place. A waiting merge whose place has changed since
still counts when its two symbols would make the same token now, as in the source.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush

#: Pair of ids -> rank, and the id that it makes.
Merges = dict[tuple[int, int], tuple[int, int]]
#: Id and length of a symbol.
Symbol = tuple[int, int]


def merged(symbols: list[Symbol], merges: Merges) -> list[Symbol]:
    """The symbols after all merges; lengths add up."""
    count = len(symbols)
    ids = [number for number, _ in symbols]
    if count < 3:
        return _pair(symbols, merges) if count == 2 else symbols
    sizes = [size for _, size in symbols]
    after = list(range(1, count + 1))
    before = list(range(-1, count - 1))
    alive = bytearray(b"\1" * count)
    heap = [
        (found[0], at, found[1])
        for at in range(count - 1)
        if (found := merges.get((ids[at], ids[at + 1]))) is not None
    ]
    heapify(heap)
    while heap:
        _, at, made = heappop(heap)
        right = after[at]
        if not alive[at] or right == count:
            continue
        now = merges.get((ids[at], ids[right]))
        if now is None or now[1] != made:
            continue
        ids[at] = made
        sizes[at] += sizes[right]
        alive[right] = 0
        following = after[at] = after[right]
        left = before[at]
        if following < count:
            before[following] = at
            if (found := merges.get((made, ids[following]))) is not None:
                heappush(heap, (found[0], at, found[1]))
        if left >= 0 and (found := merges.get((ids[left], made))) is not None:
            heappush(heap, (found[0], left, found[1]))
    return [(ids[at], sizes[at]) for at in range(count) if alive[at]]


def _pair(symbols: list[Symbol], merges: Merges) -> list[Symbol]:
    (left, first), (right, second) = symbols
    found = merges.get((left, right))
    return symbols if found is None else [(found[1], first + second)]
