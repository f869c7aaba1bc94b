"""The byte tables of SLM2: one description that both the writer and the reader use.

Offsets are those of docs/formats/slm2.md. A gap between fields is reserved and must be zero.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any, Final

MAGIC: Final = b"SLM2"
ABI_MAJOR: Final = 2
ABI_MINOR: Final = 0
HEADER_LEN: Final = 256
TENSOR_DESC_SIZE: Final = 128
NO_ALIAS: Final = 0xFFFFFFFF
PIECE_SIZE: Final = 1 << 20
TABLE_ALIGN: Final = 16
PAYLOAD_ALIGN: Final = 64
BODY_ALIGN: Final = 4096
MAX_RANK: Final = 6
#: Names of a file and bytes of its configuration: bounds of what a reader takes apart in memory.
MAX_STRINGS: Final = 1 << 15
MAX_CONFIG_LEN: Final = 1 << 17
#: Bytes that read as zero in the self hash: the hash itself, the Merkle root, the old checksum.
SELF_HASH_BLANK: Final = (136, 208)


@dataclass(frozen=True)
class Field:
    """A named field at a byte offset; `code` is a struct code such as `Q`, `32s` or `6I`."""

    offset: int
    code: str
    name: str

    @property
    def size(self) -> int:
        """Bytes."""
        return struct.calcsize("<" + self.code)


class ByteTable:
    """A fixed-size little-endian record, packed by offsets instead of by order of declaration."""

    def __init__(self, size: int, *fields: Field) -> None:
        self.size = size
        self.fields = {f.name: f for f in fields}
        self.reserved: list[tuple[int, int]] = []
        code, at = "<", 0
        for f in [*fields, Field(size, "0s", "")]:
            if f.offset < at:
                raise ValueError(f"field {f.name} at {f.offset} overlaps the one before it")
            if f.offset > at:
                self.reserved.append((at, f.offset))
                code += f"{f.offset - at}x"
            code, at = code + (f.code if f.name else ""), f.offset + f.size
        self._struct = struct.Struct(code)

    def pack(self, values: dict[str, Any]) -> bytes:
        """The record's bytes; `values` has every field, arrays as tuples."""
        flat: list[Any] = []
        for name in self.fields:
            value = values[name]
            flat += value if isinstance(value, tuple) else [value]
        return self._struct.pack(*flat)

    def unpack(self, view: memoryview, base: int) -> dict[str, Any]:
        """The fields at `base`; the caller has checked that `size` bytes are there."""
        flat = iter(self._struct.unpack_from(view, base))
        row: dict[str, Any] = {}
        for f in self.fields.values():
            count = int(f.code[:-1]) if f.code[:-1] and f.code[-1] != "s" else 0
            row[f.name] = tuple(next(flat) for _ in range(count)) if count else next(flat)
        return row

    def offset(self, name: str) -> int:
        """Byte offset of a field inside the record."""
        return self.fields[name].offset


HEADER: Final = ByteTable(
    HEADER_LEN,
    Field(0, "4s", "magic"),
    Field(4, "H", "abi_major"),
    Field(6, "H", "abi_minor"),
    Field(8, "I", "header_len"),
    Field(16, "Q", "flags"),
    Field(24, "I", "vocab"),
    Field(28, "I", "layers"),
    Field(32, "I", "heads"),
    Field(36, "I", "kv_heads"),
    Field(40, "I", "head_dim"),
    Field(44, "I", "ffn"),
    Field(48, "I", "max_context_declared"),
    Field(52, "I", "rope_theta_bits"),
    Field(56, "I", "rms_eps_bits"),
    Field(60, "I", "hidden"),
    Field(64, "Q", "tensor_dir_off"),
    Field(72, "I", "tensor_count"),
    Field(76, "H", "tensor_desc_size"),
    Field(80, "Q", "piece_table_off"),
    Field(88, "I", "piece_count"),
    Field(92, "I", "string_table_len"),
    Field(96, "Q", "shard_table_off"),
    Field(104, "I", "shard_count"),
    Field(108, "I", "config_len"),
    Field(112, "Q", "tokenizer_off"),
    Field(120, "Q", "tokenizer_len"),
    Field(128, "Q", "artifact_len"),
    Field(136, "32s", "self_sha256"),
    Field(168, "32s", "merkle_root_sha256"),
    Field(200, "Q", "legacy_checksum64"),
    Field(208, "Q", "string_table_off"),
    Field(216, "Q", "config_off"),
    Field(224, "Q", "body_off"),
)

TENSOR_DESC: Final = ByteTable(
    TENSOR_DESC_SIZE,
    Field(0, "I", "name_id"),
    Field(4, "H", "role"),
    Field(6, "H", "dtype"),
    Field(8, "H", "layout"),
    Field(10, "H", "scale_encoding"),
    Field(12, "I", "flags"),
    Field(16, "B", "rank"),
    Field(17, "B", "dim_count"),
    Field(20, "6I", "dims"),
    Field(48, "Q", "logical_nbytes"),
    Field(56, "Q", "data_off"),
    Field(64, "Q", "data_len"),
    Field(72, "Q", "aux_off"),
    Field(80, "I", "aux_len"),
    Field(84, "I", "alias_of"),
    Field(88, "I", "first_piece"),
    Field(92, "I", "piece_count"),
    Field(96, "16s", "sha256_trunc128"),
    Field(112, "I", "row_stride"),
)

PIECE_DESC: Final = ByteTable(
    56,
    Field(0, "I", "piece_index"),
    Field(4, "I", "shard_index"),
    Field(8, "Q", "file_off"),
    Field(16, "I", "stored_len"),
    Field(20, "I", "logical_len"),
    Field(24, "32s", "sha256"),
)

SHARD_DESC: Final = ByteTable(
    52,
    Field(0, "I", "shard_index"),
    Field(4, "H", "kind"),
    Field(6, "H", "codec"),
    Field(8, "I", "artifact_family"),
    Field(12, "Q", "shard_len"),
    Field(20, "32s", "shard_sha256"),
)

RESIDUAL: Final = ByteTable(
    40,
    Field(0, "H", "format"),
    Field(2, "H", "value_dtype"),
    Field(4, "I", "rows"),
    Field(8, "I", "cols"),
    Field(12, "I", "nnz"),
    Field(16, "Q", "row_ptr_off"),
    Field(24, "Q", "col_idx_off"),
    Field(32, "Q", "values_off"),
)

STRING_COUNT: Final = struct.Struct("<I")
STRING_SPAN: Final = struct.Struct("<II")


def aligned(offset: int, alignment: int) -> int:
    """The first multiple of `alignment` that is not below `offset`."""
    return -(-offset // alignment) * alignment
