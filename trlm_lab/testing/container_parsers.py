"""What every byte string must give a container parser, for property tests and long fuzzing.

A parser refuses with an error of this project, which names code, place and fix, or accepts; it
never fails in another way. What it accepts, the format's own library must read as the same tensors,
byte by byte.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from trlm_lab.acquire import check_gguf
from trlm_lab.acquire.gguf_file import read_gguf
from trlm_lab.base.safetensors_header import read_header
from trlm_lab.errors import (
    GgufError,
    JsonDuplicateKeyError,
    JsonError,
    Refused,
    SafetensorsError,
)

ACCEPTED = "accepted"


def _refusal(error: Refused, path: Path, *kinds: type[Refused]) -> str:
    """The code of a refusal, whose form is looked at."""
    assert isinstance(error, kinds), f"a refusal of another room: {error.code}"
    place = error.where.removeprefix(path.name)
    assert place != error.where, f"the place is {error.where!r}"
    assert place == "" or place[0] in ":,", f"the place is {error.where!r}"
    assert error.detail, "a refusal without reason"
    assert error.remedy, "a refusal without fix"
    return error.code


def safetensors_input(data: bytes, path: Path) -> str:
    """What the safetensors parser says of `data`, which is written to `path`: a code, or ACCEPTED.

    Raises:
        AssertionError: the `safetensors` library reads something else, or nothing; or a refusal
            lacks its form.
    """
    from safetensors import deserialize

    path.write_bytes(data)
    try:
        tensors = read_header(path)
    except Refused as error:
        return _refusal(error, path, SafetensorsError, JsonError, JsonDuplicateKeyError)
    theirs = dict(deserialize(data))  # type: ignore[no-untyped-call]
    assert sorted(theirs) == sorted(t.name for t in tensors), "other tensor names"
    for tensor in tensors:
        row = theirs[tensor.name]
        assert tuple(row["shape"]) == tensor.shape, f"{tensor.name}: another shape"
        assert row["dtype"] == tensor.dtype, f"{tensor.name}: another type"
        stored = data[tensor.begin : tensor.end]
        assert bytes(row["data"]) == stored, f"{tensor.name}: other bytes"
    return ACCEPTED


def gguf_input(data: bytes, path: Path) -> str:
    """What the GGUF parser says of `data`, which is written to `path`: a code, or ACCEPTED.

    The conversion's own checks run too; they may only refuse.

    Raises:
        AssertionError: the `gguf` library reads something else; or a refusal lacks its form.
    """
    from gguf import GGUFReader

    path.write_bytes(data)
    for finding in check_gguf(path):
        assert all(finding[key] for key in ("code", "where", "detail", "fix")), finding
    try:
        file = read_gguf(path)
    except Refused as error:
        return _refusal(error, path, GgufError)
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
    return ACCEPTED


TARGETS: dict[str, Callable[[bytes, Path], str]] = {
    "safetensors": safetensors_input,
    "gguf": gguf_input,
}
