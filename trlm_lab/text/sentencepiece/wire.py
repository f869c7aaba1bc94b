"""Protocol buffers on the wire, read strictly: every length is checked, groups are refused.

Source of facts: the published encoding of protocol buffers (varints, fixed and delimited fields).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from trlm_lab.errors import SentencePieceFileError

VARINT, FIXED64, DELIMITED, FIXED32 = 0, 1, 2, 5
KINDS = {VARINT: "a varint", FIXED64: "8 bytes", DELIMITED: "a length", FIXED32: "4 bytes"}
_LONGEST_VARINT = 10
_SIZES = {FIXED64: 8, FIXED32: 4}


class Field(NamedTuple):
    """A field: its number, wire type and place in the file; `value` is a number or bytes."""

    number: int
    wire: int
    at: int
    value: int | bytes


def fields(data: bytes, base: int = 0) -> Iterator[Field]:
    """The fields of a message, in order; `base` is where the message begins in the file.

    Raises:
        SentencePieceFileError: a field passes the end, is a group, or has the number 0.
    """
    at = 0
    while at < len(data):
        start = base + at
        tag, at = _varint(data, at, base)
        number, wire = tag >> 3, tag & 7
        if not 0 < number < 1 << 29 or wire not in KINDS:
            raise broken(start, f"field {number} of the wire type {wire}")
        if wire == VARINT:
            value, at = _varint(data, at, base)
            yield Field(number, wire, start, value)
            continue
        size = _SIZES.get(wire, 0)
        if wire == DELIMITED:
            size, at = _varint(data, at, base)
        if size > len(data) - at:
            raise broken(start, f"field {number} of {size} bytes, {len(data) - at} are left")
        yield Field(number, wire, base + at, data[at : at + size])
        at += size


def _varint(data: bytes, at: int, base: int) -> tuple[int, int]:
    value = 0
    for index in range(_LONGEST_VARINT):
        if at + index >= len(data):
            raise broken(base + at, "a number passes the end")
        byte = data[at + index]
        value |= (byte & 0x7F) << 7 * index
        if byte < 0x80:
            if value >> 64:
                break
            return value, at + index + 1
    raise broken(base + at, "a number of more than 64 bits")


def signed32(value: int) -> int:
    """A varint as the 32-bit number that its low bits are."""
    low = value & 0xFFFFFFFF
    return low - (1 << 32) if low >> 31 else low


def float32(value: bytes) -> float:
    """Four bytes as a number."""
    number: float = struct.unpack("<f", value)[0]
    return number


def broken(at: int, detail: str) -> SentencePieceFileError:
    """The refusal of what stands at a byte."""
    return SentencePieceFileError(where=f"byte {at}", index=at, detail=detail)
