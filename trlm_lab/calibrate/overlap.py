"""Whether calibration text holds judged text: by n-grams of ids under one tokenizer.

Judged sequences of fewer than n ids are looked for as a whole, if they have `SHORTEST` ids or more:
fewer say nothing about where a text comes from.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import numpy as np

SHORTEST: Final = 8


@dataclass(frozen=True)
class Judged:
    """Sequences that are judged or held out, by the name of their suite or part."""

    name: str
    sequences: tuple[tuple[int, ...], ...]

    def proof(self, n: int) -> dict[str, Any]:
        """What the corpus was held against: a hash of all n-grams, and their number."""
        grams = sorted(_grams(self, n))
        digest = hashlib.sha256(b"".join(grams)).hexdigest()
        return {"name": self.name, "ngram": n, "shortest": SHORTEST, "ngrams": len(grams),
                "ngrams_sha256": digest, "shared": 0}  # fmt: skip


def shared_ngram(ids: Sequence[int], judged: Judged, n: int) -> int | None:
    """The first place in `ids` where an n-gram of the judged sequences begins; None without one."""
    grams, lengths = _grams(judged, n), _lengths(judged, n)
    for at in range(len(ids)):
        for length in lengths:
            if at + length <= len(ids) and _hash(ids[at : at + length]) in grams:
                return at
    return None


@cache
def _grams(judged: Judged, n: int) -> frozenset[bytes]:
    return frozenset(_hash(gram) for gram in _all(judged, n))


@cache
def _lengths(judged: Judged, n: int) -> tuple[int, ...]:
    return tuple(sorted({len(gram) for gram in _all(judged, n)}))


def _all(judged: Judged, n: int) -> Iterable[tuple[int, ...]]:
    for ids in judged.sequences:
        length = min(n, len(ids))
        if length >= min(n, SHORTEST):
            for at in range(len(ids) - length + 1):
                yield ids[at : at + length]


def _hash(gram: Sequence[int]) -> bytes:
    return hashlib.sha256(np.asarray(gram, "<i8").tobytes()).digest()[:16]
