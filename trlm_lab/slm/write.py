"""Write an SLM2 file: hash the body as it streams, then the front matter, then the self hash.

    plan = plan_file(specs, config, tokenizer)
    hasher = BodyHasher()                      # update(...) with every body byte, padding included
    front = front_matter(plan, tensor_hashes, hasher.finish())
    front = seal(front, self_sha256)           # of front || body, see `self_hash_input`

`assemble` does all of it in memory for small files; `trlm_lab.pack` streams to disk.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace

from trlm_lab.errors import SlmShapeError
from trlm_lab.slm.config import shape_fields
from trlm_lab.slm.descriptors import TensorDesc, pieces_of
from trlm_lab.slm.header import Header
from trlm_lab.slm.layout import HEADER, MAX_RANK, NO_ALIAS, PIECE_SIZE, SELF_HASH_BLANK
from trlm_lab.slm.merkle import SLM2_MERKLE
from trlm_lab.slm.numbers import Codec, Layout, Role, ShardKind, TensorFlag
from trlm_lab.slm.pieces import ShardDesc, body_pieces
from trlm_lab.slm.plan import FilePlan, Placement, TensorSpec, plan_file

Payload = tuple[bytes, bytes]


@dataclass(frozen=True)
class BodyHashes:
    """SHA-256 of every piece, the Merkle root over them, SHA-256 of the whole body."""

    pieces: list[bytes]
    merkle_root: bytes
    shard: bytes


class BodyHasher:
    """Hashes of a body that arrives in chunks of any size, in constant memory."""

    def __init__(self) -> None:
        self._shard = hashlib.sha256()
        self._pieces: list[bytes] = []
        self._leaves: list[bytes] = []
        self._room = 0

    def update(self, chunk: bytes | memoryview) -> None:
        """The next bytes of the body."""
        self._shard.update(chunk)
        view = memoryview(chunk).cast("B")
        while len(view):
            if self._room == 0:
                self._begin()
            part, view = view[: self._room], view[self._room :]
            self._piece.update(part)
            self._leaf.update(part)
            self._room -= len(part)
            if self._room == 0:
                self._end()

    def _begin(self) -> None:
        # An RFC 9162 leaf is the piece behind a zero byte, so it needs a digest of its own.
        self._piece, self._leaf = hashlib.sha256(), hashlib.sha256(b"\x00")
        self._room = PIECE_SIZE

    def _end(self) -> None:
        self._pieces.append(self._piece.digest())
        self._leaves.append(self._leaf.digest())

    def finish(self) -> BodyHashes:
        """The hashes; the hasher is spent."""
        if self._room:
            self._end()
        return BodyHashes(self._pieces, SLM2_MERKLE.root(self._leaves), self._shard.digest())


def front_matter(plan: FilePlan, tensor_hashes: list[bytes], body: BodyHashes) -> bytes:
    """Everything before the body, with a self hash of zeros.

    `tensor_hashes` holds the first 16 bytes of SHA-256(data || scales), one a placement; those of
    aliases are ignored.
    """
    front = bytearray(plan.body_off)
    pieces = body_pieces(plan.body_off, plan.body_len, body.pieces)
    shard = ShardDesc(0, ShardKind.local_file, Codec.none, 0, plan.body_len, body.shard)
    directory = b"".join(
        _descriptor(plan, i, tensor_hashes).encode() for i in range(len(plan.placements))
    )
    for offset, data in (
        (0, _header(plan, body).encode()),
        (plan.string_table_off, plan.strings),
        (plan.config_off, plan.config),
        (plan.tensor_dir_off, directory),
        (plan.tokenizer_off, plan.tokenizer),
        (plan.piece_table_off, b"".join(p.encode() for p in pieces)),
        (plan.shard_table_off, shard.encode()),
    ):
        front[offset : offset + len(data)] = data
    return bytes(front)


def self_hash_input(front: bytes) -> bytes:
    """The front matter as the self hash reads it: bytes 136 to 208 are zero."""
    low, high = SELF_HASH_BLANK
    return front[:low] + bytes(high - low) + front[high:]


def seal(front: bytes, self_sha256: bytes) -> bytes:
    """The front matter with its self hash."""
    at = HEADER.offset("self_sha256")
    return front[:at] + self_sha256 + front[at + 32 :]


def assemble(
    specs: list[TensorSpec],
    config: dict[str, object],
    payloads: dict[str, Payload],
    tokenizer: bytes = b"",
) -> bytes:
    """A whole small file in memory; `payloads` has (data, scales) of every stored tensor.

    Raises:
        SlmShapeError: a plane of the wrong length.
    """
    plan = plan_file(specs, config, tokenizer)
    body, hashes = bytearray(plan.body_len), []
    for placement in plan.placements:
        if not placement.stored:
            hashes.append(bytes(16))
            continue
        data, scales = payloads[placement.spec.name]
        check_payload(placement, len(data), len(scales))
        for start, plane in ((placement.data_off, data), (placement.aux_off, scales)):
            if plane:
                body[start - plan.body_off : start - plan.body_off + len(plane)] = plane
        hashes.append(hashlib.sha256(data + scales).digest()[:16])
    hasher = BodyHasher()
    hasher.update(bytes(body))
    front = front_matter(plan, hashes, hasher.finish())
    digest = hashlib.sha256(self_hash_input(front) + body).digest()
    return seal(front, digest) + bytes(body)


def check_payload(placement: Placement, data_len: int, aux_len: int) -> None:
    """Raise SlmShapeError unless the planes have the planned lengths."""
    planes = placement.spec.planes
    if (data_len, aux_len) != (planes.data_len, planes.aux_len):
        raise SlmShapeError(
            where=placement.spec.name,
            field="the planes",
            got=(data_len, aux_len),
            expected=(planes.data_len, planes.aux_len),
        )


def _header(plan: FilePlan, body: BodyHashes) -> Header:
    return Header(
        **shape_fields(plan.config_map),
        tensor_dir_off=plan.tensor_dir_off,
        tensor_count=len(plan.placements),
        piece_table_off=plan.piece_table_off,
        piece_count=plan.piece_count,
        string_table_len=len(plan.strings),
        shard_table_off=plan.shard_table_off,
        shard_count=1,
        config_len=len(plan.config),
        tokenizer_off=plan.tokenizer_off,
        tokenizer_len=len(plan.tokenizer),
        artifact_len=plan.artifact_len,
        merkle_root_sha256=body.merkle_root,
        string_table_off=plan.string_table_off,
        config_off=plan.config_off,
        body_off=plan.body_off,
    )


def _descriptor(plan: FilePlan, index: int, hashes: list[bytes]) -> TensorDesc:
    placement = plan.placements[index]
    spec = placement.spec
    if not placement.stored:
        return _alias_descriptor(plan, index, hashes)
    planes = spec.planes
    desc = TensorDesc(
        name_id=index,
        role=spec.role,
        dtype=spec.dtype,
        layout=spec.layout,
        scale_encoding=spec.scale_encoding,
        flags=0,
        rank=len(spec.dims),
        dim_count=len(spec.dims),
        dims=spec.dims + (0,) * (MAX_RANK - len(spec.dims)),
        logical_nbytes=planes.data_len,
        data_off=placement.data_off,
        data_len=planes.data_len,
        aux_off=placement.aux_off,
        aux_len=planes.aux_len,
        alias_of=NO_ALIAS if placement.target is None else placement.target,
        first_piece=0,
        piece_count=0,
        sha256_trunc128=hashes[index],
        row_stride=planes.row_stride,
    )
    first, count = pieces_of(desc, plan.body_off)
    return replace(desc, first_piece=first, piece_count=count)


def _alias_descriptor(plan: FilePlan, index: int, hashes: list[bytes]) -> TensorDesc:
    spec, target_id = plan.placements[index].spec, plan.placements[index].target
    assert target_id is not None
    target = _descriptor(plan, target_id, hashes)
    tied = spec.role == Role.lm_head and target.role == Role.embedding
    return replace(
        target,
        name_id=index,
        role=spec.role,
        layout=Layout.alias,
        scale_encoding=0,
        flags=int(TensorFlag.tied) if tied else 0,
        data_off=0,
        data_len=0,
        aux_off=0,
        aux_len=0,
        alias_of=target_id,
        first_piece=0,
        piece_count=0,
        row_stride=0,
    )
