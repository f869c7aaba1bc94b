"""How the arrays of a case are cut into files: one chunk a layer, shards of at most 256 MB.

A stacked array `layers.<op>` has as many whole layers in a file as fit; each layer is one chunk at
its own place in it, and behind them stands the index of the chunks (zarr specification 3.0, codec
`sharding_indexed`). The place follows from the layer alone, so a layer is written once, when it
comes, whatever the order. A layer that no file can hold is cut along its first axis.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import google_crc32c

#: A file holds at most this many bytes, unless one row of an array alone has more.
SHARD_BYTES = 256_000_000
#: Offset and length of a chunk in the index, and what stands there for a chunk that is not held.
_ENTRY = 16
_CHECKSUM = 4
_ABSENT = 2**64 - 1


@dataclass(frozen=True)
class Segment:
    """Bytes `begin` to `end` of a slab, which stand at `offset` in the file `file`."""

    file: str
    offset: int
    begin: int
    end: int


@dataclass(frozen=True)
class ShardFile:
    """A file of an array: bytes of chunks, then the index; gaps are places of absent layers."""

    name: str
    data: int
    index: bytes
    gaps: tuple[tuple[int, int], ...] = ()

    @property
    def size(self) -> int:
        """Bytes of the whole file."""
        return self.data + len(self.index)


@dataclass(frozen=True)
class Cut:
    """How slabs of one shape are cut; `stacked` where the array has a layer axis in front."""

    shape: tuple[int, ...]
    itemsize: int
    stacked: bool

    @cached_property
    def nbytes(self) -> int:
        """Bytes of a slab."""
        total = self.itemsize
        for extent in self.shape:
            total *= extent
        return total

    @cached_property
    def per_file(self) -> int:
        """Slabs that one file may hold; 0 where a slab is cut into rows."""
        if not self.stacked or not self.shape:
            whole = 1 if self.nbytes <= SHARD_BYTES or not self.shape else 0
        else:
            whole = max(0, SHARD_BYTES - _CHECKSUM) // (self.nbytes + _ENTRY)
        return whole if self.shape and self.shape[0] > 1 else max(1, whole)

    @cached_property
    def rows(self) -> tuple[int, int]:
        """Rows of a chunk and rows of a file, where a slab is cut; chunks divide the slab."""
        height = self.shape[0]
        row = self.nbytes // height
        most = min(height, max(1, (SHARD_BYTES - _CHECKSUM) // (row + _ENTRY)))
        chunk = max(rows for rows in _divisors(height) if rows <= most)
        return chunk, most // chunk * chunk

    def segments(self, layer: int | None) -> list[Segment]:
        """Where the bytes of a slab stand, in order."""
        if self.per_file:
            place, slot = divmod(layer or 0, self.per_file)
            return [Segment(self._key(place, 0), slot * self.nbytes, 0, self.nbytes)]
        rows = self.rows[1]
        step = rows * self.nbytes // self.shape[0]
        starts = enumerate(range(0, self.nbytes, step))
        return [
            Segment(self._key(layer or 0, i), 0, at, min(at + step, self.nbytes))
            for i, at in starts
        ]

    def grid(self, layers: int) -> tuple[list[int], list[int]]:
        """Shapes of a file and of a chunk of the array with `layers` layers."""
        one = [1] if self.stacked else []
        if not self.per_file:
            chunk, rows = self.rows
            return [*one, rows, *self.shape[1:]], [*one, chunk, *self.shape[1:]]
        several = [min(self.per_file, layers)] if self.stacked else []
        return [*several, *self.shape], [*one, *self.shape]

    def files(self, held: Iterable[int]) -> list[ShardFile]:
        """The files of an array that holds these layers ([0] where it is not stacked)."""
        layers = sorted(held)
        if not self.per_file:
            return [file for layer in layers for file in self._cut_files(layer)]
        found: dict[int, list[int]] = {}
        for layer in layers:
            found.setdefault(layer // self.per_file, []).append(layer % self.per_file)
        slots = min(self.per_file, layers[-1] + 1)
        return [self._whole_file(place, have, slots) for place, have in found.items()]

    def _whole_file(self, place: int, held: list[int], slots: int) -> ShardFile:
        spans = {slot: (slot * self.nbytes, self.nbytes) for slot in held}
        data = (held[-1] + 1) * self.nbytes
        gaps = [i * self.nbytes for i in range(held[-1]) if i not in spans]
        index = _index(spans, slots) if slots > 1 else b""
        around = tuple((at, at + self.nbytes) for at in gaps)
        return ShardFile(self._key(place, 0), data, index, around)

    def _cut_files(self, layer: int) -> list[ShardFile]:
        chunk, rows = self.rows
        size, slots = chunk * self.nbytes // self.shape[0], rows // chunk
        files = []
        for part in self.segments(layer):
            data = part.end - part.begin
            spans = {i: (i * size, size) for i in range(data // size)}
            index = _index(spans, slots) if slots > 1 else b""
            files.append(ShardFile(part.file, data, index))
        return files

    def _key(self, place: int, part: int) -> str:
        tail = [part, *[0] * (len(self.shape) - 1)] if self.shape else []
        return ".".join(["c", *map(str, [*([place] if self.stacked else []), *tail])])


def _divisors(number: int) -> Iterator[int]:
    for low in range(1, math.isqrt(number) + 1):
        if number % low == 0:
            yield from (low, number // low)


def _index(spans: dict[int, tuple[int, int]], slots: int) -> bytes:
    """Offset and length of each chunk of a file, little-endian, and their CRC-32C."""
    absent = (_ABSENT, _ABSENT)
    entries = b"".join(struct.pack("<QQ", *spans.get(slot, absent)) for slot in range(slots))
    return entries + struct.pack("<I", google_crc32c.value(entries))
