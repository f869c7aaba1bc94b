"""An SLM2 file into a set. A shard takes its name when it is whole, the manifest comes last.

A set without manifest is unfinished; the same command goes on with it: a shard is kept whose bytes,
cut as its journal says, decode to these very pieces.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

from trlm_lab.base import canon
from trlm_lab.base.blobs import write_atomically
from trlm_lab.base.plain_file import open_plain, read_start
from trlm_lab.errors import NotCanonicalError, NotPlainFileError, SlmsetError, UnknownNameError
from trlm_lab.slm.numbers import Codec, ShardKind
from trlm_lab.slm.pieces import PieceDesc
from trlm_lab.slm.read import SlmFile, open_slm
from trlm_lab.slm.verify import verify_all
from trlm_lab.slmset.codecs import CODECS, decode_piece
from trlm_lab.slmset.files import Progress, mapped, silent
from trlm_lab.slmset.layout import FRONT, MANIFEST, MAX_PIECE, SHARD_PIECES, shard_name
from trlm_lab.slmset.manifest import Manifest, PieceRow, ShardRow, check_length
from trlm_lab.slmset.place import claimed, journal_name, remove, remove_foreign

Shard = tuple[ShardRow, list[PieceRow]]
#: A number of at most five bytes a piece, and some words.
_MAX_JOURNAL = 1 << 24


def split(
    path: Path,
    out: Path,
    *,
    codec: str = "zstd",
    shard_pieces: int = SHARD_PIECES,
    progress: Progress = silent,
) -> Manifest:
    """Write the set of an SLM2 file into the directory `out`, which is new, empty or unfinished.

    `codec` is `none`, `zstd` or `brotli`; each piece is compressed alone. Every hash of the file is
    checked first. Memory: one piece.

    Raises:
        UnknownNameError: no such codec.
        SlmError: the file is malformed or damaged.
        SlmsetFileError: `out` holds a finished set, or something else.
        SlmsetPolicyError: so many pieces that their manifest is too long for a reader.
        LockHeldError: another split is going on in `out`.
    """
    if codec not in Codec.__members__:
        raise UnknownNameError(kind="codec", name=codec, known=", ".join(Codec.__members__))
    slm = open_slm(mapped(path), where=path.name)
    verify_all(slm)
    with claimed(out, path):
        return _split(slm, out, Codec[codec], shard_pieces, progress)


def _split(
    slm: SlmFile, out: Path, codec: Codec, shard_pieces: int, progress: Progress
) -> Manifest:
    groups = [
        range(low, min(low + shard_pieces, len(slm.pieces)))
        for low in range(0, len(slm.pieces), shard_pieces)
    ]
    shards: list[ShardRow] = []
    pieces: list[PieceRow] = []
    for index, group in enumerate(groups):
        progress(f"split {codec.name}", index, len(groups))
        shard, rows = _kept(out, slm, index, group, codec) or _written(
            out, slm, index, group, codec
        )
        shards.append(shard)
        pieces += rows
    front = bytes(slm.view[: slm.header.body_off])
    write_atomically(out / FRONT, front)
    manifest = Manifest(
        file_sha256=hashlib.sha256(slm.view).digest(),
        file_len=slm.header.artifact_len,
        front_sha256=hashlib.sha256(front).digest(),
        front_len=len(front),
        merkle_root=slm.header.merkle_root_sha256,
        pieces=tuple(pieces),
        shards=tuple(shards),
    )
    encoded = manifest.encode()
    check_length(encoded, where=slm.where)
    remove_foreign(out, len(groups))
    write_atomically(out / MANIFEST, encoded)
    remove(out, {journal_name(index) for index in range(len(groups))}.__contains__)
    progress(f"split {codec.name}", len(groups), len(groups))
    return manifest


def _kept(out: Path, slm: SlmFile, index: int, group: range, codec: Codec) -> Shard | None:
    """A shard of an unfinished split, where its bytes, cut as its journal says, are this one."""
    try:
        row = canon.decode(read_start(out / journal_name(index), _MAX_JOURNAL))
        sizes = row["stored_len"]
        known = row["codec"] == codec and len(sizes) == len(group)
        if not known or not all(type(size) is int and 0 < size <= MAX_PIECE for size in sizes):
            return None
        making = _Making(index, codec)
        with open_plain(out / shard_name(index)) as stream:
            for number, size in zip(group, sizes, strict=True):
                own, stored = slm.pieces[number], stream.read(size)
                data = decode_piece(codec, stored, own.logical_len, shard_name(index))
                if hashlib.sha256(data).digest() != own.sha256:
                    return None
                making.add(number, own, stored)
            return None if stream.read(1) else making.done()
    except (OSError, KeyError, TypeError, NotCanonicalError, SlmsetError, NotPlainFileError):
        return None


class _Making:
    """A shard whose stored pieces come one after the other."""

    def __init__(self, index: int, codec: Codec) -> None:
        self.index, self.codec = index, codec
        self.rows: list[PieceRow] = []
        self._digest, self._at = hashlib.sha256(), 0

    def add(self, number: int, own: PieceDesc, stored: bytes) -> None:
        """The next piece, as it is stored."""
        self._digest.update(stored)
        digest, size = hashlib.sha256(stored).digest(), len(stored)
        self.rows.append(
            PieceRow(number, self.index, self._at, size, own.logical_len, own.sha256, digest)
        )
        self._at += size

    def done(self) -> Shard:
        """Its rows."""
        shard = ShardRow(
            self.index, ShardKind.local_file, self.codec, 0, self._at, self._digest.digest()
        )
        return shard, self.rows


def _written(out: Path, slm: SlmFile, index: int, group: range, codec: Codec) -> Shard:
    making = _Making(index, codec)
    handle, name = tempfile.mkstemp(prefix=".tmp-", dir=out)
    try:
        with os.fdopen(handle, "wb") as stream:
            for number in group:
                own = slm.pieces[number]
                stored = CODECS[codec].encode(
                    bytes(slm.view[own.file_off : own.file_off + own.logical_len])
                )
                stream.write(stored)
                making.add(number, own, stored)
            stream.flush()
            os.fsync(stream.fileno())
        journal = {"codec": int(codec), "stored_len": [row.stored_len for row in making.rows]}
        Path(name).replace(out / shard_name(index))
        write_atomically(out / journal_name(index), canon.encode(journal))
    finally:
        Path(name).unlink(missing_ok=True)
    return making.done()
