"""A set is the file: the same bytes back, whatever the codec, also after an interruption."""

import hashlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from trlm_lab.base import canon
from trlm_lab.errors import (
    OutputIsInputError,
    SlmHashError,
    SlmsetFileError,
    SlmsetStoredHashError,
    UnknownNameError,
)
from trlm_lab.slmset import check_set, join, split
from trlm_lab.slmset.manifest import read_manifest
from trlm_lab.slmset.reader import OpenSet

Sets = Callable[[str], Path]


@pytest.mark.parametrize("codec", ["none", "zstd", "brotli"])
def test_the_file_comes_back_byte_for_byte(
    codec: str, artifact: Path, sets: Sets, tmp_path: Path
) -> None:
    root = sets(codec)
    data = artifact.read_bytes()
    assert check_set(root) == []
    assert join(root, tmp_path / "out.slm") == hashlib.sha256(data).hexdigest()
    assert (tmp_path / "out.slm").read_bytes() == data
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out.slm"]
    manifest = read_manifest(root)
    assert (len(manifest.pieces), len(manifest.shards)) == (4, 2)
    stored = sum(piece.stored_len for piece in manifest.pieces)
    assert stored < len(data) / 4 if codec != "none" else stored == len(data) - manifest.front_len
    assert sorted(p.name for p in root.iterdir()) == [
        "front.bin", "manifest.cbor", "shard-00000.bin", "shard-00001.bin",
    ]  # fmt: skip


def test_the_manifest_has_the_keys_of_the_page(sets: Sets) -> None:
    row = canon.decode((sets("zstd") / "manifest.cbor").read_bytes())
    assert set(row) == {
        "schema", "file_sha256", "file_len", "front_sha256", "front_len", "merkle_root", "pieces",
        "shards",
    }  # fmt: skip
    assert set(row["pieces"][0]) == {
        "piece_index", "shard_index", "file_off", "stored_len", "logical_len", "sha256",
        "stored_sha256",
    }  # fmt: skip
    assert set(row["shards"][0]) == {
        "shard_index", "kind", "codec", "artifact_family", "shard_len", "shard_sha256",
    }  # fmt: skip


def test_an_unfinished_split_is_gone_on_with(
    artifact: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "set"
    split(artifact, out, codec="zstd", shard_pieces=1)
    whole = {p.name: p.read_bytes() for p in out.iterdir()}
    # The room exports a function under the module's name.
    module: Any = sys.modules["trlm_lab.slmset.split"]
    made: list[int] = []
    original = module._written

    def stops(*given: object) -> object:
        made.append(given[2])  # type: ignore[arg-type]
        if len(made) == 3:
            raise KeyboardInterrupt
        return original(*given)  # type: ignore[arg-type]

    other = tmp_path / "other"
    monkeypatch.setattr(module, "_written", stops)
    with pytest.raises(KeyboardInterrupt):
        split(artifact, other, codec="zstd", shard_pieces=1)
    assert not (other / "manifest.cbor").exists()
    # One of the two finished shards is damaged meanwhile, and made again.
    damaged = other / "shard-00000.bin"
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"\0")
    split(artifact, other, codec="zstd", shard_pieces=1)
    assert made == [0, 1, 2, 0, 2, 3]
    assert {p.name: p.read_bytes() for p in other.iterdir()} == whole


def test_an_interrupted_join_is_gone_on_with(
    sets: Sets, artifact: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, asked = tmp_path / "out.slm", []
    original = OpenSet.piece

    def stops(self: OpenSet, row: object) -> bytes:
        asked.append(row.piece_index)  # type: ignore[attr-defined]
        if len(asked) == 3:
            raise KeyboardInterrupt
        return original(self, row)  # type: ignore[arg-type]

    monkeypatch.setattr(OpenSet, "piece", stops)
    with pytest.raises(KeyboardInterrupt):
        join(sets("zstd"), out)
    assert not out.exists()
    (left,) = tmp_path.iterdir()
    data = bytearray(left.read_bytes())
    data[len(data) - 5] ^= 1
    left.write_bytes(data)
    join(sets("zstd"), out)
    # Piece 1 was damaged where it lay, 2 and 3 had not come yet.
    assert asked == [0, 1, 2, 1, 2, 3]
    assert out.read_bytes() == artifact.read_bytes()
    assert list(tmp_path.iterdir()) == [out]


def test_a_damaged_set_leaves_what_stood_there(
    copied: Callable[[str], Path], tmp_path: Path
) -> None:
    root, out = copied("zstd"), tmp_path / "out.slm"
    out.write_bytes(b"before")
    shard = root / "shard-00001.bin"
    shard.write_bytes(b"\0" + shard.read_bytes()[1:])
    with pytest.raises(SlmsetStoredHashError):
        join(root, out)
    assert out.read_bytes() == b"before"


def test_what_is_no_place_or_no_source_for_a_split(artifact: Path, tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError):
        split(artifact, tmp_path / "a", codec="lz4")
    with pytest.raises(OutputIsInputError):
        split(artifact, artifact.parent)
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "notes.txt").write_text("mine")
    with pytest.raises(SlmsetFileError, match=r"notes\.txt"):
        split(artifact, tmp_path / "b")
    split(artifact, tmp_path / "c", codec="none")
    with pytest.raises(SlmsetFileError, match="manifest"):
        split(artifact, tmp_path / "c", codec="none")
    data = bytearray(artifact.read_bytes())
    data[-1] ^= 1
    (tmp_path / "bad.slm").write_bytes(data)
    with pytest.raises(SlmHashError):
        split(tmp_path / "bad.slm", tmp_path / "d")
    assert not (tmp_path / "d").exists()
