"""The Precompiled normalizer: SentencePiece's table of texts, applied as the source applies it.

The table is a double array over UTF-8 bytes and a blob of texts that end with NUL. Of the keys
that begin a chunk the source takes the shortest, and the whole chunk becomes its text.
Source of facts: the format of Darts-clone's double arrays, and SentencePiece's.
"""

from __future__ import annotations

import base64
import binascii
import struct
from dataclasses import dataclass, field

from trlm_lab.text.aligned import Aligned, Change
from trlm_lab.text.clusters import ClusterSets, cluster_sets, clusters

_LEAF = 1 << 8
_LABEL = (1 << 31) | 0xFF


class CharsmapError(ValueError):
    """A table that is cut short or whose texts have no end."""


@dataclass(frozen=True)
class Charsmap:
    """Units of the double array (u32, shape (N,)) and the blob of texts."""

    units: tuple[int, ...]
    texts: bytes
    borders: ClusterSets = field(default_factory=cluster_sets, repr=False)
    _known: dict[str, str | None] = field(default_factory=dict, repr=False)

    @classmethod
    def read(cls, encoded: str) -> Charsmap:
        """From base64: a u32 with the size of the array, the array, the texts.

        Raises:
            CharsmapError: no base64, cut short, or texts that are no UTF-8 or have no end.
        """
        try:
            data = base64.b64decode(encoded, validate=True)
        except binascii.Error as error:
            raise CharsmapError(str(error)) from error
        return cls.of(data)

    @classmethod
    def of(cls, data: bytes, borders: ClusterSets | None = None) -> Charsmap:
        """From the bytes themselves; clusters have the source engine's borders, or those given.

        Raises:
            CharsmapError: cut short, or texts that are no UTF-8 or have no end.
        """
        try:
            (size,) = struct.unpack_from("<I", data)
            units = struct.unpack_from(f"<{size // 4}I", data, 4)
        except struct.error as error:
            raise CharsmapError(str(error)) from error
        texts = data[4 + size // 4 * 4 :]
        if size % 4 or not units or not texts.endswith(b"\0"):
            raise CharsmapError("an array of whole units and texts that end are wanted")
        try:
            texts.decode()
        except UnicodeDecodeError as error:
            raise CharsmapError(f"the texts are no UTF-8 at byte {error.start}") from error
        return cls(units, texts, borders or cluster_sets())

    def text_for(self, chunk: str) -> str | None:
        """The text in place of a chunk; None where no key begins it."""
        if chunk not in self._known:
            self._known[chunk] = self._find(chunk.encode())
        return self._known[chunk]

    @property
    def root(self) -> int:
        """Where every key begins."""
        return _offset(self.units[0])

    def step(self, place: int, char: str) -> tuple[int, str | None]:
        """Past one scalar: the next place, -1 if no key goes on, and the text of a key that ends.

        Raises:
            CharsmapError: a key ends within the scalar.
        """
        units, found = self.units, -1
        for byte in char.encode():
            if found >= 0:
                raise CharsmapError(f"a key ends within the character {char!r}")
            place ^= byte
            if byte == 0 or place >= len(units) or units[place] & _LABEL != byte:
                return -1, None
            unit = units[place]
            place ^= _offset(unit)
            if place >= len(units):
                return -1, None
            found = units[place] & 0x7FFFFFFF if unit & _LEAF else -1
        return place, None if found < 0 else self._text(found)

    def _find(self, key: bytes) -> str | None:
        units = self.units
        place = _offset(units[0])
        for byte in key:
            place ^= byte
            if byte == 0 or place >= len(units) or units[place] & _LABEL != byte:
                return None
            unit = units[place]
            place ^= _offset(unit)
            if place >= len(units):
                return None
            if unit & _LEAF:
                return self._text(units[place] & 0x7FFFFFFF)
        return None

    def _text(self, start: int) -> str | None:
        if start >= len(self.texts) or self.texts[start] & 0xC0 == 0x80:
            return None
        return self.texts[start : self.texts.index(b"\0", start)].decode()

    def apply(self, piece: Aligned) -> Aligned:
        """Short clusters as a whole where a key begins them, all else scalar by scalar."""
        changes: list[Change] = []
        changed = False
        for cluster in clusters(piece.text, self.borders):
            whole = self.text_for(cluster) if len(cluster.encode()) < 6 else None
            if whole is not None:
                _put(changes, len(cluster), whole)
                changed = True
                continue
            for char in cluster:
                text = self.text_for(char)
                changed = changed or text is not None
                _put(changes, 1, char if text is None else text)
        return piece.transformed(changes) if changed else piece


def _offset(unit: int) -> int:
    return (unit >> 10) << ((unit & (1 << 9)) >> 6)


def _put(changes: list[Change], replaced: int, text: str) -> None:
    """A text in place of so many scalars: what is too much is inserted, what is missing removed."""
    surplus = len(text) - replaced
    changes += [(char, 0) for char in text]
    if surplus > 0:
        for index in range(len(changes) - surplus, len(changes)):
            changes[index] = (changes[index][0], 1)
    elif surplus < 0 and changes:
        char, change = changes[-1]
        changes[-1] = (char, change + surplus)
