"""BPE1: tokens of bytes with ranked merges, found without scanning a text again and again.

Source of facts: the public layout of SLM1. What it leaves open is decided in
docs/formats/slm1-tokenizers.md.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NoReturn

from trlm_lab.errors import Bpe1Error, TokenIdError
from trlm_lab.text.models.merging import Merges, merged
from trlm_lab.text.slm1.specials import VERSION, Specials

MAGIC = b"BPE1"
MAX_VOCAB = 1 << 24
_HEADER = struct.Struct("<4s8I")
_TOKEN = struct.Struct("<II")
_MERGE = struct.Struct("<4I")
_NAMES = ("bos", "eos", "pad", "unk")


@dataclass(frozen=True)
class Bpe1:
    """Bytes by id, and merges: a pair of ids -> rank and the id that it makes."""

    vocab: int
    specials: Specials
    tokens: Mapping[int, bytes]
    merges: Merges

    def encode(self, data: bytes) -> list[int]:
        """BOS, the ids, EOS: bytes first, then merges by rank, then from the left.

        A byte that is no token is UNK, and no merge goes over it.
        """
        symbols = [(self._bytes.get(byte, self.specials.unk), 1) for byte in data]
        ids = [number for number, _ in merged(symbols, self.merges)]
        return [self.specials.bos, *ids, self.specials.eos]

    def decode(self, ids: Iterable[int]) -> bytes:
        """The bytes; a special id stands for none, whatever its record says.

        Raises:
            TokenIdError: an id without token.
        """
        out = bytearray()
        for index, number in enumerate(ids):
            if number in self.specials:
                continue
            if number not in self.tokens:
                raise TokenIdError(got=number, index=index)
            out += self.tokens[number]
        return bytes(out)

    @cached_property
    def _bytes(self) -> dict[int, int]:
        plain = (row for row in self.tokens.items() if row[0] not in self.specials)
        return {token[0]: number for number, token in plain if len(token) == 1}


def _fail(at: int, field: str, got: object, expected: object) -> NoReturn:
    raise Bpe1Error(where=f"byte {at}", field=field, got=got, expected=expected)


def read_bpe1(data: bytes | memoryview) -> Bpe1:
    """The tokenizer of a section.

    Raises:
        Bpe1Error: the first field that breaks a rule; nothing is allocated by a declared number.
    """
    view = memoryview(data)
    if len(view) < _HEADER.size:
        _fail(0, "length", len(view), f"at least {_HEADER.size}")
    magic, version, vocab, *specials, token_count, merge_count = _HEADER.unpack_from(view)
    if magic != MAGIC:
        _fail(0, "magic", magic, MAGIC)
    if version != VERSION:
        _fail(4, "version", version, VERSION)
    if not 1 <= vocab <= MAX_VOCAB:
        _fail(8, "vocab", vocab, f"1 to {MAX_VOCAB}")
    for index, number in enumerate(specials):
        if number >= vocab or number in specials[:index]:
            _fail(12 + 4 * index, _NAMES[index], number, f"an id of its own below {vocab}")
    if token_count > vocab:
        _fail(28, "token_count", token_count, f"at most {vocab}")
    if merge_count * _MERGE.size + token_count * _TOKEN.size > len(view):
        _fail(32, "merge_count", merge_count, "records that the section holds")
    tokens, at = _read_tokens(view, token_count, vocab)
    if len(view) - at != merge_count * _MERGE.size:
        _fail(at, "length of the merges", len(view) - at, merge_count * _MERGE.size)
    merges = _read_merges(view, at, merge_count, tokens, Specials(*specials))
    return Bpe1(vocab, Specials(*specials), tokens, merges)


def _read_tokens(view: memoryview, count: int, vocab: int) -> tuple[dict[int, bytes], int]:
    """Tokens by id, and where the merges begin."""
    out: dict[int, bytes] = {}
    seen: set[bytes] = set()
    at, before = _HEADER.size, -1
    for _ in range(count):
        if at + _TOKEN.size > len(view):
            _fail(at, "a token record", len(view) - at, f"{_TOKEN.size} bytes")
        number, length = _TOKEN.unpack_from(view, at)
        if not before < number < vocab:
            _fail(at, "an id", number, f"{before + 1} to {vocab - 1}")
        if not 1 <= length <= len(view) - at - _TOKEN.size:
            left = len(view) - at - _TOKEN.size
            _fail(at + 4, "a length", length, f"1 to {left}")
        start = at + _TOKEN.size
        token = bytes(view[start : start + length])
        if token in seen:
            _fail(start, "a token", repr(token[:20]), "bytes that no token has yet")
        seen.add(token)
        out[number] = token
        before, at = number, start + length
    return out, at


def _read_merges(
    view: memoryview, at: int, count: int, tokens: dict[int, bytes], specials: Specials
) -> Merges:
    out: Merges = {}
    for rank in range(count):
        place = at + _MERGE.size * rank
        left, right, made, stored = _MERGE.unpack_from(view, place)
        for index, number in enumerate((left, right, made)):
            if number not in tokens or number in specials:
                _fail(place + 4 * index, "an id", number, "that of a token that is not special")
        if tokens[left] + tokens[right] != tokens[made]:
            _fail(place + 8, "an output", made, "the bytes of left and right")
        if stored != rank:
            _fail(place + 12, "a rank", stored, rank)
        if (left, right) in out:
            _fail(place, "a pair", (left, right), "one that no merge has yet")
        out[left, right] = (rank, made)
    return out


def write_bpe1(tokenizer: Bpe1) -> bytes:
    """The section: tokens by id, merges by rank.

    Raises:
        Bpe1Error: a tokenizer that the format has no room for.
    """
    try:
        data = b"".join(_records(tokenizer))
    except struct.error as error:
        raise Bpe1Error(
            where="byte 0", field="a number", got=str(error), expected="32 bits"
        ) from error
    read_bpe1(data)
    return data


def _records(tokenizer: Bpe1) -> Iterator[bytes]:
    counts = (len(tokenizer.tokens), len(tokenizer.merges))
    yield _HEADER.pack(MAGIC, VERSION, tokenizer.vocab, *tokenizer.specials, *counts)
    for number in sorted(tokenizer.tokens):
        token = tokenizer.tokens[number]
        yield _TOKEN.pack(number, len(token)) + token
    ranked = sorted((rank, pair, made) for pair, (rank, made) in tokenizer.merges.items())
    for rank, (left, right), made in ranked:
        yield _MERGE.pack(left, right, made, rank)
