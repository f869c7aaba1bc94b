"""Operand files: what an `.npz` may be."""

import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest

from tests.flows.operator_calls import F32
from trlm_lab.errors import (
    NpzUnreadableError,
)
from trlm_lab.flows import operand_file
from trlm_lab.flows.operand_file import read_operands, write_operands


def header(shape: str, descr: str = "'<f4'", version: bytes = b"\x01\x00") -> bytes:
    text = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    return b"\x93NUMPY" + version + struct.pack("<H", len(text)) + text


def archive(path: Path, *members: tuple[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        for name, data in members:
            out.writestr(name, data)
    return path


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (header("(1000000000000,)") + bytes(16), "takes 4000000000000 bytes, there are 16"),
        (header("(4,)") + bytes(15), "takes 16 bytes, there are 15"),
        (header("(4,)") + bytes(17), "takes 16 bytes, there are 17"),
        (header("(-1, -4)") + bytes(16), "takes 16 bytes"),
        (header("(1,)", "'|O'") + bytes(8), "element type object"),
        (header("(1,)", "'<c8'") + bytes(8), "element type complex64"),
        (header("(1,)", "'no'") + bytes(8), "NPZ_UNREADABLE"),
        (header("(4,)", version=b"\x09\x00") + bytes(16), "NPZ_UNREADABLE"),
        (header("4") + bytes(16), "NPZ_UNREADABLE"),
        (b"\x93NUMPY", "NPZ_UNREADABLE"),
        (b"", "NPZ_UNREADABLE"),
    ],
)  # fmt: skip
def test_a_member_that_is_not_what_it_declares_is_refused(
    tmp_path: Path, data: bytes, why: str
) -> None:
    path = archive(tmp_path / "x.npz", ("x.npy", data))
    with pytest.raises(NpzUnreadableError, match=why):
        read_operands(path)


def test_an_archive_larger_than_the_limit_is_refused_unread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = archive(tmp_path / "x.npz", ("x.npy", header("(1000000,)") + bytes(4_000_000)))
    assert path.stat().st_size < 10_000
    monkeypatch.setattr(operand_file, "LIMIT", 1_000_000)
    with pytest.raises(NpzUnreadableError, match="at most 1000000 are read"):
        read_operands(path)


def test_other_archives_and_files_are_refused(tmp_path: Path) -> None:
    sound = header("(4,)") + bytes(16)
    with pytest.warns(UserWarning, match="Duplicate name"):
        twice = archive(tmp_path / "a.npz", ("x.npy", sound), ("x.npy", sound))
    with pytest.raises(NpzUnreadableError, match="occurs twice"):
        read_operands(twice)
    with pytest.raises(NpzUnreadableError, match=r"no \.npy member"):
        read_operands(archive(tmp_path / "b.npz", ("x.txt", b"1")))
    with pytest.raises(NpzUnreadableError):
        read_operands(tmp_path / "missing.npz")
    np.save(tmp_path / "c.npy", np.ones(3))
    with pytest.raises(NpzUnreadableError):
        read_operands(tmp_path / "c.npy")
    whole = archive(tmp_path / "d.npz", ("x.npy", sound)).read_bytes()
    for length in range(0, len(whole), 7):
        (tmp_path / "e.npz").write_bytes(whole[:length])
        with pytest.raises(NpzUnreadableError):
            read_operands(tmp_path / "e.npz")


def test_what_is_written_is_read(tmp_path: Path) -> None:
    arrays = {"x": np.ones((2, 3), F32), "s": np.array(1.5), "t": np.array("q8_r128")}
    write_operands(tmp_path / "x", arrays)
    again = read_operands(tmp_path / "x")
    assert {name: a.tolist() for name, a in again.items()} == {
        name: a.tolist() for name, a in arrays.items()
    }
