"""Sorted tokens in blocks of sixteen, each written as what it does not share with the one before.

The first token of a block stands whole, so that one is found by its position without the others.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trlm_lab.text.tok2.hashing import Numbers
from trlm_lab.text.tok2.numbers import BLOCK, MAX_TOKEN_BYTES, MAX_VOCABULARY_BYTES


class CodingError(ValueError):
    """What is wrong at a byte of the coded tokens."""

    def __init__(self, at: int, field: str, got: object, expected: object) -> None:
        super().__init__(field)
        self.at, self.field, self.got, self.expected = at, field, got, expected


def coded(tokens: Sequence[bytes]) -> tuple[Numbers, bytes]:
    """Where each block begins (and the last one ends), and the blocks."""
    out = bytearray()
    starts = []
    for position, token in enumerate(tokens):
        shared = 0
        if position % BLOCK == 0:
            starts.append(len(out))
        else:
            shared = _shared(tokens[position - 1], token)
            out += _varint(shared)
        out += _varint(len(token) - shared) + token[shared:]
    return np.array([*starts, len(out)], np.uint32), bytes(out)


def decoded(count: int, starts: Sequence[int], data: bytes) -> list[bytes]:
    """The tokens of strictly coded blocks.

    Raises:
        CodingError: not in the one form, or not in ascending order; `at` counts within `data`.
    """
    tokens: list[bytes] = []
    at, before, total = 0, b"", 0
    for position in range(count):
        first = position % BLOCK == 0
        if first and starts[position // BLOCK] != at:
            raise CodingError(at, "a block", at, f"at {starts[position // BLOCK]}")
        begin = at
        shared, at = (0, at) if first else _read_varint(data, at)
        if shared > len(before):
            raise CodingError(begin, "the shared length", shared, f"at most {len(before)}")
        rest, at = _read_varint(data, at)
        if shared + rest > MAX_TOKEN_BYTES or at + rest > len(data):
            raise CodingError(begin, "the length of a token", rest, "a token inside the section")
        token = before[:shared] + data[at : at + rest]
        if position:
            _require_order(token, before, 0 if first else shared, begin, whole=first)
        at, total = at + rest, total + len(token)
        if total > MAX_VOCABULARY_BYTES:
            raise CodingError(begin, "the tokens so far", total, f"at most {MAX_VOCABULARY_BYTES}")
        tokens.append(token)
        before = token
    if at != len(data):
        raise CodingError(at, "the last block", at, f"an end at {len(data)}")
    return tokens


def _require_order(token: bytes, before: bytes, shared: int, at: int, *, whole: bool) -> None:
    if token <= before:
        raise CodingError(at, "a token", repr(token[:20]), "one behind the token before it")
    if not whole and shared < len(before) and token[shared] == before[shared]:
        raise CodingError(at, "the shared length", shared, "all bytes in common")


def _shared(before: bytes, token: bytes) -> int:
    both = min(len(before), len(token))
    return next((i for i in range(both) if before[i] != token[i]), both)


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    number = 0
    for index in range(3):
        if at + index >= len(data):
            break
        byte = data[at + index]
        number |= (byte & 0x7F) << 7 * index
        if byte < 0x80:
            if index and not byte:
                break
            return number, at + index + 1
    raise CodingError(at, "a varint", data[at : at + 3].hex(), "the shortest form of a length")
