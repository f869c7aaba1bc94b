"""Sparse residual tensors in a container: planned, written, read, and every lie refused."""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.slm.conftest import CONFIG, small_payloads, small_specs
from tests.slm.refused import refused
from trlm_lab.errors import SlmAliasError, SlmError, SlmShapeError
from trlm_lab.quant.sparse import Sparse, encode_sparse
from trlm_lab.slm.layout import HEADER, RESIDUAL, TENSOR_DESC
from trlm_lab.slm.numbers import DType, Layout, Role
from trlm_lab.slm.plan import TensorSpec, plan_file
from trlm_lab.slm.read import open_slm, residual_payload
from trlm_lab.slm.residuals import residual_header
from trlm_lab.slm.verify import verify_all
from trlm_lab.slm.write import assemble

SPARSE = Sparse(
    7, 8, np.array([0, 2, 2, 3, 3, 3, 3, 4]), np.array([1, 7, 0, 5]),
    np.array([0.5, -1.0, 2.0, 0.25], np.float32),
)  # fmt: skip
#: Index of the residual: right behind its base.
RESIDUAL_ROW = 1


def specs(dtype: DType) -> list[TensorSpec]:
    rows = small_specs()
    return [
        rows[0],
        TensorSpec("embed.residual", Role.embedding, dtype, (7, 8), "embed", nnz=4),
        *rows[1:],
    ]


def built(dtype: DType) -> bytes:
    data, scales = encode_sparse(SPARSE, dtype.name)
    payload = residual_header((7, 8), dtype, 4) + data, scales
    return assemble(specs(dtype), CONFIG, small_payloads() | {"embed.residual": payload})


def patched(data: bytes, **values: Any) -> bytes:
    """The residual's descriptor with other fields."""
    start = HEADER.unpack(memoryview(data), 0)["tensor_dir_off"] + RESIDUAL_ROW * TENSOR_DESC.size
    row = TENSOR_DESC.unpack(memoryview(data), start) | values
    return data[:start] + TENSOR_DESC.pack(row) + data[start + TENSOR_DESC.size :]


@pytest.mark.parametrize("dtype", [DType.f16, DType.q8_r128], ids=lambda d: d.name)
def test_there_and_back(dtype: DType) -> None:
    slm = open_slm(built(dtype))
    verify_all(slm)
    tensor = slm.tensor("embed.residual")
    assert tensor.descriptor.layout == Layout.sparse_residual
    assert (tensor.residual_of, tensor.alias_of, tensor.row_stride) == ("embed", None, 0)
    assert (tensor.rows, tensor.cols, tensor.role) == (7, 8, Role.embedding)
    assert slm.residual_of("embed") == slm.residual_of("head") == tensor
    assert slm.residual_of("norm") is None
    nnz, payload = residual_payload(tensor)
    assert nnz == 4
    assert (bytes(payload), bytes(tensor.scales)) == encode_sparse(SPARSE, dtype.name)
    assert len(tensor.scales) == (14 if dtype == DType.q8_r128 else 0)


def test_the_header_is_that_of_the_page() -> None:
    want = struct.pack("<HHIIIQQQ", 1, 2, 7, 8, 4, 40, 72, 80)
    assert residual_header((7, 8), DType.f16, 4) == want
    wide = RESIDUAL.unpack(memoryview(residual_header((2, 65537), DType.q8_r128, 3)), 0)
    assert (wide["col_idx_off"], wide["values_off"]) == (52, 64)
    narrow = RESIDUAL.unpack(memoryview(residual_header((2, 65536), DType.q8_r128, 3)), 0)
    assert (narrow["col_idx_off"], narrow["values_off"]) == (52, 58)


@pytest.mark.parametrize("name", list(RESIDUAL.fields))
def test_slm_shape_error_residual_header(name: str) -> None:
    data = built(DType.f16)
    start = open_slm(data).tensor("embed.residual").descriptor.data_off
    row = RESIDUAL.unpack(memoryview(data), start)
    for value in (row[name] + 1, 0):
        wrong = RESIDUAL.pack(row | {name: value})
        refused(data[:start] + wrong + data[start + RESIDUAL.size :], SlmShapeError)


@pytest.mark.parametrize(
    ("values", "error"),
    [
        ({"alias_of": 99}, SlmAliasError),
        ({"alias_of": 0xFFFFFFFF}, SlmAliasError),
        ({"alias_of": RESIDUAL_ROW}, SlmAliasError),
        ({"alias_of": 2}, SlmAliasError),
        ({"role": Role.q_proj}, SlmAliasError),
        ({"dtype": DType.f32}, SlmShapeError),
        ({"dtype": DType.q4_g64}, SlmShapeError),
        ({"scale_encoding": 1}, SlmShapeError),
        ({"row_stride": 16}, SlmShapeError),
        ({"logical_nbytes": 1}, SlmShapeError),
        ({"data_len": 39}, SlmShapeError),
        ({"data_len": 40}, SlmShapeError),
        ({"dims": (8, 7, 0, 0, 0, 0)}, SlmShapeError),
    ],
    ids=str,
)
def test_a_residual_that_lies(values: dict[str, Any], error: type[SlmError]) -> None:
    refused(patched(built(DType.f16), **values), error)


def test_slm_alias_error_of_a_name_that_is_not_the_base() -> None:
    rows = specs(DType.f16)
    with pytest.raises(SlmAliasError, match=r"embed\.residual"):
        plan_file([rows[0], replace(rows[1], name="other"), *rows[2:]], CONFIG, b"")
    with pytest.raises(SlmAliasError, match="a dense tensor"):
        plan_file([replace(r, alias_of="head") if r.nnz else r for r in rows], CONFIG, b"")
    data = built(DType.f16)
    refused(data.replace(b"embed.residual", b"embed.residuaL"), SlmAliasError)
