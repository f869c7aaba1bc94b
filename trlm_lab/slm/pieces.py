"""The piece table (fixed-size pieces of the body) and the shard table (one shard a file)."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from trlm_lab.errors import SlmNumberError, SlmPieceError, SlmUnsupportedError
from trlm_lab.slm.header import Header
from trlm_lab.slm.layout import HEADER, PIECE_DESC, PIECE_SIZE, SHARD_DESC, ByteTable
from trlm_lab.slm.numbers import Codec, ShardKind
from trlm_lab.slm.window import Window


@dataclass(frozen=True)
class PieceDesc:
    """One piece: lengths in bytes, `sha256` of its logical bytes."""

    piece_index: int
    shard_index: int
    file_off: int
    stored_len: int
    logical_len: int
    sha256: bytes

    def encode(self) -> bytes:
        """The 56 bytes."""
        return PIECE_DESC.pack({f.name: getattr(self, f.name) for f in fields(self)})


@dataclass(frozen=True)
class ShardDesc:
    """One shard; a single file has exactly one, its body."""

    shard_index: int
    kind: int
    codec: int
    artifact_family: int
    shard_len: int
    shard_sha256: bytes

    def encode(self) -> bytes:
        """The 52 bytes."""
        return SHARD_DESC.pack({f.name: getattr(self, f.name) for f in fields(self)})


def body_pieces(body_off: int, body_len: int, hashes: list[bytes]) -> list[PieceDesc]:
    """Descriptors of the body's pieces, given their hashes."""
    rows = []
    for i, digest in enumerate(hashes):
        size = min(PIECE_SIZE, body_len - i * PIECE_SIZE)
        rows.append(PieceDesc(i, 0, body_off + i * PIECE_SIZE, size, size, digest))
    return rows


def read_pieces(window: Window, header: Header) -> tuple[PieceDesc, ...]:
    """The piece table. Raises SlmPieceError where a field is not what the body asks for."""
    wanted = -(-header.body_len // PIECE_SIZE)
    if header.piece_count != wanted:
        raise SlmPieceError(
            where=window.at(HEADER.offset("piece_count")),
            field="piece_count",
            got=header.piece_count,
            expected=wanted,
        )
    rows = []
    for i, expected in enumerate(body_pieces(header.body_off, header.body_len, [b""] * wanted)):
        start = header.piece_table_off + i * PIECE_DESC.size
        row = PieceDesc(**PIECE_DESC.unpack(window.view, start))
        for name in ("piece_index", "shard_index", "file_off", "stored_len", "logical_len"):
            _expect(window, start, PIECE_DESC, f"piece {i}", row, name, getattr(expected, name))
        rows.append(row)
    return tuple(rows)


def read_shard(window: Window, header: Header) -> ShardDesc:
    """The one shard of a single file.

    Raises:
        SlmPieceError: another number of shards, another length or family.
        SlmNumberError: a kind or codec that the format does not define.
        SlmUnsupportedError: a kind or codec that a single file does not have.
    """
    if header.shard_count != 1:
        raise SlmPieceError(
            where=window.at(HEADER.offset("shard_count")),
            field="shard_count",
            got=header.shard_count,
            expected=1,
        )
    start = header.shard_table_off
    row = ShardDesc(**SHARD_DESC.unpack(window.view, start))
    for name, kinds in (("kind", ShardKind), ("codec", Codec)):
        got = getattr(row, name)
        place = window.at(start + SHARD_DESC.offset(name))
        if got not in list(kinds):
            known = ", ".join(f"{m.name} {m.value}" for m in kinds)
            raise SlmNumberError(where=place, field=f"shard {name}", got=got, expected=known)
        if got != 0:
            only = kinds(0).name
            raise SlmUnsupportedError(where=place, field=f"shard {name}", got=got, expected=only)
    for name, value in (
        ("shard_index", 0),
        ("artifact_family", 0),
        ("shard_len", header.body_len),
    ):
        _expect(window, start, SHARD_DESC, "shard", row, name, value)
    return row


def _expect(
    window: Window, start: int, table: ByteTable, label: str, row: Any, name: str, value: int
) -> None:
    got = getattr(row, name)
    if got != value:
        raise SlmPieceError(
            where=window.at(start + table.offset(name)),
            field=f"{label} {name}",
            got=got,
            expected=value,
        )
