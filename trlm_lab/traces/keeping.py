"""What a trace keeps of each checkpoint: the whole, its statistics, or picked rows of a square."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from numpy.typing import NDArray

from trlm_lab.base.names import is_checkpoint
from trlm_lab.traces.documents import StoredCase
from trlm_lab.traces.picks import SQUARES, WHOLE_UP_TO, Pick
from trlm_lab.traces.places import PICKED, STATISTICS, stands_for
from trlm_lab.traces.statistics import FIGURES, statistics_of


@dataclass(frozen=True)
class Keeping:
    """The wish of a capture.

    With `statistics` only the figures of a checkpoint are kept, but for those whose name fits one
    of the globs `whole`. In cases of more than 512 tokens only picked heads and query rows of a
    square are kept, beside the figures of the whole, unless `all_squares` or a glob says otherwise;
    `pick` says which, in place of `Pick.default`. What is no checkpoint is always kept.
    """

    statistics: bool = False
    whole: tuple[str, ...] = ()
    all_squares: bool = False
    pick: Pick | None = None

    def suffixes(self, name: str, tokens: int) -> frozenset[str]:
        """What is kept of the array `name`: "" is the whole, the others are stand-ins."""
        if not is_checkpoint(name):
            return frozenset({""})
        named = any(fnmatchcase(name, pattern) for pattern in self.whole)
        if self.statistics:
            return frozenset({STATISTICS, *([""] if named else [])})
        if named or self.all_squares or tokens <= WHOLE_UP_TO or not _is_square(name):
            return frozenset({""})
        return frozenset({STATISTICS, PICKED})

    def nbytes(self, name: str, shape: tuple[int, ...], tokens: int) -> int:
        """Bytes to be stored of the checkpoint `name`.

        Raises:
            UsageError: a square lacks a declared head or row.
        """
        kept = self.suffixes(name, tokens)
        entries = math.prod(shape) if "" in kept else 0
        if PICKED in kept:
            pick = self.pick or Pick.default(*shape[:2])
            pick.require_in(shape, name)
            entries += len(pick.heads) * len(pick.rows) * tokens
        return 4 * entries + (8 * len(FIGURES) if STATISTICS in kept else 0)


def meets(stored: StoredCase, keeping: Keeping) -> bool:
    """Whether a stored case holds what is wished for; a whole array meets any wish."""
    names, tokens = stored.names, len(stored.case.token_ids)
    if stored.pick is not None and keeping.pick not in (None, stored.pick):
        return False
    checkpoints = {stands_for(name)[0] for name in names}
    return all(
        name in names or all(name + s in names for s in keeping.suffixes(name, tokens))
        for name in checkpoints
    )


class CaseKeeping:
    """The wish for a case of so many tokens, and what is stored of it already, which stays."""

    def __init__(self, keeping: Keeping, tokens: int, stored: StoredCase | None) -> None:
        self._keeping, self._tokens = keeping, tokens
        self._names = stored.names if stored else frozenset[str]()
        self._declared = keeping.pick or (stored.pick if stored else None)
        self.pick: Pick | None = None

    def kept(self, name: str, values: NDArray[Any]) -> Iterator[tuple[str, NDArray[Any]]]:
        """The arrays to store for one observation, by name.

        Raises:
            UsageError: a square lacks a declared head or row.
        """
        held = {suffix for suffix in ("", STATISTICS, PICKED) if name + suffix in self._names}
        suffixes = held | self._keeping.suffixes(name, self._tokens)
        if "" in suffixes:
            yield name, values
        if STATISTICS in suffixes:
            yield name + STATISTICS, statistics_of(values)
        if PICKED in suffixes:
            yield name + PICKED, self._pick_of(name, values).of(values)

    def _pick_of(self, name: str, square: NDArray[Any]) -> Pick:
        pick = self._declared or Pick.default(*square.shape[:2])
        pick.require_in(square.shape, name)
        self.pick = pick
        return pick


def _is_square(name: str) -> bool:
    return name.rpartition(".")[2] in SQUARES
