"""Hostile headers and sections: each is refused with its class and place."""

import tracemalloc
from typing import Any

import pytest

from tests.slm.conftest import BRAIN, EMBED, HALF, NORM, Patch
from tests.slm.refused import BIG, descriptor_at, header_value, poked, refused
from trlm_lab.errors import (
    SlmAlignmentError,
    SlmFlagError,
    SlmMagicError,
    SlmOverlapError,
    SlmRangeError,
    SlmReservedError,
    SlmShapeError,
    SlmTruncatedError,
)
from trlm_lab.slm.layout import HEADER, TENSOR_DESC
from trlm_lab.slm.read import open_slm


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


@pytest.mark.parametrize(("field", "value"), [("tensor_desc_size", 64), ("legacy_checksum64", 1)])
def test_slm_shape_error_header(patch: Patch, field: str, value: int) -> None:
    refused(patch("header", **{field: value}), SlmShapeError, HEADER.offset(field))
