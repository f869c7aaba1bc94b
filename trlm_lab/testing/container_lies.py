"""Lies in the fields of a sound SLM2 file, one kind a rule or place; the caller seals them again.

Every lie is drawn from a seeded `random.Random`, so that a number names a file for good.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from random import Random
from typing import Any

from trlm_lab.base import canon
from trlm_lab.errors import NotCanonicalError
from trlm_lab.slm.layout import HEADER, PIECE_DESC, SHARD_DESC, TENSOR_DESC, ByteTable
from trlm_lab.slm.numbers import DType, Layout

EDGES = (0, 1, 2, 3, 7, 63, 64, 65, 127, 128, 255, 256, 4095, 4096, 1 << 16, 1 << 20,
         (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32, (1 << 63) - 1, 1 << 63,
         (1 << 64) - 4096, (1 << 64) - 64, (1 << 64) - 1)  # fmt: skip
STEPS = (-4096, -64, -16, -8, -2, -1, 1, 2, 8, 16, 64, 4096)
#: Scale words: negative, -0.0, subnormal, infinite, NaN, huge, zero.
WORDS = (0x8000, 0xBC00, 0x0001, 0x03FF, 0x7C00, 0x7E00, 0x7F7F, 0x7F80, 0xFFFF, 0x0000, 0x00FF)
Lie = Callable[["Liar"], None]


class NoPlaceError(Exception):
    """The file has nothing of the kind that a lie is about."""


class Liar:
    """A file being damaged; `out` are its bytes, `head` the header of the sound one."""

    def __init__(self, data: bytes, draw: Random) -> None:
        self.out, self.draw = bytearray(data), draw
        self.head = HEADER.unpack(memoryview(data), 0)
        self.rows = [
            TENSOR_DESC.unpack(memoryview(data), self.row_at(i))
            for i in range(self.head["tensor_count"])
        ]

    def row_at(self, index: int) -> int:
        """Where a descriptor stands."""
        return int(self.head["tensor_dir_off"]) + index * TENSOR_DESC.size

    def put(self, at: int, data: bytes) -> None:
        """Bytes over those that are there."""
        self.out[at : at + len(data)] = data

    def number(self, at: int, size: int, values: tuple[int, ...] = ()) -> None:
        """Another number: one of `values`, an edge, or the old one and a step."""
        old = int.from_bytes(self.out[at : at + size], "little")
        kind = self.draw.randrange(4)
        if values and kind:
            new = self.draw.choice(values)
        elif kind == 0:
            new = self.draw.choice(EDGES)
        elif kind == 1:
            new = self.draw.getrandbits(8 * size)
        else:
            new = old + self.draw.choice(STEPS)
        self.put(at, (new % (1 << 8 * size)).to_bytes(size, "little"))

    def field(self, table: ByteTable, start: int, *names: str) -> None:
        """Another number in one of the fields; of an array in one of its elements."""
        name = self.draw.choice(names or tuple(table.fields))
        field = table.fields[name]
        size = {"B": 1, "H": 2, "I": 4, "Q": 8}.get(field.code[-1], 1)
        places = range(0, field.size, size)
        self.number(start + field.offset + self.draw.choice(places), size)

    def pick(self, accept: Callable[[dict[str, Any]], bool] = lambda row: True) -> int:
        """Index of a descriptor that is accepted. Raises NoPlaceError where none is."""
        good = [i for i, row in enumerate(self.rows) if accept(row)]
        if not good:
            raise NoPlaceError
        return self.draw.choice(good)


def _of_layout(*layouts: Layout) -> Callable[[dict[str, Any]], bool]:
    return lambda row: row["layout"] in layouts


def _coded(row: dict[str, Any]) -> bool:
    return bool(row["dtype"] >= DType.q8_r128 and row["layout"] == Layout.dense)


def version(f: Liar) -> None:
    """Magic, versions and header length."""
    if f.draw.randrange(4) == 0:
        f.put(f.draw.randrange(4), bytes([f.draw.choice(b"SLM3GUF\0")]))
    else:
        f.field(HEADER, 0, "abi_major", "abi_minor", "header_len")


def length(f: Liar) -> None:
    """A file cut or prolonged, or one that says another length."""
    kind = f.draw.randrange(3)
    if kind == 0:
        f.field(HEADER, 0, "artifact_len")
    elif kind == 1:
        del f.out[f.draw.randrange(len(f.out)) :]
    else:
        f.out += bytes(f.draw.choice((1, 64, 4096)))


def header_flags(f: Liar) -> None:
    """Bits of the header's flags, also the optional ones, which nobody may mind."""
    f.put(16 + f.draw.randrange(8), bytes([1 << f.draw.randrange(8)]))


def tensor_flags(f: Liar) -> None:
    """Flags of a tensor, often `tied`, `optional` or the reserved one."""
    at = f.row_at(f.pick()) + TENSOR_DESC.offset("flags")
    f.number(at, 4, (0, 1, 2, 3, 4, 5, 6, 8))


def reserved(f: Liar) -> None:
    """A reserved byte of a table."""
    table, start = f.draw.choice(((HEADER, 0), (TENSOR_DESC, f.row_at(f.pick()))))
    low, high = f.draw.choice(table.reserved)
    f.put(start + f.draw.randrange(low, high), bytes([f.draw.randrange(1, 256)]))


def padding(f: Liar) -> None:
    """A byte between two sections or payloads."""
    gaps = [(low, high) for low, high in _gaps(f) if low < high]
    low, high = f.draw.choice(gaps)
    f.put(f.draw.randrange(low, high), bytes([f.draw.randrange(1, 256)]))


def _gaps(f: Liar) -> list[tuple[int, int]]:
    h = f.head
    spans = [
        (0, HEADER.size),
        (h["string_table_off"], h["string_table_len"]),
        (h["config_off"], h["config_len"]),
        (h["tensor_dir_off"], h["tensor_count"] * TENSOR_DESC.size),
        (h["tokenizer_off"], h["tokenizer_len"]),
        (h["piece_table_off"], h["piece_count"] * PIECE_DESC.size),
        (h["shard_table_off"], SHARD_DESC.size),
        (h["body_off"], 0),
    ]
    spans += [(r["data_off"], r["data_len"]) for r in f.rows if r["data_len"]]
    spans += [(r["aux_off"], r["aux_len"]) for r in f.rows if r["aux_len"]]
    spans.sort()
    return [(a + n, b) for (a, n), (b, _) in pairwise(spans)]


def section(f: Liar) -> None:
    """Offset, length or count of a section."""
    f.field(
        HEADER, 0, "tensor_dir_off", "tensor_count", "piece_table_off", "piece_count",
        "string_table_len", "shard_table_off", "shard_count", "config_len", "tokenizer_off",
        "tokenizer_len", "string_table_off", "config_off", "body_off",
    )  # fmt: skip


def misaligned(f: Liar) -> None:
    """An offset moved by less than its alignment."""
    if f.draw.randrange(2):
        names = ("tensor_dir_off", "piece_table_off", "shard_table_off", "body_off")
        at = HEADER.offset(f.draw.choice(names))
    else:
        row = f.pick(_of_layout(Layout.dense, Layout.sparse_residual))
        name = f.draw.choice(("data_off", "aux_off"))
        at = f.row_at(row) + TENSOR_DESC.offset(name)
    old = int.from_bytes(f.out[at : at + 8], "little")
    f.put(at, max(old + f.draw.choice((-8, -4, -1, 1, 4, 8, 16, 32)), 0).to_bytes(8, "little"))


def header_shape(f: Liar) -> None:
    """Descriptor size and old checksum."""
    f.field(HEADER, 0, "tensor_desc_size", "legacy_checksum64")


def strings(f: Liar) -> None:
    """Count, spans and letters of the string table."""
    start, size = f.head["string_table_off"], f.head["string_table_len"]
    count = int.from_bytes(f.out[start : start + 4], "little")
    kind = f.draw.randrange(6)
    if kind == 0:
        f.number(start, 4)
    elif kind < 3:
        f.number(start + 4 + 4 * f.draw.randrange(2 * count), 4)
    elif kind == 3:
        f.put(start + f.draw.randrange(4 + 8 * count, size), bytes([f.draw.randrange(256)]))
    elif kind == 4:
        one, other = (start + 4 + 8 * f.draw.randrange(count) for _ in range(2))
        f.put(one, bytes(f.out[other : other + 8]))
    else:
        one, other = (start + 4 + 8 * f.draw.randrange(count) for _ in range(2))
        _swap(f, one, other, 8)


def _swap(f: Liar, one: int, other: int, size: int) -> None:
    first, second = bytes(f.out[one : one + size]), bytes(f.out[other : other + size])
    f.put(one, second)
    f.put(other, first)


def config_byte(f: Liar) -> None:
    """A byte of the configuration, of any meaning."""
    at = f.head["config_off"] + f.draw.randrange(f.head["config_len"])
    f.put(at, bytes([f.draw.randrange(256)]))


def config_value(f: Liar) -> None:
    """Another value of a key, or another key, in canonical CBOR that fits in the place."""
    start, size = f.head["config_off"], f.head["config_len"]
    room = f.head["tensor_dir_off"] - start
    config = canon.decode(bytes(f.out[start : start + size]))
    key = f.draw.choice(sorted(config))
    values: tuple[Any, ...] = (
        None, True, False, 0, 1, -1, 2, 3, 7, 8, 16, 0.0, 1.0, 0.5, -1.0, 3.4e38, 1e300, "none",
        "pre", "silu", "", [], [1.0], ["full_attention"], {}, b"x", 1 << 31,
    )  # fmt: skip
    kind = f.draw.randrange(8)
    if kind == 0:
        del config[key]
    elif kind == 1:
        config[key + "x"] = config.pop(key)
    else:
        config[key] = f.draw.choice(values)
    encoded = canon.encode(config)
    if len(encoded) <= room:
        f.put(start, encoded + bytes(room - len(encoded)))
        f.put(HEADER.offset("config_len"), struct.pack("<I", len(encoded)))


def header_sizes(f: Liar) -> None:
    """A size of the header, which the configuration repeats; sometimes there, too."""
    f.field(
        HEADER, 0, "vocab", "layers", "heads", "kv_heads", "head_dim", "ffn",
        "max_context_declared", "rope_theta_bits", "rms_eps_bits", "hidden",
    )  # fmt: skip


def numbers(f: Liar) -> None:
    """A number of a table that the format does not define, or defines as something else."""
    name = f.draw.choice(("role", "dtype", "layout", "scale_encoding"))
    at = f.row_at(f.pick()) + TENSOR_DESC.offset(name)
    f.number(at, 2, (0, 1, 2, 3, 4, 5, 7, 8, 9, 27, 28, 29, 300))


def unsupported(f: Liar) -> None:
    """What 2.0 leaves to later versions."""
    at = f.row_at(f.pick())
    if f.draw.randrange(2):
        f.put(at + TENSOR_DESC.offset("layout"), b"\3\0")
    else:
        f.put(at + TENSOR_DESC.offset("flags"), bytes([4 | f.draw.randrange(8), 0, 0, 0]))


def tensor_shape(f: Liar) -> None:
    """Rank, dimensions, stride, lengths and pieces of a tensor."""
    f.field(
        TENSOR_DESC, f.row_at(f.pick()), "rank", "dim_count", "dims", "logical_nbytes", "data_len",
        "aux_len", "first_piece", "piece_count", "row_stride",
    )  # fmt: skip


def tensor_place(f: Liar) -> None:
    """Where data and scales of a tensor stand."""
    at = f.row_at(f.pick(_of_layout(Layout.dense, Layout.sparse_residual)))
    if f.draw.randrange(2):
        f.field(TENSOR_DESC, at, "data_off", "aux_off")
        return
    name, other = f.draw.choice(("data_off", "aux_off")), f.draw.choice(f.rows)
    places = (other["data_off"], other["aux_off"], f.head["body_off"], len(f.out))
    f.put(at + TENSOR_DESC.offset(name), struct.pack("<Q", f.draw.choice(places)))


def alias(f: Liar) -> None:
    """An alias or residual of something else, or with facts of its own."""
    at = f.row_at(f.pick(_of_layout(Layout.alias, Layout.sparse_residual)))
    if f.draw.randrange(2):
        indices = (*range(len(f.rows) + 1), 0xFFFFFFFF)
        f.number(at + TENSOR_DESC.offset("alias_of"), 4, indices)
    else:
        f.field(
            TENSOR_DESC, at, "dtype", "scale_encoding", "rank", "dims", "logical_nbytes",
            "data_off", "data_len", "aux_off", "aux_len", "first_piece", "piece_count",
            "row_stride", "layout", "alias_of",
        )  # fmt: skip


def names(f: Liar) -> None:
    """Which string names a tensor; two tensors of one name."""
    at = f.row_at(f.pick()) + TENSOR_DESC.offset("name_id")
    f.number(at, 4, tuple(range(len(f.rows) + 2)))


def letters(f: Liar) -> None:
    """A letter of a name, so that it is another tensor's or nobody's."""
    start, size = f.head["string_table_off"], f.head["string_table_len"]
    count = int.from_bytes(f.out[start : start + 4], "little")
    at = start + f.draw.randrange(4 + 8 * count, size)
    f.put(at, bytes([f.draw.choice(b"aeklmnopqv01._")]))


def rows(f: Liar) -> None:
    """One descriptor over another, or two that change places, or fields of another."""
    one, other = f.row_at(f.pick()), f.row_at(f.pick())
    kind = f.draw.randrange(3)
    if kind == 0:
        f.put(one, bytes(f.out[other : other + TENSOR_DESC.size]))
    elif kind == 1:
        _swap(f, one, other, TENSOR_DESC.size)
    else:
        low = 4 * f.draw.randrange(TENSOR_DESC.size // 4)
        size = 4 * f.draw.randrange(1, 5)
        size = min(size, TENSOR_DESC.size - low)
        f.put(one + low, bytes(f.out[other + low : other + low + size]))


def nothing_dense(f: Liar) -> None:
    """No descriptor is dense, or there is none at all."""
    if f.draw.randrange(2):
        f.put(HEADER.offset("tensor_count"), bytes(4))
    else:
        for i in range(len(f.rows)):
            f.put(f.row_at(i) + TENSOR_DESC.offset("layout"), b"\1\0")


def pieces(f: Liar) -> None:
    """A field of the piece table."""
    at = f.head["piece_table_off"] + PIECE_DESC.size * f.draw.randrange(f.head["piece_count"])
    f.field(PIECE_DESC, at, "piece_index", "shard_index", "file_off", "stored_len", "logical_len")


def shard(f: Liar) -> None:
    """A field of the shard table."""
    at = f.head["shard_table_off"]
    if f.draw.randrange(2):
        place = at + SHARD_DESC.offset(f.draw.choice(("kind", "codec")))
        f.number(place, 2, (1, 2, 3, 4))
    else:
        f.field(SHARD_DESC, at, "shard_index", "artifact_family", "shard_len")


def scales(f: Liar) -> None:
    """A scale that no writer stores, or the scale 0 of a group with codes."""
    row = f.rows[f.pick(lambda r: r["aux_len"] > 0)]
    if row["scale_encoding"] == 3:
        at = row["aux_off"] + f.draw.randrange(row["aux_len"])
        f.put(at, bytes([f.draw.choice((0, 255, 254, 253, 252, 251, 248, 247, 120))]))
        return
    at = row["aux_off"] + 2 * f.draw.randrange(row["aux_len"] // 2)
    f.put(at, struct.pack("<H", f.draw.choice(WORDS)))


def codes(f: Liar) -> None:
    """Codes of a row: the lowest of each width among them, and padding."""
    row = f.rows[f.pick(_coded)]
    at = row["data_off"] + f.draw.randrange(row["data_len"])
    f.put(at, bytes([f.draw.choice((0x80, 0x08, 0x88, 0x00, 0xFF, f.draw.randrange(256)))]))


def lowest_code(f: Liar) -> None:
    """The lowest code of the width in the first column of a row."""
    row = f.rows[f.pick(_coded)]
    at = row["data_off"] + row["row_stride"] * f.draw.randrange(
        row["data_len"] // row["row_stride"]
    )
    column = f.draw.randrange(min(row["dims"][row["rank"] - 1], 32))
    if row["dtype"] == DType.q8_r128:
        f.out[at + column] = 0x80
        return
    # Sixteen times the low nibble 0, with every bit above it set but the sign of the width.
    f.out[at + column] &= 0xF0
    if row["dtype"] == DType.q4_g64:
        f.out[at + column] |= 8
    elif row["dtype"] == DType.q5_g64:
        f.out[at + 32 + column // 8] |= 1 << column % 8
    else:
        place = at + 32 + column % 16
        shift = 2 * (column // 16)
        f.out[place] = f.out[place] & ~(3 << shift) | 2 << shift


def values(f: Liar) -> None:
    """A stored float: NaN, infinite, or any other."""
    row = f.rows[f.pick(lambda r: r["dtype"] <= DType.bf16 and r["data_len"] > 0)]
    size = 4 if row["dtype"] == DType.f32 else 2
    at = row["data_off"] + size * f.draw.randrange(row["data_len"] // size)
    word = f.draw.choice((0x7F80, 0x7FC0, 0xFF80, 0x7C00, 0x7E00, 0xFC01, 0x7F7F, 0x3C00))
    f.put(at + size - 2, struct.pack("<H", word))


def residual(f: Liar) -> None:
    """Header, row pointers, columns or values of a sparse residual."""
    row = f.rows[f.pick(_of_layout(Layout.sparse_residual))]
    start, nnz = row["data_off"], int.from_bytes(f.out[row["data_off"] + 12 :][:4], "little")
    rows_, low = row["dims"][0], row["data_off"] + 40
    kind = f.draw.randrange(4)
    if kind == 0:
        f.number(start + f.draw.choice((0, 2, 4, 8, 12, 16, 24, 32)), 2)
    elif kind == 1:
        f.number(low + 4 * f.draw.randrange(rows_ + 1), 4, (0, 1, 2, nnz, nnz - 1, nnz + 1))
    elif kind == 2:
        f.number(low + 4 * (rows_ + 1) + 2 * f.draw.randrange(nnz), 2, (0, 1, 2, 7, 8, 9))
    else:
        at = low + 4 * (rows_ + 1) + 2 * nnz
        f.put(f.draw.randrange(at, start + row["data_len"]), bytes([f.draw.choice((0x7C, 0x80))]))


def harmless(f: Liar) -> None:
    """What a reader must not mind: optional flags, other weights, another token id."""
    kind = f.draw.randrange(3)
    if kind == 0:
        f.put(20 + f.draw.randrange(4), bytes([f.draw.randrange(256)]))
    elif kind == 1:
        place = f.row_at(f.pick()) + TENSOR_DESC.offset("flags")
        f.out[place] |= 2
    else:
        row = f.rows[f.pick(lambda r: r["dtype"] == DType.f32 and r["data_len"] > 0)]
        at = row["data_off"] + 4 * f.draw.randrange(row["data_len"] // 4)
        f.put(at, struct.pack("<f", f.draw.uniform(-3, 3)))


def tokenizer(f: Liar) -> None:
    """A field of the frame of a TOK2 block, or a byte of another section."""
    start, size = f.head["tokenizer_off"], f.head["tokenizer_len"]
    if f.out[start : start + 4] == b"TOK2":
        frame = ((4, 2), (6, 2), (8, 4), (12, 4), (16, 4), (20, 4), (24, 4), (48, 4), (52, 4))
        # Not the lengths: what the sections hold is looked into by two of the readers only.
        entries = [(128 + 4 * i, 4) for i in range(56) if i % 4 != 2]
        at, width = f.draw.choice(f.draw.choice((frame, tuple(entries))))
        f.number(start + at, width)
    else:
        f.put(start + f.draw.randrange(size), bytes([f.draw.randrange(256)]))


def anywhere(f: Liar) -> None:
    """One to four edits of bytes and words wherever they fall."""
    for _ in range(f.draw.randrange(1, 5)):
        at = f.draw.randrange(len(f.out))
        f.number(at, f.draw.choice((1, 2, 4, 8)))


LIES: dict[str, Lie] = {
    lie.__name__: lie
    for lie in (
        version, length, header_flags, tensor_flags, reserved, padding, section, misaligned,
        header_shape, strings, config_byte, config_value, header_sizes, numbers, unsupported,
        tensor_shape, tensor_place, alias, names, letters, rows, nothing_dense, pieces, shard,
        scales, codes, lowest_code, values, residual, harmless, tokenizer, anywhere,
    )
}  # fmt: skip


def lied(data: bytes, draw: Random, *kinds: str) -> bytes:
    """The file with these lies in it, not sealed; one that finds no place is left out."""
    liar = Liar(data, draw)
    for kind in kinds:
        # What an earlier lie left may have no place for this one, or no longer be a configuration.
        with suppress(NoPlaceError, NotCanonicalError, ValueError):
            LIES[kind](liar)
        if len(liar.out) < len(data):
            break
    return bytes(liar.out)
