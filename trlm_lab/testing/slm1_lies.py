"""Lies in the fields of a sound SLM1 file; the caller seals them again."""

from __future__ import annotations

import struct
from random import Random

from trlm_lab.slm1.layout import ENTRY_LEN, ENTRY_OFFSETS, HEADER_FIELDS, header_offset
from trlm_lab.testing.container_lies import EDGES, STEPS

WIDE = ("name_hash", "byte_offset", "byte_length", "scale_offset")
KINDS = (
    "version", "length", "flags", "sizes", "floats", "sections", "reserved", "padding", "shape",
    "places", "overlap", "misaligned", "dtype", "name", "swap", "tokenizer", "scale", "weight",
    "checksum", "profile", "harmless", "anywhere",
)  # fmt: skip


class Slm1Liar:
    """A file being damaged."""

    def __init__(self, data: bytes, draw: Random) -> None:
        self.out, self.draw = bytearray(data), draw
        self.directory = self._header("tensor_directory_offset")
        self.count = self._header("tensor_count")
        self.tokenizer = self._header("tokenizer_offset"), self._header("tokenizer_length")
        self.data = self._header("tensor_data_offset")

    def _header(self, name: str) -> int:
        code = dict(HEADER_FIELDS)[name]
        return int(struct.unpack_from("<" + code, self.out, header_offset(name))[0])

    def put(self, at: int, data: bytes) -> None:
        """Bytes over those that are there."""
        self.out[at : at + len(data)] = data

    def number(self, at: int, size: int, *values: int) -> None:
        """Another number: one of `values`, an edge, or the old one and a step."""
        old = int.from_bytes(self.out[at : at + size], "little")
        kind = self.draw.randrange(4)
        if values and kind:
            new = self.draw.choice(values)
        elif kind == 0:
            new = self.draw.choice(EDGES)
        else:
            new = old + self.draw.choice(STEPS)
        self.put(at, (new % (1 << 8 * size)).to_bytes(size, "little"))

    def header(self, *names: str) -> None:
        """Another number in one of these fields of the header."""
        name = self.draw.choice(names)
        self.number(header_offset(name), struct.calcsize("<" + dict(HEADER_FIELDS)[name]))

    def entry(self, *names: str) -> int:
        """Place of one of these fields, in any entry."""
        row = self.directory + ENTRY_LEN * self.draw.randrange(self.count)
        name = self.draw.choice(names)
        self.number(row + ENTRY_OFFSETS[name], 8 if name in WIDE else 4)
        return row

    def _row(self) -> tuple[int, int, int, int]:
        """dtype, data, scales and block of any entry."""
        at = self.directory + ENTRY_LEN * self.draw.randrange(self.count)
        dtype, *_, data, _, scales, block, _ = struct.unpack_from("<QII4IQQQII", self.out, at)[1:]
        return dtype, data, scales, block

    def lie(self, kind: str) -> None:
        """One lie of a kind."""
        getattr(self, f"_{kind}")()

    def _version(self) -> None:
        self.header("version", "model_type", "header_length")

    def _length(self) -> None:
        if self.draw.randrange(2):
            del self.out[self.draw.randrange(len(self.out)) :]
        else:
            self.out += bytes(self.draw.choice((1, 4, 32, 64)))

    def _flags(self) -> None:
        self.number(16, 4, 0, 1, 2, 3, 1 << 31)

    def _sizes(self) -> None:
        self.header(
            "vocab", "special_token_count", "hidden", "layers", "heads", "kv_heads", "head_dim",
            "ffn", "max_context", "tensor_count",
        )  # fmt: skip

    def _floats(self) -> None:
        at = header_offset(self.draw.choice(("rope_theta_bits", "rms_eps_bits")))
        words = (0, 0x3F7FFFFF, 0x7FC00000, 0x7F800000, 0xBF800000, 0x00800000, 0x007FFFFF, 1)
        self.number(at, 4, *words)

    def _sections(self) -> None:
        self.header(
            "tokenizer_offset", "tokenizer_length", "tensor_directory_offset", "tensor_data_offset",
            "header_length",
        )  # fmt: skip

    def _reserved(self) -> None:
        row = self.directory + ENTRY_LEN * self.draw.randrange(self.count)
        self.put(row + 60 + self.draw.randrange(4), bytes([self.draw.randrange(1, 256)]))

    def _padding(self) -> None:
        start, size = self.tokenizer
        ends = [(start + size, self.directory), (self.directory + 64 * self.count, self.data)]
        low, high = self.draw.choice([*ends, (len(self.out) - 8, len(self.out))])
        if low < high:
            self.put(self.draw.randrange(low, high), bytes([self.draw.randrange(1, 256)]))

    def _shape(self) -> None:
        self.entry("rank", "dims", "byte_length", "block_size")

    def _places(self) -> None:
        if self.draw.randrange(2):
            self.entry("byte_offset", "scale_offset")
            return
        row = self.directory + ENTRY_LEN * self.draw.randrange(self.count)
        _, data, scales, _ = self._row()
        place = ENTRY_OFFSETS[self.draw.choice(("byte_offset", "scale_offset"))]
        self.put(row + place, struct.pack("<Q", self.draw.choice((data, scales, self.data))))

    def _overlap(self) -> None:
        rows = [self.directory + ENTRY_LEN * self.draw.randrange(self.count) for _ in range(2)]
        place = ENTRY_OFFSETS["byte_offset"]
        self.put(rows[0] + place, bytes(self.out[rows[1] + place : rows[1] + place + 8]))

    def _misaligned(self) -> None:
        if self.draw.randrange(2):
            at = header_offset(self.draw.choice(("tensor_directory_offset", "tensor_data_offset")))
        else:
            row = self.directory + ENTRY_LEN * self.draw.randrange(self.count)
            at = row + ENTRY_OFFSETS[self.draw.choice(("byte_offset", "scale_offset"))]
        old = int.from_bytes(self.out[at : at + 8], "little")
        step = self.draw.choice((-32, -4, -1, 1, 4, 16, 32))
        self.put(at, max(old + step, 0).to_bytes(8, "little"))

    def _dtype(self) -> None:
        row = self.directory + ENTRY_LEN * self.draw.randrange(self.count)
        self.number(row + ENTRY_OFFSETS["dtype"], 4, 0, 1, 2, 3, 4, 5)

    def _name(self) -> None:
        rows = [self.directory + ENTRY_LEN * self.draw.randrange(self.count) for _ in range(2)]
        if self.draw.randrange(2):
            self.put(rows[0], bytes(self.out[rows[1] : rows[1] + 8]))
        else:
            self.number(rows[0], 8)

    def _swap(self) -> None:
        one, other = (self.directory + 64 * self.draw.randrange(self.count) for _ in range(2))
        first, second = bytes(self.out[one : one + 64]), bytes(self.out[other : other + 64])
        self.put(one, second)
        self.put(other, first)

    def _tokenizer(self) -> None:
        start, size = self.tokenizer
        self.number(start + 4 * self.draw.randrange(size // 4), 4, 0, 1, 2, 3, 4, 5, 6, 7, 8, 260)

    def _scale(self) -> None:
        dtype, _, scales, _ = self._row()
        if dtype != 1:
            words = (0, 0x80000000, 0xBF800000, 0x7FC00000, 0x7F800000, 0x7E7FFFFF, 0x7DFFFFFF)
            self.put(scales, struct.pack("<I", self.draw.choice(words)))

    def _weight(self) -> None:
        dtype, data, _, _ = self._row()
        if dtype == 1:
            words = (0x7FC00000, 0x7F800000, 0xFF800000, 0x7F7FFFFF, 0x80000000, 0x3F800000)
            self.put(data, struct.pack("<I", self.draw.choice(words)))

    def _checksum(self) -> None:
        at = self.draw.randrange(self.data, len(self.out))
        self.out[at] ^= 1 << self.draw.randrange(8)

    def _profile(self) -> None:
        self.put(self.draw.choice((103, 106, 107)), bytes([self.draw.randrange(256)]))

    def _harmless(self) -> None:
        dtype, data, _, _ = self._row()
        if dtype == 1:
            self.put(data, struct.pack("<f", self.draw.uniform(-3, 3)))
        else:
            self.put(data, bytes([self.draw.randrange(256)]))

    def _anywhere(self) -> None:
        for _ in range(self.draw.randrange(1, 5)):
            self.number(self.draw.randrange(len(self.out)), self.draw.choice((1, 2, 4, 8)))


def slm1_lied(data: bytes, draw: Random, *kinds: str) -> bytes:
    """The file with these lies in it, not sealed."""
    liar = Slm1Liar(data, draw)
    for kind in kinds:
        liar.lie(kind)
        if len(liar.out) < liar.data + 64:
            break
    return bytes(liar.out)
