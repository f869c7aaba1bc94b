"""What is written is read back, without copies."""

import hashlib
import struct

import numpy as np
import pytest

from trlm_lab.errors import SlmNoTensorError, SlmUnsupportedError
from trlm_lab.slm.layout import PIECE_SIZE
from trlm_lab.slm.merkle import SLM2_MERKLE, verify_piece
from trlm_lab.slm.numbers import DType, Role, ScaleEncoding, TensorFlag
from trlm_lab.slm.plan import TensorSpec
from trlm_lab.slm.read import dense_f32, open_slm
from trlm_lab.slm.verify import merkle_leaves, verify_all
from trlm_lab.slm.write import BodyHasher, assemble

from .conftest import CONFIG, small_payloads, small_specs


def test_round_trip(small: bytes) -> None:
    slm = open_slm(small, where="small.slm")
    verify_all(slm)
    assert slm.config == CONFIG
    assert bytes(slm.tokenizer) == b"token"
    payloads = small_payloads()
    for tensor, spec in zip(slm.tensors, small_specs(), strict=True):
        assert (tensor.name, tensor.role, tensor.dtype, tensor.dims) == (
            spec.name,
            spec.role,
            spec.dtype,
            spec.dims,
        )
        assert (bytes(tensor.data), bytes(tensor.scales)) == payloads[spec.alias_of or spec.name]


def test_alias_shows_its_target(small: bytes) -> None:
    slm = open_slm(small)
    head, embed = slm.tensor("head"), slm.tensor("embed")
    assert (head.alias_of, embed.alias_of) == ("embed", None)
    assert (head.flags, embed.flags) == (TensorFlag.tied, 0)
    assert head.row_stride == embed.row_stride == 64
    assert head.scale_encoding == embed.scale_encoding == ScaleEncoding.fp16
    assert (head.descriptor.data_off, head.descriptor.row_stride) == (0, 0)
    assert np.shares_memory(np.frombuffer(head.data, "u1"), np.frombuffer(embed.data, "u1"))


def test_matrix_view_of_any_rank(small: bytes) -> None:
    brain = open_slm(small).tensor("brain")
    assert (brain.dims, brain.rows, brain.cols, brain.row_stride) == ((2, 2, 3), 4, 3, 6)


def test_dense_values(small: bytes) -> None:
    slm = open_slm(small)
    norm = dense_f32(slm.tensor("norm"))
    assert np.shares_memory(norm, np.frombuffer(small, "u1"))
    np.testing.assert_array_equal(norm, np.linspace(0.5, 1.5, 8, dtype=np.float32))
    assert dense_f32(slm.tensor("half")).tolist() == [[0, 1, 2], [3, 4, 5]]
    brain = dense_f32(slm.tensor("brain"))
    assert brain.shape == (2, 2, 3)
    assert brain.reshape(-1).tolist() == list(range(12))  # all exact in bfloat16


def test_quantized_tensor_has_no_dense_values(small: bytes) -> None:
    with pytest.raises(SlmUnsupportedError, match="q8_r128"):
        dense_f32(open_slm(small).tensor("embed"))


def test_no_such_tensor(small: bytes) -> None:
    slm = open_slm(small, where="small.slm")
    assert "norm" in slm
    assert "nought" not in slm
    with pytest.raises(SlmNoTensorError, match=r"small.slm.*'nought'"):
        slm.tensor("nought")


def test_writing_twice_gives_the_same_bytes(small: bytes) -> None:
    assert assemble(small_specs(), CONFIG, small_payloads(), b"token") == small


def test_empty_tokenizer_and_bytearray() -> None:
    data = assemble(small_specs(), CONFIG, small_payloads())
    assert len(open_slm(memoryview(bytearray(data))).tokenizer) == 0


def test_pieces_cover_tensors_across_their_borders() -> None:
    rows = 2 * PIECE_SIZE // 4 + 11
    values = np.arange(rows, dtype="<f4")
    specs = [
        TensorSpec("a", Role.other, DType.f32, (3,)),
        TensorSpec("b", Role.other, DType.f32, (rows, 1)),
        TensorSpec("c", Role.other, DType.f32, (5,)),
    ]
    payloads = {"a": (bytes(12), b""), "b": (values.tobytes(), b""), "c": (bytes(20), b"")}
    slm = open_slm(assemble(specs, CONFIG, payloads))
    verify_all(slm)
    spans = {t.name: (t.descriptor.first_piece, t.descriptor.piece_count) for t in slm.tensors}
    assert spans == {"a": (0, 1), "b": (0, 3), "c": (2, 1)}
    leaves = merkle_leaves(slm)
    assert len(leaves) == 3
    piece = slm.body[2 * PIECE_SIZE :]
    root = slm.header.merkle_root_sha256
    verify_piece(piece, 2, 3, SLM2_MERKLE.proof(leaves, 2), root)


@pytest.mark.parametrize("step", [1, 7, 1 << 16, 3 << 20])
def test_body_hasher_takes_chunks_of_any_size(step: int) -> None:
    size = PIECE_SIZE + 123 if step > 7 else 1000
    body = np.random.default_rng(0).bytes(size)
    hasher = BodyHasher()
    for low in range(0, size, step):
        hasher.update(body[low : low + step])
    got = hasher.finish()
    pieces = [body[low : low + PIECE_SIZE] for low in range(0, size, PIECE_SIZE)]
    assert got.pieces == [hashlib.sha256(p).digest() for p in pieces]
    assert got.merkle_root == SLM2_MERKLE.root([SLM2_MERKLE.leaf(p) for p in pieces])
    assert got.shard == hashlib.sha256(body).digest()


def test_header_bits_of_floats(small: bytes) -> None:
    theta, eps = struct.unpack_from("<ff", small, 52)
    assert (theta, eps) == (CONFIG["rope_theta"], CONFIG["rms_norm_eps"])
