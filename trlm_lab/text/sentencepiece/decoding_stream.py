"""Decoding of SentencePiece models token by token."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from typing import Protocol, Self

from trlm_lab.text.streams import KEPT, Fragment, Whole, scalars


class Run(Protocol):
    """Pieces on their way to bytes; the last part may still grow while bytes follow bytes."""

    parts: list[bytes]

    def take(self, text: str, kind: int) -> None:
        """One piece."""

    @property
    def in_bytes(self) -> bool:
        """Whether the last part may grow."""


class PieceStream(Whole):
    """Parts as soon as they are whole; with every byte kept, bytes as soon as they are there.

    `shown` makes a text of a part; without it the bytes are kept.
    """

    def __init__(
        self, run: Run, kind_of: Callable[[str], int], shown: Callable[[bytes], str] | None
    ) -> None:
        super().__init__()
        self._run, self._kind_of, self._shown = run, kind_of, shown
        self._bytes = b""

    def fork(self) -> Self:
        """The same state, its run too."""
        other = super().fork()
        other._run = copy.copy(self._run)
        other._run.parts = list(self._run.parts)
        return other

    def one(self, text: str) -> Iterable[Fragment]:
        """What is certain after one more piece."""
        run = self._run
        run.take(text, self._kind_of(text))
        if self._shown is None:
            # An empty part is what more bytes go on with.
            data, run.parts = b"".join(run.parts), [b""]
            found, self._bytes = scalars(self._bytes + data, KEPT)
            return ((found, False),)
        at = len(run.parts) - run.in_bytes
        done, run.parts = run.parts[:at], run.parts[at:]
        return (("".join(map(self._shown, done)), False),)

    def finish(self) -> Iterable[Fragment]:
        """The rest."""
        if self._shown is None:
            return ((self._bytes.decode("utf-8", KEPT), True),)
        return (("".join(map(self._shown, self._run.parts)), True),)
