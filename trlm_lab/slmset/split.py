"""An SLM2 file into a set. A shard takes its name when it is whole, the manifest comes last.

A set without manifest is unfinished; the same command goes on with it: shards whose journal names
these very pieces, and whose bytes still have the journal's hashes, are kept.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

from trlm_lab.base import canon
from trlm_lab.base.blobs import file_sha256, write_atomically
from trlm_lab.errors import NotCanonicalError, OutputIsInputError, SlmsetFileError, UnknownNameError
from trlm_lab.slm.numbers import Codec, ShardKind
from trlm_lab.slm.read import SlmFile, open_slm
from trlm_lab.slm.verify import verify_all
from trlm_lab.slmset.codecs import CODECS
from trlm_lab.slmset.files import Progress, mapped, silent
from trlm_lab.slmset.layout import FRONT, MANIFEST, SHARD_PIECES, shard_name
from trlm_lab.slmset.manifest import Manifest, PieceRow, ShardRow

Shard = tuple[ShardRow, list[PieceRow]]


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
    """
    if codec not in Codec.__members__:
        raise UnknownNameError(kind="codec", name=codec, known=", ".join(Codec.__members__))
    slm = open_slm(mapped(path), where=path.name)
    verify_all(slm)
    _claim(out, path)
    groups = [
        range(low, min(low + shard_pieces, len(slm.pieces)))
        for low in range(0, len(slm.pieces), shard_pieces)
    ]
    shards: list[ShardRow] = []
    pieces: list[PieceRow] = []
    for index, group in enumerate(groups):
        progress(f"split {codec}", index, len(groups))
        shard, rows = _kept(out, slm, index, group, Codec[codec]) or _written(
            out, slm, index, group, Codec[codec]
        )
        shards.append(shard)
        pieces += rows
    front = bytes(slm.view[: slm.header.body_off])
    write_atomically(out / FRONT, front)
    manifest = Manifest(
        file_sha256=bytes.fromhex(file_sha256(path)),
        file_len=slm.header.artifact_len,
        front_sha256=hashlib.sha256(front).digest(),
        front_len=len(front),
        merkle_root=slm.header.merkle_root_sha256,
        pieces=tuple(pieces),
        shards=tuple(shards),
    )
    write_atomically(out / MANIFEST, manifest.encode())
    for index in range(len(groups)):
        (out / _journal(index)).unlink(missing_ok=True)
    progress(f"split {codec}", len(groups), len(groups))
    return manifest


def _journal(index: int) -> str:
    return f".{shard_name(index)}.cbor"


def _claim(out: Path, path: Path) -> None:
    """Refuse a directory with anything in it but what an unfinished split leaves."""
    if path.resolve().is_relative_to(out.resolve()):
        raise OutputIsInputError(where=str(out))
    out.mkdir(parents=True, exist_ok=True)
    ours = (".tmp-", ".shard-", "shard-", FRONT)
    for found in sorted(out.iterdir()):
        if found.name == MANIFEST or not found.name.startswith(ours):
            raise SlmsetFileError(
                where=str(out), field="the directory", got=found.name, expected="a new or empty one"
            )
        if found.name.startswith(".tmp-"):
            found.unlink()


def _kept(out: Path, slm: SlmFile, index: int, group: range, codec: Codec) -> Shard | None:
    """A shard of an unfinished split, where its journal and its bytes say that it is this one."""
    try:
        row = canon.decode((out / _journal(index)).read_bytes())
        shard, rows = ShardRow(**row["shard"]), [PieceRow(**piece) for piece in row["pieces"]]
        same = shard.codec == codec and [p.piece_index for p in rows] == list(group)
        same = same and all(p.sha256 == slm.pieces[p.piece_index].sha256 for p in rows)
        if same and file_sha256(out / shard_name(index)) == shard.shard_sha256.hex():
            return shard, rows
    except (OSError, KeyError, TypeError, AttributeError, NotCanonicalError):
        pass
    return None


def _written(out: Path, slm: SlmFile, index: int, group: range, codec: Codec) -> Shard:
    digest, at, rows = hashlib.sha256(), 0, []
    handle, name = tempfile.mkstemp(prefix=".tmp-", dir=out)
    try:
        with os.fdopen(handle, "wb") as stream:
            for number in group:
                own = slm.pieces[number]
                data = bytes(slm.view[own.file_off : own.file_off + own.logical_len])
                stored = CODECS[codec].encode(data)
                stream.write(stored)
                digest.update(stored)
                stored_hash = hashlib.sha256(stored).digest()
                rows.append(
                    PieceRow(number, index, at, len(stored), len(data), own.sha256, stored_hash)
                )
                at += len(stored)
            stream.flush()
            os.fsync(stream.fileno())
        shard = ShardRow(index, ShardKind.local_file, codec, 0, at, digest.digest())
        journal = {"shard": dict(vars(shard)), "pieces": [dict(vars(row)) for row in rows]}
        Path(name).replace(out / shard_name(index))
        write_atomically(out / _journal(index), canon.encode(journal))
    finally:
        Path(name).unlink(missing_ok=True)
    return shard, rows
