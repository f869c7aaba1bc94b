"""What `trlm_text_trace` wrote down of a text (docs/abi.md), as the records of the reference."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from trlm_lab.text import Encoding, Stage, StagePiece, Token

Rows = NDArray[np.uint32]
#: Parts of a trace in the order of their numbers, and numbers in a row of each; 0: UTF-8.
PARTS = (6, 5, 3, 0, 0)
_NO_ID = 0xFFFFFFFF


@dataclass(frozen=True)
class Trace:
    """Ids, and the five parts.

    Args:
        text: what was traced.
        ids: of all tokens, shape (N,).
        offsets: bytes of the text, shape (N, 2).
        parts: stages (S, 6), pieces (P, 5), tokens (N, 3), then two of UTF-8.
    """

    text: bytes
    ids: Rows
    offsets: Rows
    parts: Sequence[bytes]

    def encoding(self) -> Encoding:
        """The records, spans in scalars."""
        stages = tuple(self._stages())
        tokens = tuple(self._tokens(stages[-1]))
        return Encoding(self.text.decode(), self.parts[4].decode(), tokens, stages)

    def _tokens(self, last: Stage) -> Iterator[Token]:
        """The pieces of the last stage are the tokens as they are."""
        rows = self._rows(2)
        spans = _spans(self._given, self.offsets)
        normals = _spans(_scalars(self.parts[4]), rows[:, :2])
        columns = zip(self.ids.tolist(), last.pieces, spans, normals, rows[:, 2], strict=True)
        for number, piece, span, normal, inserted in columns:
            yield Token(number, piece.text, span, normal, bool(inserted))

    def _rows(self, part: int) -> Rows:
        return np.frombuffer(self.parts[part], "<u4").reshape(-1, PARTS[part])

    @cached_property
    def _given(self) -> Rows:
        return _scalars(self.text)

    def _stages(self) -> Iterator[Stage]:
        pieces = tuple(self._pieces())
        for a, b, c, d, first, count in self._rows(0).tolist():
            yield Stage(self._text(a, b), self._text(c, d), pieces[first : first + count])

    def _pieces(self) -> Iterator[StagePiece]:
        rows = self._rows(1)
        spans = _spans(self._given, rows[:, 2:4])
        for (start, end, *_, number), span in zip(rows.tolist(), spans, strict=True):
            yield StagePiece(self._text(start, end), span, None if number == _NO_ID else number)

    def _text(self, start: int, end: int) -> str:
        return self.parts[3][start:end].decode()


def _scalars(text: bytes) -> Rows:
    """For every place between two bytes, how many scalars begin before it."""
    begins = (np.frombuffer(text, np.uint8) & 0xC0) != 0x80
    return np.concatenate([[0], np.cumsum(begins)]).astype(np.uint32)


def _spans(scalars: Rows, spans: Rows) -> list[tuple[int, int]]:
    return [(start, end) for start, end in scalars[spans].tolist()]
