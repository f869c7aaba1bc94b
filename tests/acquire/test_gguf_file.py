"""The GGUF reader against broken files: one clear refusal, never another exception."""

import random
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest

from trlm_lab.acquire.gguf_file import read_gguf
from trlm_lab.errors import GgufError

Make = Callable[..., Any]


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value.encode())) + value.encode()


def file(fields: bytes = b"", field_count: int = 0, tensors: bytes = b"", tensor_count: int = 0,
         payload: bytes = b"", version: int = 3) -> bytes:  # fmt: skip
    head = b"GGUF" + struct.pack("<IQQ", version, tensor_count, field_count) + fields + tensors
    return head + bytes(-len(head) % 32) + payload


def row(name: str, dims: list[int], kind: int = 0, offset: int = 0) -> bytes:
    return text(name) + struct.pack(f"<I{len(dims)}QIQ", len(dims), *dims, kind, offset)


def number(key: str, value: int) -> bytes:
    return text(key) + struct.pack("<II", 4, value)


def read(tmp_path: Path, data: bytes) -> Any:
    path = tmp_path / "x.gguf"
    path.write_bytes(data)
    return read_gguf(path)


def test_a_sound_file_is_read(tmp_path: Path) -> None:
    payload = np.arange(8, dtype="<f4").tobytes()
    parsed = read(tmp_path, file(number("a", 7), 1, row("t", [4, 2]), 1, payload))
    assert parsed.fields["a"].value == 7
    assert parsed.tensors["t"].shape == (2, 4)
    assert parsed.read_rows("t", 0, 2).view("<f4").tolist() == [[0, 1, 2, 3], [4, 5, 6, 7]]


BROKEN = {
    "empty": b"",
    "another magic": b"GGML" + bytes(40),
    "version 1": file(version=1),
    "big-endian": file(version=3 << 24),
    "too many fields": file(field_count=2**40),
    "a field count beyond the file": file(field_count=3),
    "a repeated key": file(number("a", 1) * 2, 2),
    "a text longer than the file": file(struct.pack("<Q", 2**62), 1),
    "a text that is no UTF-8": file(struct.pack("<Q", 1) + b"\xff" + struct.pack("<II", 4, 1), 1),
    "an unknown value type": file(text("a") + struct.pack("<II", 99, 1), 1),
    "an array beyond the file": file(text("a") + struct.pack("<IIQ", 9, 4, 1000), 1),
    "an array of arrays": file(text("a") + struct.pack("<IIQ", 9, 9, 1), 1),
    "rank 0": file(tensors=row("t", []), tensor_count=1),
    "rank 5": file(tensors=row("t", [1] * 5), tensor_count=1),
    "an empty dimension": file(tensors=row("t", [0]), tensor_count=1),
    "a size that overflows": file(tensors=row("t", [2**30] * 4), tensor_count=1),
    "an unknown tensor type": file(tensors=row("t", [32], 77), tensor_count=1, payload=bytes(128)),
    "half a block": file(tensors=row("t", [16], 8), tensor_count=1, payload=bytes(128)),
    "a tensor beyond the file": file(tensors=row("t", [32]), tensor_count=1, payload=bytes(64)),
    "an unaligned tensor": file(tensors=row("t", [1], 0, 4), tensor_count=1, payload=bytes(64)),
    "overlapping tensors": file(tensors=row("t", [16]) + row("u", [16], 0, 32), tensor_count=2,
                                payload=bytes(128)),
    "a repeated tensor": file(tensors=row("t", [8]) + row("t", [8], 0, 32), tensor_count=2,
                              payload=bytes(64)),
    "an alignment of 3": file(number("general.alignment", 3), 1),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_a_gguf_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(GgufError, match=r"^GGUF at x\.gguf"):
        read(tmp_path, BROKEN[name])


def test_a_missing_file_is_a_gguf_error(tmp_path: Path) -> None:
    with pytest.raises(GgufError, match="unreadable"):
        read_gguf(tmp_path / "none.gguf")


def test_random_damage_never_raises_anything_else(small_gguf: Make, tmp_path: Path) -> None:
    sound = small_gguf().path.read_bytes()
    head = sound.index(b"blk.1.ffn_down.weight") + 60
    draw, refused = random.Random(3), 0
    for _ in range(400):
        data = bytearray(sound)
        for _ in range(draw.randint(1, 4)):
            data[draw.randrange(head)] = draw.randrange(256)
        try:
            read(tmp_path, bytes(data[: draw.choice((len(data), draw.randrange(len(data))))]))
        except GgufError:
            refused += 1
    assert refused > 0


def test_it_agrees_with_the_library_of_the_format(small_gguf: Make) -> None:
    file = small_gguf(types={"blk.0.attn_q.weight": "Q4_1", "token_embd.weight": "Q8_0"})
    ours, theirs = read_gguf(file.path), gguf.GGUFReader(file.path)
    assert [*ours.tensors] == [t.name for t in theirs.tensors]
    for tensor in theirs.tensors:
        mine = ours.tensors[tensor.name]
        assert (mine.begin, mine.end - mine.begin) == (tensor.data_offset, tensor.n_bytes)
        assert mine.shape == tuple(reversed(tensor.shape.tolist()))
        assert mine.type_name == tensor.tensor_type.name
    keys = [k for k in theirs.fields if not k.startswith("GGUF.")]
    assert [*ours.fields] == keys
    for key in keys:
        assert ours.fields[key].value == theirs.fields[key].contents()
