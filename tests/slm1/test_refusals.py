"""Each rule of docs/formats/slm1.md, broken in a file that is otherwise sealed and sound."""

import struct

import numpy as np
import pytest

from trlm_lab.slm1.codecs import DType
from trlm_lab.slm1.layout import header_offset
from trlm_lab.slm1.names import fnv1a64

from .made import TIED, code_of, made, opened, patched, sealed

F32_NAN = 0x7FC00000


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("magic", b"SLM3", "SLM1_VERSION"),
        ("version", 2, "SLM1_VERSION"),
        ("model_type", 2, "SLM1_VERSION"),
        ("header_length", 107, "SLM1_VERSION"),
        ("header_length", 136, "SLM1_RESERVED"),
        ("header_length", 1 << 31, "SLM1_RANGE"),
        ("flags", 2, "SLM1_FLAGS"),
        ("flags", 1 << 31, "SLM1_FLAGS"),
        ("vocab", 0, "SLM1_SHAPE"),
        ("vocab", 261, "SLM1_TOKENIZER"),
        ("special_token_count", 3, "SLM1_SHAPE"),
        ("hidden", 0, "SLM1_SHAPE"),
        ("hidden", 8, "SLM1_SHAPE"),
        ("layers", 0, "SLM1_SHAPE"),
        ("layers", 2, "SLM1_SHAPE"),
        ("layers", 0xFFFFFFFF, "SLM1_SHAPE"),
        ("heads", 3, "SLM1_SHAPE"),
        ("kv_heads", 0, "SLM1_SHAPE"),
        ("head_dim", 3, "SLM1_SHAPE"),
        ("ffn", 12, "SLM1_SHAPE"),
        ("max_context", 0, "SLM1_SHAPE"),
        ("rope_theta_bits", F32_NAN, "SLM1_SHAPE"),
        ("rope_theta_bits", 0, "SLM1_SHAPE"),
        ("rms_eps_bits", 0, "SLM1_SHAPE"),
        ("tokenizer_offset", 0, "SLM1_RANGE"),
        ("tokenizer_offset", 2**64 - 1, "SLM1_RANGE"),
        ("tokenizer_length", 27, "SLM1_TOKENIZER"),
        ("tokenizer_length", 2**64 - 1, "SLM1_RANGE"),
        ("tensor_directory_offset", 193, "SLM1_ALIGNMENT"),
        ("tensor_directory_offset", 2**63, "SLM1_RANGE"),
        ("tensor_count", 13, "SLM1_SHAPE"),
        ("tensor_count", 0xFFFFFFFF, "SLM1_SHAPE"),
        ("tensor_data_offset", 0, "SLM1_RANGE"),
        ("tensor_data_offset", 2**64 - 64, "SLM1_RANGE"),
    ],
)
def test_a_field_of_the_header(name: str, value: int, code: str) -> None:
    data = made()
    if isinstance(value, bytes):
        assert code_of(sealed(value + data[4:])) == code
    else:
        assert code_of(patched(data, name, value)) == code


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("name_hash", 1, "SLM1_TENSOR_SET"),
        ("dtype", 0, "SLM1_UNKNOWN_NUMBER"),
        ("dtype", 4, "SLM1_UNKNOWN_NUMBER"),
        ("dtype", 1, "SLM1_SHAPE"),
        ("rank", 3, "SLM1_SHAPE"),
        ("dims", 5, "SLM1_SHAPE"),
        ("byte_offset", 0, "SLM1_RANGE"),
        ("byte_offset", 2**64 - 64, "SLM1_RANGE"),
        ("byte_length", 7, "SLM1_SHAPE"),
        ("scale_offset", 0, "SLM1_RANGE"),
        ("scale_offset", 2**63, "SLM1_RANGE"),
        ("block_size", 0, "SLM1_SHAPE"),
        ("block_size", 3, "SLM1_SHAPE"),
        ("reserved", 1, "SLM1_RESERVED"),
    ],
)
def test_a_field_of_an_entry(name: str, value: int, code: str) -> None:
    assert code_of(patched(made(), name, value, entry=2)) == code


def test_a_tensor_that_is_there_twice_or_not_at_all() -> None:
    data, hashed = made(), fnv1a64("layers.0.attn_norm.weight")
    assert code_of(patched(data, "name_hash", hashed, entry=6)) == "SLM1_TENSOR_SET"
    tied = made(shape=TIED)
    missing = patched(tied, "name_hash", fnv1a64("output.weight"), entry=0)
    assert code_of(missing) == "SLM1_TENSOR_SET"


def test_places_of_payloads() -> None:
    data = made()
    entry = opened(data).tensors[3].placed.entry
    assert code_of(patched(data, "byte_offset", entry.byte_offset + 1, entry=3)) == "SLM1_ALIGNMENT"
    taken = opened(data).tensors[2].placed.entry.byte_offset
    assert code_of(patched(data, "byte_offset", taken, entry=3)) == "SLM1_OVERLAP"
    padded = data + bytes(64)
    assert code_of(sealed(padded)) == "SLM1_SHAPE"
    assert code_of(sealed(data[:-1] + b"\1")) == "SLM1_RESERVED"
    assert code_of(sealed(data + b"\0")) == "SLM1_LENGTH"


def test_payloads_may_stand_in_any_order() -> None:
    data = made(DType.f32)
    one, other = (opened(data).tensors[i].placed.entry.byte_offset for i in (3, 4))
    # wk and wv have one shape: their places change hands.
    swapped = patched(patched(data, "byte_offset", other, entry=3), "byte_offset", one, entry=4)
    assert code_of(swapped) == ""


def test_scales_and_weights_that_no_writer_stores() -> None:
    data = made()
    at = opened(data).tensors[2].placed.scales[0]
    for value in (0.0, -1.0, -0.0, np.nan, np.inf, 3e38):
        bad = data[:at] + struct.pack("<f", value) + data[at + 4 :]
        assert code_of(sealed(bad)) == "SLM1_SCALE", value
    data = made(DType.f32)
    at = opened(data).tensors[2].placed.data[0]
    for value in (np.nan, np.inf):
        bad = data[:at] + struct.pack("<f", value) + data[at + 4 :]
        assert code_of(sealed(bad)) == "SLM1_NONFINITE"


def test_a_tied_head_may_be_stored_with_the_bytes_of_the_embedding_only() -> None:
    data = made(DType.f32)
    slm1 = opened(data)
    head, embedding = slm1.tensors[-1].placed.data, slm1.tensors[0].placed.data
    assert code_of(patched(data, "flags", 1)) == "SLM1_TENSOR_SET"
    same = data[: head[0]] + data[slice(*embedding)] + data[head[1] :]
    assert code_of(patched(same, "flags", 1)) == ""
    assert code_of(patched(made(DType.f32, TIED), "flags", 0)) == "SLM1_SHAPE"


def test_an_unknown_profile_is_told_from_a_wrong_checksum() -> None:
    data = made()
    at = header_offset("checksum")
    stored = struct.unpack_from("<Q", data, at)[0]
    for value, code in (
        (0, "SLM1_CHECKSUM_PROFILE"),
        (stored ^ 1 << 50, "SLM1_CHECKSUM_PROFILE"),
        (stored ^ 1, "SLM1_CHECKSUM"),
    ):
        assert code_of(data[:at] + struct.pack("<Q", value) + data[at + 8 :]) == code
    assert code_of(data[:-1] + b"\1") == "SLM1_RESERVED"
    assert code_of(data[:1000] + bytes([data[1000] ^ 4]) + data[1001:]) == "SLM1_CHECKSUM"
