"""An opened set: manifest and front matter checked, pieces read one at a time."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from trlm_lab.base.plain_file import open_plain, read_start
from trlm_lab.errors import (
    SlmsetFileError,
    SlmsetFrontError,
    SlmsetLogicalHashError,
    SlmsetShardHashError,
    SlmsetStoredHashError,
)
from trlm_lab.slm.layout import ABI_MAJOR, ABI_MINOR, HEADER, MAGIC, PIECE_DESC
from trlm_lab.slm.numbers import Codec
from trlm_lab.slmset.codecs import decode_piece
from trlm_lab.slmset.layout import FRONT, shard_name
from trlm_lab.slmset.manifest import Manifest, PieceRow, read_manifest

_CHUNK = 1 << 20


@dataclass(frozen=True)
class OpenSet:
    """A directory whose manifest and front matter belong together."""

    root: Path
    manifest: Manifest
    front: bytes

    def piece(self, row: PieceRow) -> bytes:
        """The logical bytes of a piece: stored bytes hashed, decoded within bounds, hashed again.

        Raises:
            SlmsetFileError, SlmsetStoredHashError, SlmsetDecodeError, SlmsetTooLongError,
            SlmsetTooShortError, SlmsetLogicalHashError: the first rule that is broken.
        """
        where = f"{self.root / shard_name(row.shard_index)}: piece {row.piece_index}"
        stored = self._stored(row, where)
        got = hashlib.sha256(stored).digest()
        if got != row.stored_sha256:
            raise SlmsetStoredHashError(
                where=where,
                field="the stored bytes' hash",
                got=got.hex(),
                expected=row.stored_sha256.hex(),
            )
        codec = Codec(self.manifest.shards[row.shard_index].codec)
        data = decode_piece(codec, stored, row.logical_len, where)
        got = hashlib.sha256(data).digest()
        if got != row.sha256:
            raise SlmsetLogicalHashError(
                where=where, field="the piece's hash", got=got.hex(), expected=row.sha256.hex()
            )
        return data

    def _stored(self, row: PieceRow, where: str) -> bytes:
        with self.shard(row.shard_index) as stream:
            stream.seek(row.file_off)
            stored = stream.read(row.stored_len)
        if len(stored) != row.stored_len:
            raise SlmsetFileError(
                where=where, field="the shard", got=f"{len(stored)} bytes", expected=row.stored_len
            )
        return stored

    def shard(self, index: int) -> BinaryIO:
        """The file of a shard, open. Raises SlmsetFileError where it is missing."""
        path = self.root / shard_name(index)
        if not path.is_file():
            raise SlmsetFileError(
                where=str(path), field="the shard", got="absent", expected="there"
            )
        return open_plain(path)

    def check_shards(self) -> Iterator[int]:
        """Length and hash of every shard's stored bytes; yields each index when it is done.

        Raises:
            SlmsetFileError: missing, or of another length.
            SlmsetShardHashError: other bytes.
        """
        for row in self.manifest.shards:
            digest, size = hashlib.sha256(), 0
            with self.shard(row.shard_index) as stream:
                while chunk := stream.read(_CHUNK):
                    digest.update(chunk)
                    size += len(chunk)
            where = str(self.root / shard_name(row.shard_index))
            if size != row.shard_len:
                raise SlmsetFileError(
                    where=where, field="the shard", got=f"{size} bytes", expected=row.shard_len
                )
            if digest.digest() != row.shard_sha256:
                raise SlmsetShardHashError(
                    where=where,
                    field="the shard's hash",
                    got=digest.hexdigest(),
                    expected=row.shard_sha256.hex(),
                )
            yield row.shard_index


def open_set(root: Path) -> OpenSet:
    """Read manifest and front matter, and check that they speak of one file.

    Raises:
        SlmsetError: the first rule that is broken; no shard was opened.
    """
    manifest = read_manifest(root)
    path = root / FRONT
    if not path.is_file():
        raise SlmsetFileError(
            where=str(path), field="the front matter", got="absent", expected="there"
        )
    front = read_start(path, manifest.front_len)
    if len(front) != manifest.front_len:
        raise SlmsetFileError(
            where=str(path), field="the front matter", got="another length",
            expected=f"{manifest.front_len} bytes",
        )  # fmt: skip
    check_front(front, manifest, where=str(path))
    return OpenSet(root, manifest, front)


def check_front(front: bytes, manifest: Manifest, *, where: str) -> None:
    """Its hash, and its header and piece table against the manifest. Raises SlmsetFrontError."""
    digest = hashlib.sha256(front).digest()
    _same(where, "its hash", digest.hex(), manifest.front_sha256.hex())
    header = HEADER.unpack(memoryview(front), 0)
    version = (header["magic"], header["abi_major"], header["abi_minor"])
    _same(where, "magic and version", version, (MAGIC, ABI_MAJOR, ABI_MINOR))
    count = len(manifest.pieces)
    for name, value in (
        ("artifact_len", manifest.file_len),
        ("body_off", manifest.front_len),
        ("merkle_root_sha256", manifest.merkle_root),
        ("piece_count", count),
    ):
        _same(where, name, header[name], value)
    table, end = header["piece_table_off"], header["piece_table_off"] + count * PIECE_DESC.size
    _same(where, "the piece table's end", end <= len(front), True)
    view = memoryview(front)
    for row in manifest.pieces:
        own = PIECE_DESC.unpack(view, table + row.piece_index * PIECE_DESC.size)
        where_row = f"{where}: piece {row.piece_index}"
        _same(where_row, "logical_len", own["logical_len"], row.logical_len)
        _same(where_row, "sha256", own["sha256"].hex(), row.sha256.hex())


def _same(where: str, field: str, got: Any, expected: Any) -> None:
    if got != expected:
        raise SlmsetFrontError(where=where, field=field, got=got, expected=expected)
