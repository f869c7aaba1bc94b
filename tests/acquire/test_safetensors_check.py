"""Hostile safetensors files, each built here, and the one code each must get."""

import json
import struct
from pathlib import Path

import numpy as np
import pytest

from trlm_lab import errors
from trlm_lab.acquire import check_safetensors, require_safetensors
from trlm_lab.base.safetensors_header import map_tensor, read_header

U64 = 2**64


def container(header: str | bytes, payload: bytes = b"", length: int | None = None) -> bytes:
    raw = header.encode() if isinstance(header, str) else header
    return struct.pack("<Q", len(raw) if length is None else length) + raw + payload


def entry(shape: list[int], begin: int, end: int, dtype: str = "F32") -> str:
    return json.dumps({"dtype": dtype, "shape": shape, "data_offsets": [begin, end]})


def header(**tensors: str) -> str:
    return "{" + ",".join(f'"{name}":{row}' for name, row in tensors.items()) + "}"


def floats(*values: float) -> bytes:
    return np.array(values, "<f4").tobytes()


ONE = header(a=entry([2], 0, 8))
BAD = np.array([0x7FC00001, 0x7F800000], "<u4").tobytes()

FILES: list[tuple[str, bytes, str]] = [
    ("valid", container(header(a=entry([2], 0, 8), b=entry([2], 8, 16)), floats(1, 2, 3, 4)), "OK"),
    ("overlap", container(header(a=entry([2], 0, 8), b=entry([2], 4, 12)), bytes(12)), "OVERLAP"),
    ("hole", container(header(a=entry([1], 0, 4), b=entry([1], 8, 12)), bytes(12)), "HOLE"),
    (
        "duplicate name",
        container(f'{{"a":{entry([1], 0, 4)},"a":{entry([2], 0, 8)}}}', bytes(8)),
        "DUPLICATE_KEY",
    ),
    (
        "duplicate name, escaped",
        container(f'{{"a":{entry([1], 0, 4)},"\\u0061":{entry([2], 0, 8)}}}', bytes(8)),
        "DUPLICATE_KEY",
    ),
    (
        "duplicate metadata",
        container(
            f'{{"__metadata__":{{"f":"x"}},"__metadata__":{{"f":"y"}},"a":{entry([2], 0, 8)}}}',
            bytes(8),
        ),
        "DUPLICATE_KEY",
    ),
    ("header past the end", container(ONE, bytes(8), length=1000), "HEADER_LEN"),
    ("header of 2^63", container(ONE, bytes(8), length=2**63), "HEADER_LEN"),
    ("header above the limit", container("{" + " " * (4 << 20) + "}"), "HEADER_LEN"),
    ("shape wraps", container(header(a=entry([2**32, 2**32], 0, 0))), "SHAPE_OVERFLOW"),
    *((f"shape wraps beside a zero {shape}", container(header(a=entry(shape, 0, 0))),
       "SHAPE_OVERFLOW") for shape in ([0, 2**40, 2**40], [2**40, 0, 2**40], [0, U64])),
    ("a large dimension beside a zero", container(header(a=entry([2**40, 0], 0, 0))), "OK"),
    ("shape beyond the range", container(header(a=entry([1000, 1000], 0, 4)), bytes(4)),
     "SIZE_MISMATCH"),
    (
        "offset near 2^64",
        container(header(a=entry([1], 0, 4), b=entry([0], U64 - 4, U64 - 4)), bytes(4)),
        "OFFSETS",
    ),
    ("backward range", container(header(a=entry([1], 8, 4)), bytes(8)), "OFFSETS"),
    ("rank 33", container(header(a=entry([1] * 33, 0, 4)), bytes(4)), "TYPE"),
    (
        "a zero with a sign",
        container('{"a":{"dtype":"F32","shape":[1],"data_offsets":[-0,4]}}', bytes(4)),
        "TYPE",
    ),
    (
        "fraction",
        container('{"a":{"dtype":"F32","shape":[1],"data_offsets":[0.0,4.0]}}', bytes(4)),
        "TYPE",
    ),
    (
        "Boolean dimension",
        container('{"a":{"dtype":"F32","shape":[true],"data_offsets":[0,4]}}', bytes(4)),
        "TYPE",
    ),
    (
        "unknown dtype",
        container(header(a=entry([1], 2**40, 2**40 + 4, "Q77")), bytes(4)),
        "DTYPE",
    ),
    ("no JSON", container("hello"), "JSON"),
    ("no UTF-8", container(b'{"\xff":1}'), "JSON"),
    ("half a surrogate", container(f'{{"\\ud800":{entry([1], 0, 4)}}}', bytes(4)), "JSON"),
    ("not a number", container(ONE.replace("[0, 8]", "[0, NaN]"), bytes(8)), "JSON"),
    ("too deep", container("[" * 100_000), "JSON"),
    ("text after the header", container(ONE + "x", bytes(8)), "JSON"),
    ("a list", container("[]"), "HEADER_START"),
    ("leading space", container(" " + ONE, bytes(8)), "HEADER_START"),
    ("padded with NUL", container(ONE + "\0\0", bytes(8)), "HEADER_PADDING"),
    ("padded with spaces", container(ONE + "   ", floats(1, 2)), "OK"),
    ("empty file", b"", "TRUNCATED"),
    ("payload cut", container(ONE, bytes(7)), "TRUNCATED"),
    ("payload too long", container(ONE, bytes(9)), "TRAILING"),
    ("metadata no text", container(ONE[:-1] + ',"__metadata__":{"n":1}}', bytes(8)),
     "TYPE"),
    ("unknown field", container('{"a":{"dtype":"F32","shape":[],"data_offsets":[0,4],"x":1}}',
                                bytes(4)), "TYPE"),
    ("scalar", container(header(a=entry([], 0, 4)), floats(1)), "OK"),
    ("NaN and infinity", container(ONE, BAD), "NONFINITE"),
    ("half infinity", container(header(a=entry([1], 0, 2, "F16")), b"\x00\x7c"), "NONFINITE"),
    ("bfloat16 NaN", container(header(a=entry([1], 0, 2, "BF16")), b"\xc0\x7f"), "NONFINITE"),
    ("imaginary NaN", container(header(a=entry([2], 0, 16, "C64")), floats(0, 1, 2, np.nan)),
     "NONFINITE"),
    ("complex", container(header(a=entry([2], 0, 16, "C64")), floats(0, 1, 2, 3)), "OK"),
    ("large bfloat16", container(header(a=entry([1], 0, 2, "BF16")), b"\x7f\x7f"), "OK"),
    ("three 4-bit numbers", container(header(a=entry([3], 0, 2, "F4")), bytes(2)), "TYPE"),
    ("nothing in it", container("{}"), "OK"),
]  # fmt: skip


@pytest.mark.parametrize(("data", "code"), [f[1:] for f in FILES], ids=[f[0] for f in FILES])
def test_every_file_gets_its_code(tmp_path: Path, data: bytes, code: str) -> None:
    path = tmp_path / "x.safetensors"
    path.write_bytes(data)
    findings = check_safetensors(path)
    assert [f["code"] for f in findings] == ([] if code == "OK" else [code])


def test_the_structure_alone_says_nothing_of_values(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    path.write_bytes(container(ONE, BAD))
    assert [t.name for t in read_header(path)] == ["a"]
    with pytest.raises(
        errors.NonFiniteError, match=r"x\.safetensors:a: element 0 has the bits 7fc0"
    ):
        require_safetensors(path)


def test_a_mapped_tensor_has_the_stored_values(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    path.write_bytes(container(header(a=entry([], 0, 4), b=entry([2, 1], 4, 12)), floats(5, 6, 7)))
    scalar, matrix = (map_tensor(path, t) for t in read_header(path))
    assert scalar.shape == ()
    assert float(scalar) == 5.0
    assert matrix.tolist() == [[6.0], [7.0]]


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    assert check_safetensors(tmp_path / "none.safetensors")[0]["code"] == "TRUNCATED"


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (errors.SafetensorsHeaderLengthError, "HEADER_LEN"),
        (errors.SafetensorsHeaderStartError, "HEADER_START"),
        (errors.SafetensorsPaddingError, "HEADER_PADDING"),
        (errors.SafetensorsTruncatedError, "TRUNCATED"),
        (errors.SafetensorsTrailingError, "TRAILING"),
        (errors.SafetensorsTypeError, "TYPE"),
        (errors.SafetensorsDtypeError, "DTYPE"),
        (errors.SafetensorsShapeError, "SHAPE_OVERFLOW"),
        (errors.SafetensorsSizeError, "SIZE_MISMATCH"),
        (errors.SafetensorsOffsetsError, "OFFSETS"),
        (errors.SafetensorsOverlapError, "OVERLAP"),
        (errors.SafetensorsHoleError, "HOLE"),
    ],
)
def test_each_refusal_is_a_class_of_its_own(
    tmp_path: Path, kind: type[errors.SafetensorsError], code: str
) -> None:
    data = next(data for _, data, wanted in FILES if wanted == code)
    path = tmp_path / "x.safetensors"
    path.write_bytes(data)
    with pytest.raises(kind) as caught:
        require_safetensors(path)
    assert caught.value.exit_status == 3
    assert caught.value.remedy


def test_any_byte_changed_in_the_header_length_is_refused(tmp_path: Path) -> None:
    sound = container(ONE, floats(1, 2))
    path = tmp_path / "x.safetensors"
    for place in range(8):
        data = bytearray(sound)
        data[place] ^= 0xFF
        path.write_bytes(bytes(data))
        assert check_safetensors(path), place
