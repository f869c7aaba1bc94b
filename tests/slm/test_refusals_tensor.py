"""Hostile descriptors: each is refused with its class and place."""

from typing import Any

import pytest

from tests.slm.conftest import CONFIG, EMBED, HEAD, NORM, Patch, small_payloads, small_specs
from tests.slm.refused import BIG, descriptor_at, header_value, refused
from trlm_lab.errors import (
    SlmAliasError,
    SlmFlagError,
    SlmNumberError,
    SlmReservedError,
    SlmShapeError,
    SlmStringError,
    SlmTensorSetError,
    SlmUnsupportedError,
)
from trlm_lab.slm.layout import NO_ALIAS, TENSOR_DESC
from trlm_lab.slm.numbers import DType, Layout, Role, ScaleEncoding
from trlm_lab.slm.plan import TensorSpec, plan_file
from trlm_lab.slm.read import open_slm
from trlm_lab.slm.write import assemble


@pytest.mark.parametrize(
    ("field", "value"),
    [("role", 28), ("role", 65535), ("dtype", 0), ("dtype", 8), ("layout", 4),
     ("scale_encoding", 4)],
)  # fmt: skip
def test_slm_number_error_tensor(patch: Patch, small: bytes, field: str, value: int) -> None:
    place = descriptor_at(small, NORM, field)
    refused(patch("tensor", NORM, **{field: value}), SlmNumberError, place)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("layout", Layout.external_piece_map),
        ("flags", 4),
    ],
)
def test_slm_unsupported_error_tensor(patch: Patch, field: str, value: int) -> None:
    refused(patch("tensor", NORM, **{field: value}), SlmUnsupportedError)


def test_slm_shape_error_scales(patch: Patch) -> None:
    """Scales where there are none, none where there are some, and some of another size."""
    refused(patch("tensor", NORM, scale_encoding=ScaleEncoding.fp16), SlmShapeError)
    refused(patch("tensor", EMBED, scale_encoding=ScaleEncoding.none), SlmShapeError)
    refused(patch("tensor", EMBED, scale_encoding=ScaleEncoding.e8m0), SlmShapeError)
    other = patch("tensor", EMBED, scale_encoding=ScaleEncoding.bf16)
    assert open_slm(other).tensor("head").scale_encoding == ScaleEncoding.bf16


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
def test_slm_alias_error_with_payload(patch: Patch, small: bytes, field: str) -> None:
    place = descriptor_at(small, HEAD, field)
    refused(patch("tensor", HEAD, **{field: 1}), SlmAliasError, place)


def test_slm_alias_error_of_a_dense_tensor(patch: Patch) -> None:
    refused(patch("tensor", NORM, alias_of=0), SlmAliasError)


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
