"""Whatever stands where a set or its file is written: strange entries, leftovers, other writers."""

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from trlm_lab.base import canon
from trlm_lab.base.file_lock import locked_at_once
from trlm_lab.errors import (
    LockHeldError,
    NotPlainFileError,
    PathMissingError,
    SlmAlignmentError,
    SlmsetFileError,
)
from trlm_lab.slm.layout import HEADER
from trlm_lab.slmset import check_set, join, split
from trlm_lab.slmset.manifest import Manifest, read_manifest

from .conftest import rewrite

Sets = Callable[[str], Path]
FINISHED = ["front.bin", "manifest.cbor", "shard-00000.bin"]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("name", ["file", "pipe", ".tmp-a", "shard-00000.bin", "shard-x.bin"])
def test_what_no_split_leaves(name: str, artifact: Path, tmp_path: Path) -> None:
    out = tmp_path / "set"
    if name in ("file", "pipe"):
        out.write_text("mine") if name == "file" else os.mkfifo(out)
    else:
        out.mkdir()
        (out / name).mkdir()
    with pytest.raises(SlmsetFileError, match="the directory is"):
        split(artifact, out)
    assert out.is_fifo() or (out.read_text() == "mine" if out.is_file() else names(out) == [name])


def test_a_source_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(PathMissingError):
        split(tmp_path / "none.slm", tmp_path / "set")
    assert names(tmp_path) == []


def test_an_unfinished_split_of_other_parameters_leaves_nothing(
    artifact: Path, tmp_path: Path
) -> None:
    out, other = tmp_path / "set", tmp_path / "other"
    split(artifact, out, codec="none", shard_pieces=1)
    (out / "manifest.cbor").unlink()
    (out / ".shard-00003.bin.cbor").write_bytes(b"of a killed split")
    (out / ".tmp-killed").write_bytes(b"x")
    (out / ".lock").write_bytes(b"1\n")
    split(artifact, out, shard_pieces=64)
    split(artifact, other, shard_pieces=64)
    assert names(out) == names(other) == FINISHED
    assert check_set(out) == []


@pytest.mark.parametrize(
    "journal",
    [
        b"",
        b"\xff",
        canon.encode([]),
        canon.encode({"codec": 0}),
        canon.encode({"codec": 0, "stored_len": 5}),
        canon.encode({"codec": 0, "stored_len": [0, 1 << 21, 0, 0]}),
        canon.encode({"codec": 0, "stored_len": [1 << 20, 1 << 20, 1 << 20, 2**63]}),
        canon.encode({"codec": 0, "stored_len": ["x"] * 4}),
        canon.encode({"codec": 1, "stored_len": [1 << 20] * 4}),
    ],
)
def test_a_journal_that_lies_is_not_believed(
    journal: bytes, artifact: Path, sets: Sets, tmp_path: Path
) -> None:
    out = tmp_path / "set"
    out.mkdir()
    (out / "shard-00000.bin").write_bytes(b"\0" * (4 << 20))
    (out / ".shard-00000.bin.cbor").write_bytes(journal)
    split(artifact, out, codec="none")
    assert check_set(out) == []
    assert names(out) == FINISHED


def test_a_pipe_in_the_place_of_a_journal_does_not_hold_a_split_up(
    artifact: Path, tmp_path: Path
) -> None:
    out = tmp_path / "set"
    out.mkdir()
    os.mkfifo(out / ".shard-00000.bin.cbor")
    with pytest.raises(SlmsetFileError, match="no plain file"):
        split(artifact, out)


def test_one_split_at_a_time(artifact: Path, tmp_path: Path) -> None:
    out = tmp_path / "set"
    with locked_at_once(out / ".lock"), pytest.raises(LockHeldError):
        split(artifact, out)
    split(artifact, out)
    assert names(out) == FINISHED


def part_of(out: Path, root: Path) -> Path:
    """The unfinished file of a join."""
    return out.with_name(f".{out.name}.{read_manifest(root).file_sha256.hex()[:16]}.join")


@pytest.mark.parametrize("kind", ["symbolic link", "hard link", "pipe"])
def test_a_join_writes_through_no_link(
    kind: str, artifact: Path, sets: Sets, tmp_path: Path
) -> None:
    out, victim = tmp_path / "out.slm", tmp_path / "victim"
    victim.write_text("precious")
    part = part_of(out, sets("zstd"))
    if kind == "pipe":
        os.mkfifo(part)
    elif kind == "hard link":
        part.hardlink_to(victim)
    else:
        part.symlink_to(victim)
    join(sets("zstd"), out)
    assert victim.read_text() == "precious"
    assert out.read_bytes() == artifact.read_bytes()
    assert names(tmp_path) == ["out.slm", "victim"]


def test_a_directory_in_the_place_of_the_unfinished_file(sets: Sets, tmp_path: Path) -> None:
    part_of(tmp_path / "out.slm", sets("zstd")).mkdir()
    with pytest.raises(NotPlainFileError):
        join(sets("zstd"), tmp_path / "out.slm")


def test_one_join_at_a_time(sets: Sets, tmp_path: Path) -> None:
    out = tmp_path / "out.slm"
    with locked_at_once(part_of(out, sets("zstd"))), pytest.raises(LockHeldError):
        join(sets("zstd"), out)
    join(sets("zstd"), out)
    assert names(tmp_path) == ["out.slm"]


KILLED = """
import os, signal, sys
from pathlib import Path
import trlm_lab.slmset.{module} as made
module = sys.modules["trlm_lab.slmset.{module}"]
seen = []
def progress(what, done, total):
    seen.append(done)
    if len(seen) == 3:
        os.kill(os.getpid(), signal.SIGKILL)
module.{module}(Path(sys.argv[1]), Path(sys.argv[2]), progress=progress{more})
"""


def killed(module: str, source: Path, out: Path, more: str = "") -> None:
    code = KILLED.format(module=module, more=more)
    done = subprocess.run([sys.executable, "-c", code, str(source), str(out)], check=False)
    assert done.returncode == -9


def test_what_a_killed_split_and_a_killed_join_leave_is_gone_on_with(
    artifact: Path, sets: Sets, tmp_path: Path
) -> None:
    root, out = tmp_path / "set", tmp_path / "out.slm"
    killed("split", artifact, root, ", shard_pieces=1")
    assert (root / ".lock").exists()
    assert not (root / "manifest.cbor").exists()
    before = (root / "shard-00000.bin").stat().st_ino
    split(artifact, root, shard_pieces=1)
    assert (root / "shard-00000.bin").stat().st_ino == before
    assert names(root) == ["front.bin", "manifest.cbor", *(f"shard-0000{i}.bin" for i in range(4))]
    killed("join", root, out)
    assert not out.exists()
    join(root, out)
    assert out.read_bytes() == artifact.read_bytes()
    assert names(tmp_path) == ["out.slm", "set"]


def test_an_unsound_file_in_a_sound_set(copied: Sets, tmp_path: Path) -> None:
    """Check and join say the same: every hash holds, and the directory stands 8 bytes off."""
    root = copied("none")
    front = bytearray((root / "front.bin").read_bytes())
    header = HEADER.unpack(memoryview(front), 0)
    at = HEADER.offset("tensor_dir_off")
    front[at : at + 8] = (header["tensor_dir_off"] + 8).to_bytes(8, "little")
    (root / "front.bin").write_bytes(front)
    body = b"".join((root / f"shard-0000{i}.bin").read_bytes() for i in range(2))

    def adopt(manifest: Manifest) -> Manifest:
        return replace(
            manifest,
            front_sha256=hashlib.sha256(front).digest(),
            file_sha256=hashlib.sha256(bytes(front) + body).digest(),
        )

    rewrite(root, adopt)
    assert [finding["code"] for finding in check_set(root)] == [SlmAlignmentError.code]
    with pytest.raises(SlmAlignmentError):
        join(root, tmp_path / "out.slm")
    assert names(tmp_path) == [root.name]
