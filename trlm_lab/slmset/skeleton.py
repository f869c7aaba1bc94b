"""The structure of a set's single file, judged without the file: its payloads are left out.

The front matter says where the payloads lie; everything else of the body (padding, residuals with
their headers) is written into a sparse temporary file of the single file's length, which the reader
then opens. Payloads are zeros there, which no rule of the structure looks at.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from typing import BinaryIO

import numpy as np

from trlm_lab.errors import SlmError
from trlm_lab.slm.layout import HEADER, TENSOR_DESC
from trlm_lab.slm.numbers import Layout
from trlm_lab.slm.read import open_slm

Span = tuple[int, int]


def payload_spans(front: bytes, size: int) -> list[Span]:
    """Where dense tensors say that their data and scales lie in the body; merged and ascending."""
    view, header = memoryview(front), HEADER.unpack(memoryview(front), 0)
    start, count = header["tensor_dir_off"], header["tensor_count"]
    found: list[Span] = []
    for at in range(start, min(start + count * TENSOR_DESC.size, len(front)), TENSOR_DESC.size):
        if at + TENSOR_DESC.size > len(front):
            break
        row = TENSOR_DESC.unpack(view, at)
        if row["layout"] == Layout.dense:
            spans = ((row["data_off"], row["data_len"]), (row["aux_off"], row["aux_len"]))
            found += [(max(low, len(front)), min(low + n, size)) for low, n in spans]
    merged: list[Span] = []
    for low, high in sorted(span for span in found if span[0] < span[1]):
        if merged and low <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(high, merged[-1][1])
        else:
            merged.append((low, high))
    return merged


class Skeleton:
    """Takes the pieces of a set in order, then says what is wrong with the file they make."""

    def __init__(self, front: bytes, size: int, where: str) -> None:
        self._spans, self._next = payload_spans(front, size), 0
        self._at, self._where = len(front), where
        self._stream: BinaryIO = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `__exit__`
        self._stream.truncate(size)
        self._stream.write(front)

    def __enter__(self) -> Skeleton:
        return self

    def __exit__(self, *error: object) -> None:
        self._stream.close()

    def add(self, data: bytes) -> None:
        """The next piece."""
        for low, high in self._rest(self._at, self._at + len(data)):
            self._stream.seek(low)
            self._stream.write(data[low - self._at : high - self._at])
        self._at += len(data)

    def _rest(self, low: int, end: int) -> Iterator[Span]:
        """What of `low` to `end` is no payload. Called with ascending ranges."""
        while self._next < len(self._spans) and self._spans[self._next][0] < end:
            start, stop = self._spans[self._next]
            if low < start:
                yield low, start
            low = max(low, stop)
            if stop > end:
                return
            self._next += 1
        if low < end:
            yield low, end

    def fault(self) -> SlmError | None:
        """The first rule of SLM2's structure that is broken."""
        self._stream.flush()
        view = np.memmap(self._stream, dtype=np.uint8, mode="r").data
        try:
            open_slm(view, where=self._where)
        except SlmError as error:
            return error
        return None
