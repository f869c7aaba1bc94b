"""One named test per rule family: each hostile file is refused with its class and place."""

import re
import tracemalloc
from typing import Any

import pytest

from trlm_lab.base import canon
from trlm_lab.errors import (
    SlmAliasError,
    SlmAlignmentError,
    SlmConfigError,
    SlmError,
    SlmFlagError,
    SlmHashError,
    SlmMagicError,
    SlmNumberError,
    SlmOverlapError,
    SlmPieceError,
    SlmRangeError,
    SlmReservedError,
    SlmShapeError,
    SlmStringError,
    SlmTensorSetError,
    SlmTruncatedError,
    SlmUnsupportedError,
)
from trlm_lab.slm.layout import HEADER, NO_ALIAS, TENSOR_DESC
from trlm_lab.slm.numbers import DType, Layout, Role, ScaleEncoding
from trlm_lab.slm.plan import TensorSpec, plan_file
from trlm_lab.slm.read import open_slm
from trlm_lab.slm.verify import verify_all
from trlm_lab.slm.write import assemble

from .conftest import BRAIN, CONFIG, EMBED, HALF, HEAD, NORM, Patch, small_payloads, small_specs

BIG = 2**64 - 1


def refused(data: bytes, error: type[SlmError], byte: int | None = None) -> SlmError:
    """Open the bytes; the error has exactly this class, and names this byte."""
    with pytest.raises(SlmError) as caught:
        open_slm(data, where="bad.slm")
    assert type(caught.value) is error
    if byte is not None:
        assert caught.value.where == f"bad.slm: byte {byte}"
    assert caught.value.remedy
    return caught.value


def header_value(data: bytes, name: str) -> Any:
    return HEADER.unpack(memoryview(data), 0)[name]


def poked(data: bytes, at: int, value: int) -> bytes:
    return data[:at] + bytes([value]) + data[at + 1 :]


def descriptor_at(small: bytes, index: int, name: str) -> int:
    start: int = header_value(small, "tensor_dir_off")
    return start + index * TENSOR_DESC.size + TENSOR_DESC.offset(name)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("magic", b"SLM1"),
        ("abi_major", 1),
        ("abi_major", 3),
        ("abi_minor", 1),
        ("header_len", 128),
        ("header_len", 384),
        ("header_len", 255),
    ],
)
def test_slm_magic_error(patch: Patch, field: str, value: Any) -> None:
    refused(patch("header", **{field: value}), SlmMagicError, HEADER.offset(field))


def test_slm_truncated_error(patch: Patch, small: bytes) -> None:
    for size in (0, 3, 255):
        refused(small[:size], SlmTruncatedError, size)
    refused(small[:-1], SlmTruncatedError, 128)
    refused(small + b"\0", SlmTruncatedError, 128)
    error = refused(patch("header", artifact_len=BIG), SlmTruncatedError, 128)
    assert str(BIG) in error.text
    assert f"expected {len(small)}" in error.text


@pytest.mark.parametrize("bit", [0, 1, 17, 31])
def test_slm_flag_error_unknown_required(patch: Patch, bit: int) -> None:
    refused(patch("header", flags=1 << bit), SlmFlagError, 16)


@pytest.mark.parametrize("bit", [32, 63])
def test_unknown_optional_flags_are_ignored(patch: Patch, bit: int) -> None:
    assert open_slm(patch("header", flags=1 << bit)).header.flags == 1 << bit


@pytest.mark.parametrize("at", [12, 15, 78, 79, 232, 255])
def test_slm_reserved_error_header(small: bytes, at: int) -> None:
    refused(poked(small, at, 1), SlmReservedError, at)


@pytest.mark.parametrize("at", [18, 19, 44, 47, 116, 127])
def test_slm_reserved_error_descriptor(small: bytes, at: int) -> None:
    place = header_value(small, "tensor_dir_off") + NORM * TENSOR_DESC.size + at
    refused(poked(small, place, 1), SlmReservedError, place)


def test_slm_reserved_error_padding(small: bytes) -> None:
    """The last byte before each section, and between payloads, where it is padding."""
    end_of_strings = header_value(small, "string_table_off") + header_value(
        small, "string_table_len"
    )
    end_of_scales = open_slm(small).tensor("embed").descriptor
    places = [
        end_of_strings,
        header_value(small, "body_off") - 1,
        end_of_scales.aux_off + end_of_scales.aux_len,
    ]
    for at in places:
        assert small[at] == 0
        refused(poked(small, at, 255), SlmReservedError, at)


@pytest.mark.parametrize(
    "field",
    ["string_table_off", "config_off", "tensor_dir_off", "tokenizer_off", "piece_table_off",
     "shard_table_off", "body_off"],
)  # fmt: skip
@pytest.mark.parametrize("value", [BIG, 2**63, 1 << 40])
def test_slm_range_error_sections(patch: Patch, field: str, value: int) -> None:
    refused(patch("header", **{field: value}), SlmRangeError, HEADER.offset(field))


@pytest.mark.parametrize(
    ("field", "limit"),
    [("string_table_len", 32), ("config_len", 32), ("tensor_count", 32), ("tokenizer_len", 64),
     ("piece_count", 32), ("shard_count", 32)],
)  # fmt: skip
def test_slm_range_error_huge_counts_allocate_nothing(patch: Patch, field: str, limit: int) -> None:
    data = patch("header", **{field: 2**limit - 1})
    tracemalloc.start()
    refused(data, SlmRangeError)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 64 * len(data)


@pytest.mark.parametrize("value", [BIG, BIG - 63, 2**63, 64])
def test_slm_range_error_payload(patch: Patch, small: bytes, value: int) -> None:
    data = patch("tensor", NORM, data_off=value)
    refused(data, SlmRangeError, descriptor_at(small, NORM, "data_off"))


def test_slm_overlap_error_sections(patch: Patch, small: bytes) -> None:
    refused(patch("header", string_table_off=0), SlmOverlapError, 208)
    strings = header_value(small, "string_table_off")
    refused(patch("header", config_off=strings), SlmOverlapError, 216)
    directory = header_value(small, "tensor_dir_off")
    refused(patch("header", piece_table_off=directory), SlmOverlapError, 80)
    refused(patch("header", tokenizer_off=directory), SlmOverlapError, 112)


def test_slm_overlap_error_payloads(patch: Patch, small: bytes) -> None:
    embed = open_slm(small).tensor("embed").descriptor
    data = patch("tensor", NORM, data_off=embed.data_off)
    refused(data, SlmOverlapError, descriptor_at(small, NORM, "data_off"))
    data = patch("tensor", EMBED, aux_off=embed.data_off)
    refused(data, SlmOverlapError, descriptor_at(small, EMBED, "aux_off"))


def test_slm_overlap_error_payloads_out_of_order(patch: Patch, small: bytes) -> None:
    half, brain = (open_slm(small).tensor(n).descriptor for n in ("half", "brain"))
    data = patch("tensor", HALF, data_off=brain.data_off)
    data = patch("tensor", BRAIN, data=data, data_off=half.data_off)
    refused(data, SlmOverlapError, descriptor_at(small, BRAIN, "data_off"))


def test_slm_alignment_error(patch: Patch, small: bytes) -> None:
    body = header_value(small, "body_off")
    shard = header_value(small, "shard_table_off")
    refused(patch("header", shard_table_off=shard + 8), SlmAlignmentError, 96)
    refused(patch("header", body_off=body + 64), SlmAlignmentError, 224)
    norm = open_slm(small).tensor("norm").descriptor
    data = patch("tensor", NORM, data_off=norm.data_off + 16)
    refused(data, SlmAlignmentError, descriptor_at(small, NORM, "data_off"))


@pytest.mark.parametrize(
    ("field", "value"),
    [("role", 13), ("role", 65535), ("dtype", 0), ("dtype", 8), ("layout", 4),
     ("scale_encoding", 4)],
)  # fmt: skip
def test_slm_number_error_tensor(patch: Patch, small: bytes, field: str, value: int) -> None:
    place = descriptor_at(small, NORM, field)
    refused(patch("tensor", NORM, **{field: value}), SlmNumberError, place)


@pytest.mark.parametrize(("field", "value"), [("kind", 3), ("codec", 3)])
def test_slm_number_error_shard(patch: Patch, field: str, value: int) -> None:
    refused(patch("shard", **{field: value}), SlmNumberError)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("dtype", DType.q4_g64),
        ("layout", Layout.sparse_residual),
        ("layout", Layout.external_piece_map),
        ("flags", 4),
        ("scale_encoding", ScaleEncoding.fp16),
    ],
)
def test_slm_unsupported_error_tensor(patch: Patch, field: str, value: int) -> None:
    refused(patch("tensor", NORM, **{field: value}), SlmUnsupportedError)


@pytest.mark.parametrize("encoding", [ScaleEncoding.none, ScaleEncoding.bf16, ScaleEncoding.e8m0])
def test_slm_unsupported_error_scales(patch: Patch, encoding: int) -> None:
    refused(patch("tensor", EMBED, scale_encoding=encoding), SlmUnsupportedError)


@pytest.mark.parametrize(("field", "value"), [("kind", 1), ("kind", 2), ("codec", 1)])
def test_slm_unsupported_error_shard(patch: Patch, field: str, value: int) -> None:
    refused(patch("shard", **{field: value}), SlmUnsupportedError)


@pytest.mark.parametrize("flags", [8, 1 << 31])
def test_slm_flag_error_tensor(patch: Patch, small: bytes, flags: int) -> None:
    place = descriptor_at(small, NORM, "flags")
    refused(patch("tensor", NORM, flags=flags), SlmFlagError, place)


def test_slm_flag_error_tied_marks_exactly_a_tied_head(patch: Patch, small: bytes) -> None:
    refused(patch("tensor", NORM, flags=1), SlmFlagError, descriptor_at(small, NORM, "flags"))
    refused(patch("tensor", HEAD, flags=0), SlmFlagError, descriptor_at(small, HEAD, "flags"))
    refused(patch("tensor", HEAD, role=Role.other), SlmFlagError)
    assert open_slm(patch("tensor", NORM, flags=2)).tensor("norm").flags == 2


@pytest.mark.parametrize(
    "values",
    [
        {"rank": 0, "dim_count": 0},
        {"rank": 7, "dim_count": 7},
        {"rank": 255, "dim_count": 255},
        {"dim_count": 2},
        {"dims": (0, 0, 0, 0, 0, 0)},
        {"dims": (8, 1, 0, 0, 0, 0)},
        {"dims": (8, 0, 0, 0, 0, 1)},
        {"dims": (9, 0, 0, 0, 0, 0)},
        {"dims": (2**32 - 1,) * 6, "rank": 6, "dim_count": 6},
        {"row_stride": 28},
        {"row_stride": 0},
        {"data_len": 31},
        {"data_len": BIG},
        {"logical_nbytes": 31},
        {"aux_len": 2},
        {"aux_off": 64},
        {"alias_of": 0},
        {"first_piece": 1},
        {"piece_count": 0},
        {"piece_count": 2**32 - 1},
        {"dtype": DType.f16},
    ],
    ids=str,
)
def test_slm_shape_error_tensor(patch: Patch, values: dict[str, Any]) -> None:
    refused(patch("tensor", NORM, **values), SlmShapeError)


@pytest.mark.parametrize(
    "values",
    [
        {"aux_len": 12},
        {"aux_len": 0, "aux_off": 0},
        {"row_stride": 8},
        {"dims": (8, 8, 0, 0, 0, 0)},
        {"dims": (7, 65, 0, 0, 0, 0)},
    ],
    ids=str,
)
def test_slm_shape_error_quantized(patch: Patch, values: dict[str, Any]) -> None:
    refused(patch("tensor", EMBED, **values), SlmShapeError)


@pytest.mark.parametrize(
    "field",
    ["data_off", "data_len", "aux_off", "aux_len", "row_stride", "scale_encoding", "first_piece",
     "piece_count"],
)  # fmt: skip
def test_slm_shape_error_alias_with_payload(patch: Patch, small: bytes, field: str) -> None:
    place = descriptor_at(small, HEAD, field)
    refused(patch("tensor", HEAD, **{field: 1}), SlmShapeError, place)


@pytest.mark.parametrize(("field", "value"), [("tensor_desc_size", 64), ("legacy_checksum64", 1)])
def test_slm_shape_error_header(patch: Patch, field: str, value: int) -> None:
    refused(patch("header", **{field: value}), SlmShapeError, HEADER.offset(field))


@pytest.mark.parametrize(
    "values",
    [
        {"alias_of": NO_ALIAS},
        {"alias_of": 5},
        {"alias_of": HEAD},
        {"alias_of": NORM},
        {"dtype": DType.f32},
        {"dims": (8, 7, 0, 0, 0, 0)},
        {"dims": (7, 8, 1, 0, 0, 0), "rank": 3, "dim_count": 3},
        {"logical_nbytes": 1},
        {"sha256_trunc128": bytes(16)},
    ],
    ids=str,
)
def test_slm_alias_error(patch: Patch, values: dict[str, Any]) -> None:
    refused(patch("tensor", HEAD, **values), SlmAliasError)


def test_slm_alias_error_chain_and_loop() -> None:
    embed = small_specs()[EMBED]
    heads = [
        TensorSpec(name, Role.other, embed.dtype, embed.dims, "embed") for name in ("one", "two")
    ]
    data = assemble([embed, *heads], CONFIG, small_payloads())
    start = header_value(data, "tensor_dir_off")

    def pointed(data: bytes, index: int, target: int) -> bytes:
        at = start + index * TENSOR_DESC.size + TENSOR_DESC.offset("alias_of")
        return data[:at] + target.to_bytes(4, "little") + data[at + 4 :]

    assert open_slm(data).tensor("two").alias_of == "embed"
    refused(pointed(data, 1, 2), SlmAliasError)  # a chain
    refused(pointed(pointed(data, 1, 2), 2, 1), SlmAliasError)  # a loop


def test_slm_alias_error_in_a_plan() -> None:
    embed = small_specs()[EMBED]
    for target in ("nothing", "b"):
        specs = [embed] + [
            TensorSpec(n, Role.other, embed.dtype, embed.dims, t)
            for n, t in (("a", target), ("b", "embed"))
        ]
        with pytest.raises(SlmAliasError):
            plan_file(specs, CONFIG, b"")


def test_slm_string_error_name_id(patch: Patch, small: bytes) -> None:
    place = descriptor_at(small, NORM, "name_id")
    refused(patch("tensor", NORM, name_id=5), SlmStringError, place)


def test_slm_tensor_set_error_duplicate_name(patch: Patch, small: bytes) -> None:
    place = descriptor_at(small, NORM, "name_id")
    error = refused(patch("tensor", NORM, name_id=EMBED), SlmTensorSetError, place)
    assert "'embed'" in error.text


def test_slm_tensor_set_error_nothing_stored(patch: Patch, small: bytes) -> None:
    refused(patch("header", tensor_count=0), SlmReservedError)  # the old rows are no padding
    directory = header_value(small, "tensor_dir_off")
    blank = small[:directory] + bytes(5 * TENSOR_DESC.size)
    blank += small[directory + 5 * TENSOR_DESC.size :]
    refused(patch("header", data=blank, tensor_count=0), SlmTensorSetError, directory)


def test_slm_tensor_set_error_in_a_plan() -> None:
    embed = small_specs()[EMBED]
    for specs in ([], [embed, embed]):
        with pytest.raises(SlmTensorSetError):
            plan_file(specs, CONFIG, b"")


@pytest.mark.parametrize(
    ("table", "field", "value"),
    [
        ("piece", "piece_index", 1),
        ("piece", "shard_index", 1),
        ("piece", "file_off", 0),
        ("piece", "stored_len", 1),
        ("piece", "logical_len", 2**32 - 1),
        ("shard", "shard_index", 1),
        ("shard", "artifact_family", 1),
        ("shard", "shard_len", 1),
        ("shard", "shard_len", BIG),
    ],
)
def test_slm_piece_error_rows(patch: Patch, table: str, field: str, value: int) -> None:
    refused(patch(table, **{field: value}), SlmPieceError)


def test_slm_piece_error_counts(patch: Patch, small: bytes) -> None:
    shards = header_value(small, "shard_table_off")
    assert shards == header_value(small, "piece_table_off") + 64
    blank = small[: shards - 64] + bytes(56) + small[shards - 8 :]
    refused(patch("header", data=blank, piece_count=0), SlmPieceError, 88)
    refused(patch("header", shard_count=2, data=small), SlmPieceError, 104)


def configured(config: Any) -> bytes:
    """The small file with another configuration section of the same header."""
    plan_config = CONFIG | {"padding": ""}
    data = assemble(small_specs(), plan_config, small_payloads())
    raw = config if isinstance(config, bytes) else canon.encode(config)
    start, size = header_value(data, "config_off"), header_value(data, "config_len")
    assert len(raw) <= size + 16
    directory = header_value(data, "tensor_dir_off")
    data = data[:start] + raw + bytes(directory - start - len(raw)) + data[directory:]
    row = HEADER.unpack(memoryview(data), 0) | {"config_len": len(raw)}
    return HEADER.pack(row) + data[256:]


@pytest.mark.parametrize(
    "config",
    [
        b"",
        b"\xff",
        canon.encode(CONFIG) + b"\0",
        b"\xa1\x18\x01\x01",
        [1],
        {},
        CONFIG | {"vocab_size": 8},
        CONFIG | {"vocab_size": 7.0},
        CONFIG | {"vocab_size": True},
        CONFIG | {"hidden_size": -8},
        CONFIG | {"rope_theta": 10000},
        CONFIG | {"rope_theta": 10001.0},
        CONFIG | {"rms_norm_eps": 1e300},
        CONFIG | {"rms_norm_eps": "1e-5"},
        CONFIG | {"rope_order": "none"},
        CONFIG | {"rope_order": "spiral"},
        {k: v for k, v in CONFIG.items() if k != "head_dim"},
    ],
    ids=lambda c: str(c)[-40:],
)
def test_slm_config_error(config: Any) -> None:
    refused(configured(config), SlmConfigError)


def test_configuration_without_rope() -> None:
    config = CONFIG | {"rope_theta": 0.0, "rope_order": "none"}
    assert open_slm(assemble(small_specs(), config, small_payloads())).config == config


@pytest.mark.parametrize(
    ("field", "name"),
    [
        ("tensor", "tensor norm"),
        ("piece", "piece 0"),
        ("shard", "shard 0"),
        ("merkle_root_sha256", "merkle_root_sha256"),
        ("self_sha256", "self_sha256"),
    ],
)
def test_slm_hash_error(patch: Patch, field: str, name: str) -> None:
    data = {
        "tensor": lambda: patch("tensor", NORM, sha256_trunc128=bytes(16)),
        "piece": lambda: patch("piece", sha256=bytes(32)),
        "shard": lambda: patch("shard", shard_sha256=bytes(32)),
    }.get(field, lambda: patch("header", **{field: bytes(32)}))()
    slm = open_slm(data, where="bad.slm")
    with pytest.raises(SlmHashError, match=f"bad.slm: byte [0-9]+: {re.escape(name)} stores 0+,"):
        verify_all(slm)
