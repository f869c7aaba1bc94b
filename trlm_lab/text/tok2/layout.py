"""Header and section directory of TOK2 as structures."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from trlm_lab.text.tok2.numbers import SECTIONS

_HEADER = struct.Struct("<4sHH12I32s32s8s")
_ROW = struct.Struct("<IIII")
HEADER_LEN = _HEADER.size
DIRECTORY_END = HEADER_LEN + len(SECTIONS) * _ROW.size
#: Where the hash of the block stands; these bytes are zero while it is made.
SELF_HASH = slice(56, 88)
TEMPLATE_HASH = slice(88, 120)


@dataclass(frozen=True)
class Header:
    """The fields in the order of their bytes."""

    magic: bytes
    major: int
    minor: int
    header_len: int
    flags: int
    file_len: int
    section_count: int
    section_dir_off: int
    model_kind: int
    token_count: int
    id_limit: int
    merge_count: int
    added_count: int
    block_size: int
    profile: int
    self_sha256: bytes
    template_sha256: bytes
    reserved: bytes

    @classmethod
    def unpack(cls, view: bytes | memoryview) -> Header:
        """From the first 128 bytes."""
        return cls(*_HEADER.unpack_from(view))

    def pack(self) -> bytes:
        """Its 128 bytes."""
        return _HEADER.pack(*(getattr(self, name) for name in self.__dataclass_fields__))


#: Byte offset of each field that an error may name.
OFFSETS = {
    "magic": 0, "major": 4, "minor": 6,
    **{
        name: 8 + 4 * index
        for index, name in enumerate(list(Header.__dataclass_fields__)[3:15])
    },
    "self_sha256": 56, "template_sha256": 88, "reserved": 120,
}  # fmt: skip


def rows(view: bytes | memoryview) -> list[tuple[int, int, int, int]]:
    """Kind, offset, length and reserved number of each section."""
    return list(_ROW.iter_unpack(view[HEADER_LEN:DIRECTORY_END]))


def row(kind: int, offset: int, length: int) -> bytes:
    """A row of the directory."""
    return _ROW.pack(kind, offset, length, 0)


def aligned(offset: int) -> int:
    """The next place of a section."""
    return -(-offset // 16) * 16
