"""The longest allowed text and one that is one longer, by each of the two bounds."""

from __future__ import annotations

from collections.abc import Iterator

from trlm_lab.text.utf8 import MAX_BYTES, MAX_SCALARS, Bounds
from trlm_lab.text.vectors.samples import Sample

#: Small bounds, so that the longest text is looked at by every engine at once.
_SMALL = Bounds(bytes=48, scalars=24)
_UNITS = ("a", " ", "ab", "\xe9", "\u4e2d", "\U0001f642", "a\u0301", "\n", "1", "<", "\u3000")


def longest_samples() -> Iterator[Sample]:
    """With small bounds each text at a bound and beyond it; with the real ones what is beyond."""
    for unit in _UNITS:
        size = len(unit.encode())
        fits = min(_SMALL.bytes // size, _SMALL.scalars // len(unit))
        for repeats in (fits, fits + 1):
            yield Sample("longest", unit.encode(), repeats, bounds=_SMALL)
    yield Sample("longest", b"a", MAX_SCALARS + 1)
    yield Sample("longest", "\U0001f642".encode(), MAX_BYTES // 4 + 1)
