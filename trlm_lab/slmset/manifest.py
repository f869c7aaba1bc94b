"""`manifest.cbor`: what the set is, where each piece lies, and every rule that needs no more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from trlm_lab.base import canon
from trlm_lab.base.canon_items import require_items
from trlm_lab.base.plain_file import read_start
from trlm_lab.errors import (
    NotCanonicalError,
    SlmsetFileError,
    SlmsetManifestError,
    SlmsetPolicyError,
    SlmsetUnsupportedError,
)
from trlm_lab.slm.layout import BODY_ALIGN, PIECE_SIZE
from trlm_lab.slm.numbers import Codec, ShardKind
from trlm_lab.slmset.layout import MANIFEST, MAX_FRONT, MAX_MANIFEST, MAX_PIECE, SCHEMA

Row = TypeVar("Row", "PieceRow", "ShardRow")
U64 = 2**64 - 1


@dataclass(frozen=True)
class PieceRow:
    """A piece: `file_off` counts within its shard's file; `sha256` is of the logical bytes."""

    piece_index: int
    shard_index: int
    file_off: int
    stored_len: int
    logical_len: int
    sha256: bytes
    stored_sha256: bytes


@dataclass(frozen=True)
class ShardRow:
    """A shard: its hash is over its stored bytes; every piece of it has its codec."""

    shard_index: int
    kind: int
    codec: int
    artifact_family: int
    shard_len: int
    shard_sha256: bytes


@dataclass(frozen=True)
class Manifest:
    """The whole set. `file_sha256` is the identity of the single file."""

    file_sha256: bytes
    file_len: int
    front_sha256: bytes
    front_len: int
    merkle_root: bytes
    pieces: tuple[PieceRow, ...]
    shards: tuple[ShardRow, ...]

    def encode(self) -> bytes:
        """Deterministic CBOR."""
        row = {**vars(self), "schema": SCHEMA}
        row["pieces"] = [dict(vars(piece)) for piece in self.pieces]
        row["shards"] = [dict(vars(shard)) for shard in self.shards]
        return canon.encode(row)


def read_manifest(root: Path) -> Manifest:
    """Read and check the manifest of a directory.

    Raises:
        SlmsetFileError: there is none.
        SlmsetManifestError: not canonical, another schema, a missing, unknown or ill-typed key,
            rows that contradict each other.
        SlmsetPolicyError: a declared size above the policy.
        SlmsetUnsupportedError: a shard that is not a local file, or a codec without a decoder.
    """
    path = root / MANIFEST
    if not path.is_file():
        raise SlmsetFileError(where=str(path), field="the manifest", got="absent", expected="there")
    data = read_start(path, MAX_MANIFEST)
    check_length(data, where=str(path))
    return decode_manifest(data, where=str(path))


def check_length(data: bytes, *, where: str) -> None:
    """Refuse a manifest that no reader takes. Raises SlmsetPolicyError."""
    if len(data) > MAX_MANIFEST:
        expected = f"at most {MAX_MANIFEST} bytes"
        raise SlmsetPolicyError(where=where, field="it", got="longer", expected=expected)


def decode_manifest(data: bytes, *, where: str = MANIFEST) -> Manifest:
    """The manifest of these bytes. Raises as `read_manifest`."""
    try:
        # A row of a piece has fifteen values in some two hundred bytes.
        require_items(data, 200 + len(data) // 8, where=where)
        row = canon.decode(data, where=where)
    except NotCanonicalError as error:
        detail = error.facts["detail"]
        raise SlmsetManifestError(
            where=where, field="the document", got=detail, expected="canonical CBOR"
        ) from error
    top = {"schema": str, **{f.name: _type_of(f.type) for f in fields(Manifest)}}
    values = _typed(row, top, where)
    if values.pop("schema") != SCHEMA:
        _refuse(where, "schema", row["schema"], SCHEMA)
    values["pieces"] = _rows(values["pieces"], PieceRow, f"{where}: pieces")
    values["shards"] = _rows(values["shards"], ShardRow, f"{where}: shards")
    manifest = Manifest(**values)
    _check_sizes(manifest, where)
    _check_shards(manifest, where)
    _check_pieces(manifest, where)
    return manifest


def _type_of(annotation: Any) -> type:
    return {"int": int, "bytes": bytes}.get(str(annotation), list)


def _typed(row: Any, wanted: Mapping[str, type], where: str) -> dict[str, Any]:
    """The values of a map with exactly these keys; hashes have 32 bytes, numbers fit in u64."""
    if not isinstance(row, dict) or row.keys() != wanted.keys():
        got = sorted(row) if isinstance(row, dict) else type(row).__name__
        _refuse(where, "the keys", got, sorted(wanted))
    for name, kind in wanted.items():
        value = row[name]
        good = type(value) is kind
        good = good and (kind is not bytes or len(value) == 32)
        if not good or (kind is int and not 0 <= value <= U64):
            shown = repr(value)
            _refuse(where, name, shown if len(shown) < 80 else f"{shown[:77]}...", kind.__name__)
    return dict(row)


def _rows(rows: list[Any], kind: type[Row], where: str) -> tuple[Row, ...]:
    wanted = {f.name: _type_of(f.type) for f in fields(kind)}
    return tuple(kind(**_typed(row, wanted, f"{where}[{i}]")) for i, row in enumerate(rows))


def _check_sizes(manifest: Manifest, where: str) -> None:
    if manifest.front_len > MAX_FRONT:
        raise SlmsetPolicyError(
            where=where, field="front_len", got=manifest.front_len, expected=f"at most {MAX_FRONT}"
        )
    if manifest.front_len == 0 or manifest.front_len % BODY_ALIGN:
        _refuse(where, "front_len", manifest.front_len, f"a multiple of {BODY_ALIGN}")
    if manifest.file_len <= manifest.front_len:
        _refuse(where, "file_len", manifest.file_len, f"above {manifest.front_len}")


def _check_shards(manifest: Manifest, where: str) -> None:
    """Shards are numbered; each is a local file of a known codec and holds its pieces exactly."""
    held: dict[int, int] = {}
    for piece in manifest.pieces:
        held[piece.shard_index] = held.get(piece.shard_index, 0) + piece.stored_len
    for index, shard in enumerate(manifest.shards):
        place = f"{where}: shards[{index}]"
        if shard.kind not in list(ShardKind) or shard.codec not in list(Codec):
            _refuse(place, "kind and codec", (shard.kind, shard.codec), "numbers of the format")
        if shard.kind != ShardKind.local_file:
            raise SlmsetUnsupportedError(where=place, field="kind", got=shard.kind, expected=0)
        if (shard.shard_index, shard.artifact_family) != (index, 0):
            got = (shard.shard_index, shard.artifact_family)
            _refuse(place, "shard_index and artifact_family", got, (index, 0))
        if shard.shard_len != held.pop(index, 0) or shard.shard_len == 0:
            _refuse(place, "shard_len", shard.shard_len, "the stored length of its pieces")
    if held:
        _refuse(where, "shard_index", sorted(held)[0], f"below {len(manifest.shards)}")


def _check_pieces(manifest: Manifest, where: str) -> None:
    """Pieces are numbered, cover the body in steps of one MiB, and fill their shards in order."""
    left = manifest.file_len - manifest.front_len
    if len(manifest.pieces) != -(-left // PIECE_SIZE):
        _refuse(where, "the number of pieces", len(manifest.pieces), -(-left // PIECE_SIZE))
    shard, at = 0, 0
    for index, piece in enumerate(manifest.pieces):
        place = f"{where}: pieces[{index}]"
        for name in ("logical_len", "stored_len"):
            if getattr(piece, name) > MAX_PIECE:
                got = getattr(piece, name)
                raise SlmsetPolicyError(
                    where=place, field=name, got=got, expected=f"at most {MAX_PIECE}"
                )
        if piece.shard_index == shard + 1 and index:
            shard, at = piece.shard_index, 0
        logical = min(PIECE_SIZE, left)
        expected = (index, shard, at, logical)
        got = (piece.piece_index, piece.shard_index, piece.file_off, piece.logical_len)
        if got != expected or piece.stored_len == 0:
            _refuse(place, "piece_index, shard_index, file_off, logical_len", got, expected)
        if manifest.shards[shard].codec == Codec.none and piece.stored_len != logical:
            _refuse(place, "stored_len", piece.stored_len, f"{logical} of a raw piece")
        at, left = at + piece.stored_len, left - logical


def _refuse(where: str, field: str, got: Any, expected: Any) -> NoReturn:
    raise SlmsetManifestError(where=where, field=field, got=got, expected=expected)
