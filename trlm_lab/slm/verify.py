"""Check the hashes of an opened file, streamed: self hash, tensors, pieces, shard, Merkle root."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from trlm_lab.errors import SlmHashError
from trlm_lab.slm.layout import HEADER, PIECE_DESC, SHARD_DESC, TENSOR_DESC
from trlm_lab.slm.merkle import SLM2_MERKLE
from trlm_lab.slm.numbers import Layout
from trlm_lab.slm.read import SlmFile
from trlm_lab.slm.write import self_hash_input


def self_sha256(slm: SlmFile) -> bytes:
    """SHA-256 of the whole file with bytes 136 to 208 read as zero."""
    digest = hashlib.sha256(self_hash_input(bytes(slm.view[: HEADER.size])))
    digest.update(slm.view[HEADER.size :])
    return digest.digest()


def piece_views(slm: SlmFile) -> Iterator[memoryview]:
    """The pieces of the body, in order."""
    for piece in slm.pieces:
        yield slm.view[piece.file_off : piece.file_off + piece.logical_len]


def merkle_leaves(slm: SlmFile) -> list[bytes]:
    """Leaf hashes, computed from the pieces."""
    return [SLM2_MERKLE.leaf(piece) for piece in piece_views(slm)]


def verify_self(slm: SlmFile) -> None:
    """The self hash. Raises SlmHashError."""
    _compare(slm, HEADER.offset("self_sha256"), "self_sha256",
             slm.header.self_sha256, self_sha256(slm))  # fmt: skip


def verify_merkle(slm: SlmFile) -> None:
    """The Merkle root over the body's pieces. Raises SlmHashError."""
    root = SLM2_MERKLE.root(merkle_leaves(slm))
    at = HEADER.offset("merkle_root_sha256")
    _compare(slm, at, "merkle_root_sha256", slm.header.merkle_root_sha256, root)


def verify_tensors(slm: SlmFile) -> None:
    """The truncated hash of every stored tensor. Raises SlmHashError."""
    for i, tensor in enumerate(slm.tensors):
        if tensor.descriptor.layout == Layout.alias:
            continue
        digest = hashlib.sha256(tensor.data)
        digest.update(tensor.scales)
        at = slm.header.tensor_dir_off + i * TENSOR_DESC.size
        at += TENSOR_DESC.offset("sha256_trunc128")
        _compare(slm, at, f"tensor {tensor.name}", tensor.sha256_trunc128, digest.digest()[:16])


def verify_pieces(slm: SlmFile) -> None:
    """The hash of every piece, and of the shard. Raises SlmHashError."""
    for i, view in enumerate(piece_views(slm)):
        at = slm.header.piece_table_off + i * PIECE_DESC.size + PIECE_DESC.offset("sha256")
        _compare(slm, at, f"piece {i}", slm.pieces[i].sha256, hashlib.sha256(view).digest())
    at = slm.header.shard_table_off + SHARD_DESC.offset("shard_sha256")
    body = hashlib.sha256(slm.body).digest()
    _compare(slm, at, "shard 0", slm.shard.shard_sha256, body)


def verify_identity(slm: SlmFile) -> None:
    """Self hash and Merkle root: together they cover every byte. Raises SlmHashError."""
    verify_self(slm)
    verify_merkle(slm)


def verify_all(slm: SlmFile) -> None:
    """Every hash in the file, the most local first, so that an error names the damaged place.

    Raises:
        SlmHashError: the first hash that differs.
    """
    verify_tensors(slm)
    verify_pieces(slm)
    verify_identity(slm)


def _compare(slm: SlmFile, offset: int, field: str, stored: bytes, computed: bytes) -> None:
    if stored != computed:
        raise SlmHashError(
            where=f"{slm.where or 'buffer'}: byte {offset}",
            field=field,
            got=stored.hex(),
            expected=computed.hex(),
        )
