"""Every rule of docs/formats/slmset.md, broken in a set whose other hashes hold."""

import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import brotli
import pytest
import zstandard

from trlm_lab.base import canon
from trlm_lab.errors import (
    SlmsetDecodeError,
    SlmsetError,
    SlmsetFileError,
    SlmsetFrontError,
    SlmsetIdentityError,
    SlmsetLogicalHashError,
    SlmsetManifestError,
    SlmsetPolicyError,
    SlmsetShardHashError,
    SlmsetStoredHashError,
    SlmsetTooLongError,
    SlmsetTooShortError,
    SlmsetUnsupportedError,
)
from trlm_lab.slmset import Manifest, check_set, join, split
from trlm_lab.slmset.codecs import CODECS
from trlm_lab.slmset.manifest import read_manifest

from .conftest import rewrite, stored_as

Copied = Callable[[str], Path]


def refused(root: Path, error: type[SlmsetError]) -> SlmsetError:
    """`join` refuses with this class, and `check` names its code."""
    with pytest.raises(SlmsetError) as caught:
        join(root, root.parent / "out.slm")
    assert type(caught.value) is error
    assert not (root.parent / "out.slm").exists()
    assert error.code in {finding["code"] for finding in check_set(root)}
    return caught.value


def with_piece(index: int, **values: Any) -> Callable[[Manifest], Manifest]:
    def change(manifest: Manifest) -> Manifest:
        rows = list(manifest.pieces)
        rows[index] = replace(rows[index], **values)
        return replace(manifest, pieces=tuple(rows))

    return change


def with_shard(index: int, **values: Any) -> Callable[[Manifest], Manifest]:
    def change(manifest: Manifest) -> Manifest:
        rows = list(manifest.shards)
        rows[index] = replace(rows[index], **values)
        return replace(manifest, shards=tuple(rows))

    return change


@pytest.mark.parametrize(
    "change",
    [
        with_piece(1, piece_index=2),
        with_piece(1, shard_index=1),
        with_piece(2, shard_index=7),
        with_piece(1, file_off=0),
        with_piece(1, logical_len=1000),
        with_piece(1, stored_len=0),
        with_shard(0, shard_index=1),
        with_shard(0, artifact_family=1),
        with_shard(0, kind=3),
        with_shard(0, codec=3),
        with_shard(1, shard_len=5),
        lambda m: replace(m, front_len=4097),
        lambda m: replace(m, front_len=0),
        lambda m: replace(m, file_len=m.front_len),
        lambda m: replace(m, file_len=2**64 - 1),
        lambda m: replace(m, pieces=m.pieces[:-1]),
        lambda m: replace(m, shards=m.shards[:1]),
        lambda m: replace(m, shards=(*m.shards, m.shards[0])),
    ],
)
def test_a_manifest_that_contradicts_itself(
    copied: Copied, change: Callable[[Manifest], Manifest]
) -> None:
    root = copied("zstd")
    rewrite(root, change)
    refused(root, SlmsetManifestError)


def test_a_manifest_of_another_form(copied: Copied) -> None:
    root = copied("zstd")
    path = root / "manifest.cbor"
    row = canon.decode(path.read_bytes())
    changes: list[Any] = [
        {**row, "schema": "trlm.slmset.v2"},
        {**row, "extra": 1},
        {k: v for k, v in row.items() if k != "merkle_root"},
        {**row, "file_len": "5"},
        {**row, "file_len": True},
        {**row, "merkle_root": b"short"},
        {**row, "pieces": [5]},
        {**row, "pieces": [{**row["pieces"][0], "path": "../x"}]},
        [],
    ]
    for changed in changes:
        path.write_bytes(canon.encode(changed))
        refused(root, SlmsetManifestError)
    for raw in (b"", b"\xff", canon.encode(row) + b"\0", b"\xbf\xff"):
        path.write_bytes(raw)
        refused(root, SlmsetManifestError)


@pytest.mark.parametrize("name", ["logical_len", "stored_len"])
def test_a_size_above_the_policy_is_refused_before_anything_is_decoded(
    name: str, copied: Copied, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = copied("zstd")
    manifest = read_manifest(root)
    big = (2 << 20) + 1
    grown = big - getattr(manifest.pieces[1], name) if name == "stored_len" else 0
    rewrite(root, with_piece(1, **{name: big}))
    if grown:
        # Written by hand: the reader would not take it in between.
        row = canon.decode((root / "manifest.cbor").read_bytes())
        row["shards"][0]["shard_len"] += grown
        (root / "manifest.cbor").write_bytes(canon.encode(row))

    def never(*given: object) -> bytes:
        raise AssertionError("a decoder was called")

    monkeypatch.setattr("trlm_lab.slmset.reader.decode_piece", never)
    refused(root, SlmsetPolicyError)


def test_shards_that_lie_elsewhere_are_not_read(copied: Copied) -> None:
    root = copied("none")
    rewrite(root, with_shard(1, kind=1))
    refused(root, SlmsetUnsupportedError)


@pytest.mark.parametrize("name", ["manifest.cbor", "front.bin", "shard-00001.bin"])
def test_a_missing_file(name: str, copied: Copied) -> None:
    root = copied("none")
    (root / name).unlink()
    refused(root, SlmsetFileError)


def test_files_of_another_length(copied: Copied) -> None:
    root = copied("none")
    shard = root / "shard-00001.bin"
    whole = shard.read_bytes()
    shard.write_bytes(whole[:-1])
    refused(root, SlmsetFileError)
    shard.write_bytes(whole + b"\0")
    assert [f["code"] for f in check_set(root)] == ["SLMSET_FILE"]
    # Every piece has its hash, and yet this is no set.
    refused(root, SlmsetFileError)
    shard.write_bytes(whole)
    front = root / "front.bin"
    for data in (front.read_bytes()[:-1], front.read_bytes() + b"\0"):
        front.write_bytes(data)
        refused(root, SlmsetFileError)


def test_a_manifest_that_is_too_long(
    copied: Copied, artifact: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody takes it apart, and nobody writes it."""
    root = copied("none")
    (root / "manifest.cbor").write_bytes(b"\x9a\x00\x40\x00\x00" + b"\x80" * (1 << 22))

    def never(*given: object, **named: object) -> None:
        raise AssertionError("it was decoded")

    with monkeypatch.context() as patched:
        patched.setattr("trlm_lab.slmset.manifest.canon.decode", never)
        refused(root, SlmsetPolicyError)
        (root / "manifest.cbor").write_bytes(b"\x9a\x00\x01\x00\x00" + b"\x80" * (1 << 16))
        refused(root, SlmsetManifestError)
    monkeypatch.setattr("trlm_lab.slmset.manifest.MAX_MANIFEST", 500)
    with pytest.raises(SlmsetPolicyError):
        split(artifact, tmp_path / "new")
    assert not (tmp_path / "new" / "manifest.cbor").exists()


def test_a_front_matter_of_another_file(copied: Copied) -> None:
    root = copied("none")
    front = bytearray((root / "front.bin").read_bytes())
    front[300] ^= 1
    (root / "front.bin").write_bytes(front)
    refused(root, SlmsetFrontError)

    def adopt(manifest: Manifest) -> Manifest:
        return replace(manifest, front_sha256=hashlib.sha256(front).digest())

    # With its hash put right, the whole file has another one.
    rewrite(root, adopt)
    refused(root, SlmsetIdentityError)
    rewrite(root, lambda m: replace(m, merkle_root=bytes(32)))
    refused(root, SlmsetFrontError)


def test_a_piece_table_that_says_otherwise(copied: Copied) -> None:
    root = copied("none")
    rewrite(root, with_piece(0, sha256=bytes(32)))
    refused(root, SlmsetFrontError)


@pytest.mark.parametrize("codec", ["none", "zstd", "brotli"])
def test_stored_bytes_are_hashed_before_a_decoder_sees_them(
    codec: str, copied: Copied, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = copied(codec)
    shard = root / "shard-00000.bin"
    data = bytearray(shard.read_bytes())
    data[7] ^= 1
    shard.write_bytes(data)
    seen: list[int] = []
    original = CODECS.copy()
    for number, one in original.items():

        def watch(stored: bytes, size: int, one: Any = one) -> bytes:
            seen.append(len(stored))
            return bytes(one.decode(stored, size))

        monkeypatch.setitem(CODECS, number, replace(one, decode=watch))
    refused(root, SlmsetStoredHashError)
    piece = read_manifest(root).pieces[0]
    assert codec == "none" or piece.stored_len not in seen[:1]


def test_a_shard_of_another_hash(copied: Copied) -> None:
    root = copied("zstd")
    rewrite(root, with_shard(0, shard_sha256=bytes(32)))
    assert [f["code"] for f in check_set(root)] == [SlmsetShardHashError.code]


def frames(codec: str, data: bytes) -> bytes:
    if codec == "zstd":
        return zstandard.ZstdCompressor().compress(data)
    encoded: bytes = brotli.compress(data, quality=4)
    return encoded


@pytest.mark.parametrize("codec", ["zstd", "brotli"])
def test_what_a_decoder_may_give(codec: str, copied: Copied, artifact: Path) -> None:
    root = copied(codec)
    start = read_manifest(root).front_len
    data = artifact.read_bytes()[start : start + (1 << 20)]
    good = frames(codec, data)
    bomb = frames(codec, bytes(1 << 25))
    for stored, error in (
        (frames(codec, data + b"x"), SlmsetTooLongError),
        (bomb, SlmsetTooLongError),
        (frames(codec, data[:-1]), SlmsetTooShortError),
        (frames(codec, data[:-1] + b"x"), SlmsetLogicalHashError),
        (good + b"\0", SlmsetDecodeError),
        (good + good, SlmsetDecodeError),
        (good[:-1], SlmsetDecodeError),
        (b"\xff" * 50, SlmsetDecodeError),
    ):
        stored_as(root, 0, stored)
        assert "piece 0" in refused(root, error).where
    stored_as(root, 0, good)
    assert check_set(root) == []


def test_a_frame_that_asks_for_much_memory(copied: Copied, artifact: Path) -> None:
    root = copied("zstd")
    start = read_manifest(root).front_len
    data = artifact.read_bytes()[start : start + (1 << 20)]
    wide = zstandard.ZstdCompressionParameters(window_log=26, write_content_size=False)
    compressor = zstandard.ZstdCompressor(compression_params=wide).compressobj()
    stored_as(root, 0, compressor.compress(data) + compressor.flush())
    refused(root, SlmsetDecodeError)


def test_another_whole(copied: Copied) -> None:
    root = copied("none")
    rewrite(root, lambda m: replace(m, file_sha256=bytes(32)))
    refused(root, SlmsetIdentityError)
    assert not list(root.parent.glob(".out*"))


def test_every_flipped_byte_of_the_manifest_is_found(copied: Copied) -> None:
    root = copied("none")
    path = root / "manifest.cbor"
    data = bytearray(path.read_bytes())
    missed = []
    for at in range(0, len(data), 7):
        data[at] ^= 1 << at % 8
        path.write_bytes(data)
        if not check_set(root):
            missed.append(at)
        data[at] ^= 1 << at % 8
    assert missed == []
