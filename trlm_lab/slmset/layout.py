"""Names and limits of a set; a manifest holds no paths, so none can lead outside."""

from __future__ import annotations

from typing import Final

SCHEMA: Final = "trlm.slmset.v1"
PROOF_SCHEMA: Final = "trlm.slmset.proof.v1"
MANIFEST: Final = "manifest.cbor"
FRONT: Final = "front.bin"
#: The most logical bytes that a piece may declare, refused before decoding; also the most stored.
MAX_PIECE: Final = 2 << 20
#: A piece has some 250 bytes in the manifest: room for artifacts of 16 GiB.
MAX_MANIFEST: Final = 1 << 22
#: Front matter is strings, configuration, tables and a tokenizer.
MAX_FRONT: Final = 1 << 30
#: Pieces of a shard unless asked otherwise: 64 MiB of the artifact.
SHARD_PIECES: Final = 64


def shard_name(index: int) -> str:
    """The file of a shard."""
    return f"shard-{index:05d}.bin"
