"""Every rule of the format that the runtime checks, with an edit that breaks it."""

import struct

from tests.backends.runtime_edits import (
    BODY,
    CONFIG,
    PIECE_TABLE,
    SHARD_TABLE,
    STRINGS,
    TENSOR_COUNT,
    TENSOR_DIR,
    Edit,
    Field,
    get,
    put,
)


def header(at: int, code: str, value: int) -> Edit:
    """Set a header field."""
    return lambda data: put(data, (at, code), value)


def moved(field: Field, by: int) -> Edit:
    """Add to a header field."""
    return lambda data: put(data, field, get(data, field) + by)


def tensor(index: int, at: int, code: str, value: int) -> Edit:
    """Set a field of a descriptor."""
    return lambda data: put(data, (at, code), value, get(data, TENSOR_DIR) + 128 * index)


def table(which: Field, at: int, code: str, value: int) -> Edit:
    """Set a field of the first row of a table."""
    return lambda data: put(data, (at, code), value, get(data, which))


def copied(source: int, target: int, at: int, size: int) -> Edit:
    """Copy part of one descriptor to another."""

    def edit(data: bytearray) -> None:
        start = get(data, TENSOR_DIR)
        part = data[start + 128 * source + at : start + 128 * source + at + size]
        data[start + 128 * target + at : start + 128 * target + at + size] = part

    return edit


def body(at: int, value: int) -> Edit:
    """Set a byte of the body."""

    def edit(data: bytearray) -> None:
        data[get(data, BODY) + at] = value

    return edit


def scale(value: int) -> Edit:
    """Set the first scale of the embedding."""

    def edit(data: bytearray) -> None:
        struct.pack_into("<H", data, get(data, (72, "Q"), get(data, TENSOR_DIR)), value)

    return edit


def cut(data: bytearray) -> None:
    """Drop the last byte and say so in the header."""
    del data[-1]
    put(data, (128, "Q"), len(data))


def two_equal_strings(data: bytearray) -> None:
    """Give the string `...q_proj.weight` the text of `...k_proj.weight`, of the same length."""
    at = data.index(b"layers.0.self_attn.q_proj")
    data[at + 19] = ord("k")


def nothing_dense(data: bytearray) -> None:
    """Leave one tensor only, the alias."""
    start, count = get(data, TENSOR_DIR), get(data, TENSOR_COUNT)
    data[start : start + 128] = data[start + 128 * (count - 1) : start + 128 * count]
    data[start + 128 : start + 128 * count] = bytes(128 * (count - 1))
    put(data, TENSOR_COUNT, 1)
    data[get(data, BODY) :] = bytes(len(data) - get(data, BODY))


def no_pieces(data: bytearray) -> None:
    """Drop the only row of the piece table."""
    start = get(data, PIECE_TABLE)
    data[start : start + 56] = bytes(56)
    put(data, (88, "I"), 0)


# The tiny file has the embedding at 0, its layers' tensors after it, the aliasing head at 20. Norms
# are f32, matrices q8_r128; the embedding is 67 x 36 with rows of 64 bytes.
EMBEDDING, NORM, QUERY, HEAD = 0, 1, 2, 20
RULES: list[tuple[str, str, Edit]] = [
    ("TRUNCATED", "shorter than a header", lambda d: d.__delitem__(slice(200, None))),
    ("RANGE", "body offset past the end", header(224, "Q", 1 << 40)),
    ("RANGE", "table past the end", moved(PIECE_TABLE, 1 << 40)),
    ("RANGE", "payload past the end", tensor(19, 56, "Q", 1 << 40)),
    ("MAGIC", "another magic", header(0, "B", ord("X"))),
    ("VERSION", "another major", header(4, "H", 3)),
    ("VERSION", "another minor", header(6, "H", 1)),
    ("HEADER_LEN", "longer header", header(8, "I", 384)),
    ("FLAGS", "unknown required flag", header(16, "Q", 1 << 31)),
    ("FLAGS", "unknown tensor flag", tensor(NORM, 12, "I", 8)),
    ("RESERVED", "header byte 12", header(12, "I", 1)),
    ("RESERVED", "header byte 78", header(78, "H", 1)),
    ("RESERVED", "header byte 255", header(255, "B", 1)),
    ("LENGTH", "old checksum", header(200, "Q", 1)),
    ("RESERVED", "padding before the body", lambda d: d.__setitem__(get(d, BODY) - 1, 1)),
    ("RESERVED", "padding in the body", body(67 * 64 + 67 * 2, 1)),
    ("RESERVED", "descriptor byte 18", tensor(NORM, 18, "H", 1)),
    ("RESERVED", "descriptor byte 44", tensor(NORM, 44, "I", 1)),
    ("RESERVED", "descriptor byte 127", tensor(NORM, 127, "B", 1)),
    ("TENSOR", "unused dimension", tensor(NORM, 24, "I", 1)),
    ("ALIGNMENT", "directory", moved(TENSOR_DIR, 8)),
    ("ALIGNMENT", "body", moved(BODY, 64)),
    ("ALIGNMENT", "payload", lambda d: tensor(NORM, 56, "Q", _data_off(d, NORM) + 4)(d)),
    ("OVERLAP", "configuration over strings", moved(CONFIG, -1)),
    ("OVERLAP", "two payloads", lambda d: tensor(NORM, 56, "Q", _aux_off(d, EMBEDDING))(d)),
    ("TRUNCATED", "file length", header(128, "Q", 1)),
    ("LENGTH", "descriptor size", header(76, "H", 64)),
    ("RANGE", "section end overflows", header(80, "Q", (1 << 64) - 16)),
    ("TENSOR", "dimensions overflow", lambda d: _dims(d, NORM, [0xFFFFFFFF] * 6)),
    ("LENGTH", "data length", tensor(NORM, 64, "Q", 140)),
    ("LENGTH", "logical length", tensor(NORM, 48, "Q", 140)),
    ("LENGTH", "row stride", tensor(QUERY, 112, "I", 128)),
    ("LENGTH", "scale length", tensor(QUERY, 80, "I", 118)),
    ("STRINGS", "count", table(STRINGS, 0, "I", 0xFFFFFFFF)),
    ("STRINGS", "hole", table(STRINGS, 4, "I", 1)),
    ("STRINGS", "too long", table(STRINGS, 8, "I", 0xFFFFFFFF)),
    ("STRINGS", "tail", table(STRINGS, 0, "I", 20)),
    ("STRINGS", "no UTF-8", lambda d: d.__setitem__(d.index(b"model.norm"), 0xFF)),
    ("STRINGS", "name beyond the table", tensor(NORM, 0, "I", 21)),
    ("ORDER", "sections", header(112, "Q", 0)),
    ("OVERLAP", "payloads", copied(NORM, 6, 56, 8)),
    ("OVERLAP", "scales before data", lambda d: tensor(QUERY, 72, "Q", get(d, BODY))(d)),
    ("PIECES", "count", no_pieces),
    ("PIECES", "index", table(PIECE_TABLE, 0, "I", 1)),
    ("PIECES", "offset", table(PIECE_TABLE, 8, "Q", 1)),
    ("PIECES", "length", table(PIECE_TABLE, 20, "I", 1)),
    ("TENSOR", "first piece of a tensor", tensor(NORM, 88, "I", 1)),
    ("TENSOR", "pieces of a tensor", tensor(NORM, 92, "I", 2)),
    ("SHARDS", "length", table(SHARD_TABLE, 12, "Q", 1)),
    ("UNSUPPORTED", "http shard", table(SHARD_TABLE, 4, "H", 1)),
    ("UNSUPPORTED", "compressed shard", table(SHARD_TABLE, 6, "H", 1)),
    ("SHARDS", "family", table(SHARD_TABLE, 8, "I", 1)),
    ("UNKNOWN_NUMBER", "dtype 0", tensor(NORM, 6, "H", 0)),
    ("UNKNOWN_NUMBER", "dtype 8", tensor(NORM, 6, "H", 8)),
    ("UNKNOWN_NUMBER", "layout", tensor(NORM, 8, "H", 4)),
    ("UNKNOWN_NUMBER", "scale encoding", tensor(NORM, 10, "H", 4)),
    ("UNKNOWN_NUMBER", "role", tensor(NORM, 4, "H", 28)),
    ("UNKNOWN_NUMBER", "shard kind", table(SHARD_TABLE, 4, "H", 3)),
    ("LENGTH", "f16 of f32's size", tensor(NORM, 6, "H", 2)),
    ("TENSOR", "a residual of f32 values", tensor(NORM, 8, "H", 2)),
    ("UNSUPPORTED", "external pieces", tensor(NORM, 8, "H", 3)),
    ("UNSUPPORTED", "compressed tensor", tensor(NORM, 12, "I", 4)),
    ("TENSOR", "codes without scales", tensor(QUERY, 10, "H", 0)),
    ("TENSOR", "f32 with scales", tensor(NORM, 10, "H", 1)),
    ("LENGTH", "e8m0 scales of two bytes", tensor(QUERY, 10, "H", 3)),
    ("ALIAS", "dense tensor with a target", tensor(NORM, 84, "I", 0)),
    ("ALIAS", "alias with data", tensor(HEAD, 64, "Q", 64)),
    ("ALIAS", "target beyond the directory", tensor(HEAD, 84, "I", 21)),
    ("ALIAS", "alias of an alias", tensor(HEAD, 84, "I", HEAD)),
    ("ALIAS", "other dimensions than the target", tensor(HEAD, 20, "I", 66)),
    ("ALIAS", "another hash than the target", tensor(HEAD, 96, "Q", 0)),
    ("FLAGS", "tied flag off", tensor(HEAD, 12, "I", 0)),
    ("FLAGS", "tied flag on a norm", tensor(NORM, 12, "I", 1)),
    ("TENSOR", "rank 0", tensor(NORM, 16, "H", 0)),
    ("TENSOR", "rank 7", tensor(NORM, 16, "H", 0x0707)),
    ("TENSOR", "two ranks", tensor(NORM, 17, "B", 2)),
    ("TENSOR", "dimension 0", tensor(NORM, 20, "I", 0)),
    ("TENSOR", "scales of f32", tensor(NORM, 72, "Q", 4096)),
    ("DUPLICATE", "nothing dense", nothing_dense),
    ("CODE", "-128", body(0, 0x80)),
    ("PADDING", "padding code", body(36, 1)),
    ("SCALE", "negative", scale(0xBC00)),
    ("SCALE", "-0.0", scale(0x8000)),
    ("SCALE", "subnormal", scale(0x0001)),
    ("SCALE", "infinite", scale(0x7C00)),
    ("SCALE", "0 over nonzero codes", scale(0)),
    ("DUPLICATE", "name ids", copied(QUERY, 3, 0, 4)),
    ("STRINGS", "strings", two_equal_strings),
    ("CONFIG_DISAGREES", "layers", header(28, "I", 3)),
    ("CONFIG_DISAGREES", "epsilon", header(56, "I", 0)),
    ("TENSOR_ROLE", "q as k", tensor(QUERY, 4, "H", 3)),
    ("CBOR", "trailing byte", lambda d: put(d, (108, "I"), get(d, (108, "I")) + 1)),
]


def _data_off(data: bytearray, index: int) -> int:
    return get(data, (56, "Q"), get(data, TENSOR_DIR) + 128 * index)


def _aux_off(data: bytearray, index: int) -> int:
    return get(data, (72, "Q"), get(data, TENSOR_DIR) + 128 * index)


def _dims(data: bytearray, index: int, dims: list[int]) -> None:
    tensor(index, 16, "H", 0x0606)(data)
    for i, dim in enumerate(dims):
        tensor(index, 20 + 4 * i, "I", dim)(data)
