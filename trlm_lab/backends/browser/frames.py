"""Frames of observations as the page sends them, checked and put together again.

A frame is a 32-bit little-endian header length, a JSON header, then raw bytes. The header lists
parts `{name, dtype, shape, sha256, start, stop}`: bytes [start, stop) of one array. The parts of an
array come in order, arrays come one after another. Nothing is allocated before it is checked.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trlm_lab.base import canon, strict_json
from trlm_lab.base.records import ArrayDigest, Observation
from trlm_lab.errors import FrameError, RecordError, TransferCorruptError, TrlmError

#: The page sends at most 16 MiB of arrays in a frame; the rest is room for the header.
FRAME_LIMIT = 17 * 1024 * 1024
ARRAY_LIMIT = 4 * 1024**3
_ITEM_SIZE = {"float32": 4, "int64": 8}
_PART_KEYS = {"name", "dtype", "shape", "sha256", "start", "stop"}


@dataclass(frozen=True)
class Part:
    """Bytes [start, stop) of the array that `digest` describes."""

    digest: ArrayDigest
    start: int
    stop: int
    data: memoryview

    @property
    def array_bytes(self) -> int:
        """Size of the whole array."""
        return _ITEM_SIZE[self.digest.dtype] * math.prod(self.digest.shape)


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value <= ARRAY_LIMIT


def digest_from_row(row: Any) -> ArrayDigest:
    """The digest of an array from the page's row about it. Raises FrameError."""
    if not isinstance(row, dict) or not isinstance(row.get("name"), str):
        raise FrameError(where="row", detail="a row without a name")
    name, shape = row["name"], row.get("shape")
    dtype = row.get("dtype")
    if not isinstance(dtype, str) or dtype not in _ITEM_SIZE:
        raise FrameError(where=name, detail=f"dtype {dtype!r}")
    if not isinstance(shape, list) or not 0 < len(shape) <= 8 or not all(map(_is_count, shape)):
        raise FrameError(where=name, detail=f"shape {shape!r}")
    try:
        return ArrayDigest(name, dtype, tuple(shape), row.get("sha256", ""))
    except RecordError as error:
        raise FrameError(where=name, detail=error.detail) from error


def _part(row: Any, payload: memoryview) -> Part:
    digest = digest_from_row(row)
    if set(row) != _PART_KEYS or not (_is_count(row["start"]) and _is_count(row["stop"])):
        raise FrameError(where=digest.name, detail=f"fields {sorted(row)}, or their values")
    part = Part(digest, row["start"], row["stop"], payload[: row["stop"] - row["start"]])
    size = part.array_bytes
    if (
        not part.start < part.stop <= size <= ARRAY_LIMIT
        or len(part.data) != part.stop - part.start
    ):
        detail = f"bytes {part.start} to {part.stop} of {size}, {len(part.data)} at hand"
        raise FrameError(where=digest.name, detail=detail)
    return part


def read_parts(frame: bytearray) -> list[Part]:
    """The parts of a frame, views of its bytes. Raises FrameError."""
    view = memoryview(frame)
    length = int.from_bytes(view[:4], "little")
    if len(view) < 4 + length:
        raise FrameError(where="header", detail=f"{len(view)} bytes, header of {length}")
    try:
        rows = strict_json.loads(bytes(view[4 : 4 + length]))["parts"]
    except TrlmError as error:
        raise FrameError(where="header", detail=error.detail) from error
    except (KeyError, TypeError) as error:
        raise FrameError(where="header", detail=f"{type(error).__name__}: {error}") from error
    if not isinstance(rows, list):
        raise FrameError(where="header", detail="parts is no list")
    parts: list[Part] = []
    payload = view[4 + length :]
    for row in rows:
        parts.append(_part(row, payload))
        payload = payload[len(parts[-1].data) :]
    if payload:
        raise FrameError(where="payload", detail=f"{len(payload)} bytes that no part covers")
    return parts


class Assembler:
    """Turns the frames of one run into observations, each checked against the worker's hash."""

    def __init__(self) -> None:
        self.digests: list[ArrayDigest] = []
        self._open: ArrayDigest | None = None
        self._filled = 0
        self._buffer: NDArray[np.uint8] = np.empty(0, np.uint8)

    def feed(self, frame: bytearray) -> Iterator[Observation]:
        """The observations that this frame completes.

        Raises:
            FrameError: malformed, or parts out of order.
            TransferCorruptError: the received bytes hash to something else.
        """
        for part in read_parts(frame):
            self._place(part)
            if self._filled == part.array_bytes:
                yield self._complete(part.digest)

    def _place(self, part: Part) -> None:
        if self._open is None:
            self._open, self._filled = part.digest, 0
            # A gap below refuses the part; np.empty costs no memory until it is written.
            self._buffer = np.empty(part.array_bytes, np.uint8)
        if part.digest != self._open or part.start != self._filled:
            detail = f"bytes from {part.start} follow {self._filled} of {self._open.name}"
            raise FrameError(where=part.digest.name, detail=detail)
        self._buffer[part.start : part.stop] = np.frombuffer(part.data, np.uint8)
        self._filled = part.stop

    def _complete(self, digest: ArrayDigest) -> Observation:
        values = self._buffer.view(np.dtype(digest.dtype).newbyteorder("<")).reshape(digest.shape)
        got = canon.array_sha256(values)
        if got != digest.sha256:
            raise TransferCorruptError(where=digest.name, got=got, expected=digest.sha256)
        self.digests.append(digest)
        self._open = None
        return Observation(digest.name, values)

    def finish(self, announced: list[ArrayDigest]) -> None:
        """Check that all that the worker says it computed has come. Raises FrameError."""
        if self._open is not None:
            raise FrameError(where=self._open.name, detail="the rest of the array is missing")
        if self.digests != announced:
            detail = f"{len(self.digests)} arrays came, the worker computed {len(announced)} others"
            raise FrameError(where="run", detail=detail)
