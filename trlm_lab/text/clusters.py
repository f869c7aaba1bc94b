"""Grapheme clusters, as far as the Precompiled normalizer of the source asks for them.

It takes clusters of fewer than six bytes as a whole. Flags need no rule for that: whatever holds
one is longer. Source of facts: Unicode Standard Annex 29, with the sets read out of the engine.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cache

from trlm_lab.text.scalar_sets import ScalarSet
from trlm_lab.text.tables import scalar_set

_JOINER = "\u200d"
_S, _L, _V, _T = (0xAC00, 0xD7A3), (0x1100, 0x115F), (0x1160, 0x11A7), (0x11A8, 0x11FF)
_OLD_L, _OLD_V, _OLD_T = (0xA960, 0xA97C), (0xD7B0, 0xD7C6), (0xD7CB, 0xD7FB)


@dataclass(frozen=True)
class ClusterSets:
    """The classes of scalars that borders depend on."""

    joined: ScalarSet
    prepend: ScalarSet
    control: ScalarSet
    pictographic: ScalarSet
    consonant: ScalarSet
    linker: ScalarSet
    middle: ScalarSet


#: For who takes a text scalar by scalar.
NO_CLUSTERS = ClusterSets(*[ScalarSet(())] * 7)


@cache
def cluster_sets() -> ClusterSets:
    """The source engine's own."""
    return ClusterSets(*[scalar_set(f"grapheme_{one.name}") for one in fields(ClusterSets)])


def clusters(text: str, sets: ClusterSets) -> Iterator[str]:
    """The clusters of a text, in order."""
    walk = _Walk(sets)
    start = 0
    for index, char in enumerate(text):
        if index and not walk.joins(text[index - 1], char):
            yield text[start:index]
            start = index
        walk.step(char)
    if text:
        yield text[start:]


class _Walk:
    """What the scalars before a place have to do with it."""

    def __init__(self, sets: ClusterSets) -> None:
        self._sets = sets
        # 1 after a consonant or pictograph, 2 once a linker or joiner has followed.
        self._conjunct = self._picture = 0

    def joins(self, before: str, char: str) -> bool:
        """Whether there is no border between two scalars."""
        sets = self._sets
        if before == "\r" and char == "\n":
            return True
        if before.isascii() and char.isascii():
            return False
        if before in sets.control or char in sets.control:
            return False
        return (
            char in sets.joined
            or before in sets.prepend
            or (self._conjunct == 2 and char in sets.consonant)
            or (self._picture == 2 and char in sets.pictographic)
            or _syllable(ord(before), ord(char))
        )

    def step(self, char: str) -> None:
        """Go past a scalar."""
        sets = self._sets
        if char.isascii():
            self._conjunct = self._picture = 0
            return
        if char in sets.consonant:
            self._conjunct = 1
        elif self._conjunct and char in sets.linker:
            self._conjunct = 2
        elif char not in sets.middle:
            self._conjunct = 0
        if char in sets.pictographic:
            self._picture = 1
        elif self._picture:
            self._picture = 2 if char == _JOINER else int(char in sets.joined)


def _within(code: int, *spans: tuple[int, int]) -> bool:
    return any(low <= code <= high for low, high in spans)


def _syllable(before: int, code: int) -> bool:
    """Whether Hangul jamo and syllables go together."""
    whole = _within(before, _S)
    open_syllable = whole and (before - _S[0]) % 28 == 0
    if _within(before, _L, _OLD_L):
        return _within(code, _L, _OLD_L, _V, _OLD_V, _S)
    if open_syllable or _within(before, _V, _OLD_V):
        return _within(code, _V, _OLD_V, _T, _OLD_T)
    return (whole or _within(before, _T, _OLD_T)) and _within(code, _T, _OLD_T)
