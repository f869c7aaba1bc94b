"""Merkle roots against the published vectors of Certificate Transparency, proofs against roots."""

import hashlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trlm_lab.errors import SlmProofError, UnknownNameError
from trlm_lab.slm.merkle import MERKLE_SCHEMES, SLM2_MERKLE, verify_piece

LEAVES = [
    "", "00", "10", "2021", "3031", "40414243", "5051525354555657",
    "606162636465666768696a6b6c6d6e6f",
]  # fmt: skip
#: Roots over the first n of these leaves.
ROOTS = [
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]


@pytest.mark.parametrize("count", range(len(ROOTS)))
def test_published_roots(count: int) -> None:
    leaves = [SLM2_MERKLE.leaf(bytes.fromhex(leaf)) for leaf in LEAVES[:count]]
    assert SLM2_MERKLE.root(leaves).hex() == ROOTS[count]


@pytest.mark.parametrize("count", [1, 2, 3, 7, 8, 9, 33])
def test_every_proof_leads_to_the_root(count: int) -> None:
    pieces = [bytes([i]) * 5 for i in range(count)]
    leaves = [SLM2_MERKLE.leaf(p) for p in pieces]
    root = SLM2_MERKLE.root(leaves)
    for i, piece in enumerate(pieces):
        verify_piece(piece, i, count, SLM2_MERKLE.proof(leaves, i), root)


@settings(deadline=None)
@given(st.integers(2, 40), st.data())
def test_wrong_piece_index_or_path_is_refused(count: int, data: st.DataObject) -> None:
    index = data.draw(st.integers(0, count - 1))
    pieces = [hashlib.sha256(bytes([i])).digest() for i in range(count)]
    leaves = [SLM2_MERKLE.leaf(p) for p in pieces]
    root, proof = SLM2_MERKLE.root(leaves), SLM2_MERKLE.proof(leaves, index)
    other = (index + 1) % count
    broken = [bytes(32), *proof[1:]]
    for piece, at, path in (
        (pieces[other], index, proof),
        (pieces[index], other, proof),
        (pieces[index], index, broken),
        (pieces[index], index, proof[:-1]),
        (pieces[index], index, [*proof, bytes(32)]),
    ):
        with pytest.raises(SlmProofError):
            verify_piece(piece, at, count, path, root)


def test_a_leaf_is_no_node() -> None:
    left, right = SLM2_MERKLE.leaf(b"a"), SLM2_MERKLE.leaf(b"b")
    assert SLM2_MERKLE.leaf(left + right) != SLM2_MERKLE.root([left, right])


def test_index_outside_the_tree() -> None:
    with pytest.raises(SlmProofError, match="expected 0 to 1"):
        SLM2_MERKLE.proof([bytes(32), bytes(32)], 2)


def test_schemes_are_looked_up_by_name() -> None:
    assert MERKLE_SCHEMES["sha256-rfc9162-v1"] is SLM2_MERKLE
    with pytest.raises(UnknownNameError):
        MERKLE_SCHEMES["sha256-merkle-v0"]
