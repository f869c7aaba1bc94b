"""BTOK: 256 bytes and four special ids, in 28 bytes.

Source of facts: the public layout of SLM1.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass

from trlm_lab.errors import BtokError, TokenIdError
from trlm_lab.text.slm1.specials import VERSION, Specials

MAGIC = b"BTOK"
VOCAB = 260
_LAYOUT = struct.Struct("<4s6I")
#: The order of the header.
PLAIN = Specials(256, 257, 258, 259)
_NAMES = ("bos", "eos", "pad", "unk")


@dataclass(frozen=True)
class Btok:
    """Ids 0 to 255 are bytes, 256 to 259 the special ids in any order."""

    specials: Specials = PLAIN

    def encode(self, data: bytes) -> list[int]:
        """BOS, the bytes, EOS."""
        return [self.specials.bos, *data, self.specials.eos]

    def decode(self, ids: Iterable[int]) -> bytes:
        """The bytes; special ids stand for none.

        Raises:
            TokenIdError: an id beyond the vocabulary.
        """
        out = bytearray()
        for index, number in enumerate(ids):
            if not 0 <= number < VOCAB:
                raise TokenIdError(got=number, index=index)
            if number < 256:
                out.append(number)
        return bytes(out)


def read_btok(data: bytes | memoryview) -> Btok:
    """The tokenizer of a section.

    Raises:
        BtokError: the first field that breaks a rule.
    """
    if len(data) != _LAYOUT.size:
        raise BtokError(where="byte 0", field="length", got=len(data), expected=_LAYOUT.size)
    magic, version, vocab, *numbers = _LAYOUT.unpack(data)
    fixed = (("magic", magic, MAGIC), ("version", version, VERSION), ("vocab", vocab, VOCAB))
    for index, (field, got, expected) in enumerate(fixed):
        if got != expected:
            raise BtokError(where=f"byte {4 * index}", field=field, got=got, expected=expected)
    for index, number in enumerate(numbers):
        if not 256 <= number < VOCAB or number in numbers[:index]:
            field, at = _NAMES[index], 12 + 4 * index
            expected = "an id of its own from 256 to 259"
            raise BtokError(where=f"byte {at}", field=field, got=number, expected=expected)
    return Btok(Specials(*numbers))


def write_btok(tokenizer: Btok) -> bytes:
    """Its 28 bytes.

    Raises:
        BtokError: special ids that the format has no room for.
    """
    try:
        data = _LAYOUT.pack(MAGIC, VERSION, VOCAB, *tokenizer.specials)
    except struct.error as error:
        expected = "ids from 256 to 259"
        got = tuple(tokenizer.specials)
        raise BtokError(where="byte 12", field="specials", got=got, expected=expected) from error
    read_btok(data)
    return data
