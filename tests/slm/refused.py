"""Opens hostile bytes, and finds the places to change in a sound file."""

from typing import Any

import pytest

from trlm_lab.errors import SlmError
from trlm_lab.slm.layout import HEADER, TENSOR_DESC
from trlm_lab.slm.read import open_slm

BIG = 2**64 - 1


def refused(data: bytes, error: type[SlmError], byte: int | None = None) -> SlmError:
    """Open the bytes; the error has exactly this class, and names this byte."""
    with pytest.raises(SlmError) as caught:
        open_slm(data, where="bad.slm")
    assert type(caught.value) is error
    if byte is not None:
        assert caught.value.where == f"bad.slm: byte {byte}"
    assert caught.value.remedy
    return caught.value


def header_value(data: bytes, name: str) -> Any:
    return HEADER.unpack(memoryview(data), 0)[name]


def poked(data: bytes, at: int, value: int) -> bytes:
    return data[:at] + bytes([value]) + data[at + 1 :]


def descriptor_at(small: bytes, index: int, name: str) -> int:
    start: int = header_value(small, "tensor_dir_off")
    return start + index * TENSOR_DESC.size + TENSOR_DESC.offset(name)
