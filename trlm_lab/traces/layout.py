"""The stored arrays of a case, out of its digests: which slabs share an array, in which files."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from trlm_lab.base.records import ArrayDigest
from trlm_lab.traces.places import place_of
from trlm_lab.traces.shards import Cut, Segment, ShardFile


def cut_of(name: str, dtype: str, shape: tuple[int, ...]) -> Cut:
    """How the array `name` is cut. Raises ObservationError."""
    return _cut(shape, dtype, place_of(name).layer is not None)


@lru_cache(maxsize=256)
def _cut(shape: tuple[int, ...], dtype: str, stacked: bool) -> Cut:
    return Cut(shape, np.dtype(dtype).itemsize, stacked)


def segments_of(digest: ArrayDigest) -> tuple[str, list[Segment]]:
    """The folder below a case that holds a slab, and the bytes of it in each of its files."""
    place = place_of(digest.name)
    return place.array, cut_of(digest.name, digest.dtype, digest.shape).segments(place.layer)


@dataclass(frozen=True)
class StoredArray:
    """One array of a case: its slabs by layer, or the one slab that it is (layer 0)."""

    name: str
    slabs: dict[int, ArrayDigest]
    stacked: bool

    @property
    def first(self) -> ArrayDigest:
        """Any slab: all have one dtype and one shape."""
        return next(iter(self.slabs.values()))

    @property
    def layers(self) -> int:
        """Length of the layer axis."""
        return max(self.slabs) + 1

    @property
    def cut(self) -> Cut:
        """How its slabs are cut."""
        return cut_of(self.first.name, self.first.dtype, self.first.shape)

    def files(self) -> list[ShardFile]:
        """Its files."""
        return self.cut.files(self.slabs)


def stored_arrays(digests: tuple[ArrayDigest, ...]) -> list[StoredArray]:
    """The arrays of a case, by name.

    Raises:
        ValueError: slabs of one array differ in dtype or shape.
    """
    found: dict[str, StoredArray] = {}
    for digest in digests:
        place = place_of(digest.name)
        array = found.setdefault(place.array, StoredArray(place.array, {}, place.layer is not None))
        array.slabs[place.layer or 0] = digest
        if (digest.dtype, digest.shape) != (array.first.dtype, array.first.shape):
            raise ValueError(f"{digest.name} is declared unlike {array.first.name}")
    return [found[name] for name in sorted(found)]
