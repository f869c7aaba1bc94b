"""What every byte string must give a container parser, for property tests and long fuzzing.

A parser refuses with an error of this project or accepts; it never fails in another way. What it
accepts, the format's own library must read as the same tensors, byte by byte.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from trlm_lab.acquire import check_gguf
from trlm_lab.acquire.gguf_file import read_gguf
from trlm_lab.base.safetensors_header import read_header
from trlm_lab.errors import Refused


def safetensors_input(data: bytes, path: Path) -> bool:
    """Whether the safetensors parser accepts `data`, which is written to `path`.

    Raises:
        AssertionError: the `safetensors` library reads something else, or nothing.
    """
    from safetensors import deserialize

    path.write_bytes(data)
    try:
        tensors = read_header(path)
    except Refused:
        return False
    theirs = dict(deserialize(data))  # type: ignore[no-untyped-call]
    assert sorted(theirs) == sorted(t.name for t in tensors), "other tensor names"
    for tensor in tensors:
        row = theirs[tensor.name]
        assert tuple(row["shape"]) == tensor.shape, f"{tensor.name}: another shape"
        assert row["dtype"] == tensor.dtype, f"{tensor.name}: another type"
        stored = data[tensor.begin : tensor.end]
        assert bytes(row["data"]) == stored, f"{tensor.name}: other bytes"
    return True


def gguf_input(data: bytes, path: Path) -> bool:
    """Whether the GGUF parser accepts `data`, which is written to `path`.

    The conversion's own checks run too; they may only refuse.

    Raises:
        AssertionError: the `gguf` library reads something else.
    """
    from gguf import GGUFReader

    path.write_bytes(data)
    check_gguf(path)
    try:
        file = read_gguf(path)
    except Refused:
        return False
    reader = GGUFReader(path)
    theirs = {tensor.name: tensor for tensor in reader.tensors}
    assert sorted(theirs) == sorted(file.tensors), "other tensor names"
    for name, tensor in file.tensors.items():
        row = theirs[name]
        assert tuple(int(n) for n in reversed(row.shape)) == tensor.shape, f"{name}: another shape"
        assert row.tensor_type.name == tensor.type_name, f"{name}: another type"
        assert int(row.data_offset) == tensor.begin, f"{name}: another place"
        assert row.data.tobytes() == data[tensor.begin : tensor.end], f"{name}: other bytes"
    keys = {key for key in reader.fields if not key.startswith("GGUF.")}
    assert keys == set(file.fields), "other keys"
    return True


TARGETS: dict[str, Callable[[bytes, Path], bool]] = {
    "safetensors": safetensors_input,
    "gguf": gguf_input,
}
