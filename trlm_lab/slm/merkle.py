"""Merkle trees over pieces, looked up by name; `sha256-rfc9162-v1` is RFC 9162 section 2.1.

Leaf = SHA-256(0x00 || piece), node = SHA-256(0x01 || left || right), split at the largest power of
two below the number of leaves.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Protocol

from trlm_lab.base.registry import Registry
from trlm_lab.errors import SlmProofError


class MerkleScheme(Protocol):
    """A tree rule; hashes are 32 raw bytes."""

    @property
    def name(self) -> str:
        """The name under which files refer to it."""
        ...

    def leaf(self, piece: memoryview | bytes) -> bytes:
        """Hash of one piece."""
        ...

    def root(self, leaves: list[bytes]) -> bytes:
        """Root over leaf hashes."""
        ...

    def proof(self, leaves: list[bytes], index: int) -> list[bytes]:
        """Sibling hashes from the leaf to the root."""
        ...

    def root_from_proof(self, leaf: bytes, index: int, count: int, proof: list[bytes]) -> bytes:
        """The root that a proof leads to."""
        ...


def _node(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\x01" + left + right).digest()


def _split(count: int) -> int:
    """The largest power of two below `count`; count >= 2."""
    return 1 << ((count - 1).bit_length() - 1)


@dataclass(frozen=True)
class Rfc9162:
    """The tree of RFC 9162 section 2.1.1, its proofs section 2.1.3."""

    name: str = "sha256-rfc9162-v1"

    def leaf(self, piece: memoryview | bytes) -> bytes:
        """SHA-256(0x00 || piece)."""
        digest = hashlib.sha256(b"\x00")
        digest.update(piece)
        return digest.digest()

    def root(self, leaves: list[bytes]) -> bytes:
        """The tree head; of no leaves SHA-256 of nothing."""
        if len(leaves) < 2:
            return leaves[0] if leaves else hashlib.sha256().digest()
        k = _split(len(leaves))
        return _node(self.root(leaves[:k]), self.root(leaves[k:]))

    def proof(self, leaves: list[bytes], index: int) -> list[bytes]:
        """Audit path of a leaf, lowest sibling first. Raises SlmProofError for no such leaf."""
        _check_index(index, len(leaves))
        if len(leaves) == 1:
            return []
        k = _split(len(leaves))
        if index < k:
            return [*self.proof(leaves[:k], index), self.root(leaves[k:])]
        return [*self.proof(leaves[k:], index - k), self.root(leaves[:k])]

    def root_from_proof(self, leaf: bytes, index: int, count: int, proof: list[bytes]) -> bytes:
        """The root over `count` leaves. Raises SlmProofError for a path of the wrong length."""
        _check_index(index, count)
        if count == 1:
            if proof:
                raise SlmProofError(field="the path", got=f"{len(proof)} too long", expected="end")
            return leaf
        if not proof:
            raise SlmProofError(field="the path", got="its end", expected="a sibling hash")
        k = _split(count)
        if index < k:
            return _node(self.root_from_proof(leaf, index, k, proof[:-1]), proof[-1])
        return _node(proof[-1], self.root_from_proof(leaf, index - k, count - k, proof[:-1]))


def _check_index(index: int, count: int) -> None:
    if not 0 <= index < count:
        raise SlmProofError(field="the piece index", got=index, expected=f"0 to {count - 1}")


MERKLE_SCHEMES: Registry[MerkleScheme] = Registry("Merkle scheme")
MERKLE_SCHEMES.register("sha256-rfc9162-v1", Rfc9162())
#: The scheme of SLM2 2.0.
SLM2_MERKLE: MerkleScheme = MERKLE_SCHEMES["sha256-rfc9162-v1"]


def verify_piece(
    piece: memoryview | bytes, index: int, count: int, proof: list[bytes], root: bytes
) -> None:
    """Prove one piece alone to stand at `index` of `count` under `root`. Raises SlmProofError."""
    got = SLM2_MERKLE.root_from_proof(SLM2_MERKLE.leaf(piece), index, count, proof)
    if got != root:
        raise SlmProofError(
            where=f"piece {index}", field="the root", got=got.hex(), expected=root.hex()
        )
