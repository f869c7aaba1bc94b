"""Sparse residuals: which entries are kept, their bytes, the strict reader, the loss."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from trlm_lab.errors import (
    QuantCodeError,
    QuantIndexError,
    QuantNonFiniteError,
    QuantPlaneError,
    QuantRangeError,
    QuantScaleError,
)
from trlm_lab.quant.residual import Loss, ResidualRule, residual_of
from trlm_lab.quant.sparse import Sparse, decode_sparse, encode_sparse

F32 = np.float32
RULE = ResidualRule("f16", 0.0, 0.015)
ROWS, COLS = 4, 10
SPARSE = Sparse(
    ROWS, COLS, np.array([0, 2, 2, 3, 5]), np.array([1, 9, 0, 4, 5]),
    np.array([0.5, -1.0, 2.0, 127.0, -3.0], F32),
)  # fmt: skip


@pytest.mark.parametrize("kind", ["f16", "q8_r128"])
def test_there_and_back(kind: str) -> None:
    data, scales = encode_sparse(SPARSE, kind)
    back = decode_sparse(memoryview(data), memoryview(scales), (ROWS, COLS, 5), kind, "w")
    np.testing.assert_array_equal(back.row_ptr, SPARSE.row_ptr)
    np.testing.assert_array_equal(back.columns, SPARSE.columns)
    dense = np.zeros((ROWS, COLS), F32)
    for row, column, value in zip([0, 0, 2, 3, 3], back.columns, back.values, strict=True):
        dense[row, column] = value
    np.testing.assert_array_equal(back.dense(0, ROWS), dense)
    np.testing.assert_array_equal(back.dense(2, 4), dense[2:])
    if kind == "f16":
        np.testing.assert_array_equal(back.values, SPARSE.values)
    else:
        steps = np.frombuffer(scales, "<f2").astype(F32)
        codes = np.frombuffer(data[-5:], np.int8)
        assert codes.tolist() == [64, -127, 127, 127, -3]
        assert back.values.tolist() == (codes * steps[[0, 0, 2, 3, 3]]).tolist()
        assert steps[1] == 0


def test_the_bytes_are_those_of_the_page() -> None:
    data, _ = encode_sparse(SPARSE, "f16")
    want = np.array([0, 2, 2, 3, 5], "<u4").tobytes() + np.array([1, 9, 0, 4, 5], "<u2").tobytes()
    assert data == want + np.array([0.5, -1, 2, 127, -3], "<f2").tobytes()
    wide = Sparse(1, 65537, np.array([0, 1]), np.array([65536]), np.array([1.0], F32))
    assert encode_sparse(wide, "f16")[0] == bytes.fromhex("000000000100000000000100003c")


def spoilt(part: str, at: int, value: int, kind: str = "f16") -> Sparse:
    data, scales = encode_sparse(SPARSE, kind)
    if part == "scale":
        words = np.frombuffer(scales, "<u2").copy()
        words[at] = value
        scales = words.tobytes()
    else:
        start, code = {"pointer": (4 * at, "<u4"), "column": (20 + 2 * at, "<u2"),
                       "value": (30 + 2 * at, "<u2"), "code": (30 + at, "<u1")}[part]  # fmt: skip
        word = np.array(value, code).tobytes()
        data = data[:start] + word + data[start + len(word) :]
    return decode_sparse(memoryview(data), memoryview(scales), (ROWS, COLS, 5), kind, "w")


@pytest.mark.parametrize(
    ("part", "at", "value"),
    [("pointer", 0, 1), ("pointer", 4, 4), ("pointer", 4, 6), ("pointer", 2, 1),
     ("pointer", 1, 2**32 - 1), ("column", 1, 10), ("column", 1, 1), ("column", 1, 0),
     ("column", 4, 4), ("column", 3, 65535)],
)  # fmt: skip
def test_quant_index_error(part: str, at: int, value: int) -> None:
    with pytest.raises(QuantIndexError):
        spoilt(part, at, value)


def test_values_that_no_writer_makes() -> None:
    with pytest.raises(QuantNonFiniteError) as caught:
        spoilt("value", 3, 0x7C00)
    assert (caught.value.facts["row"], caught.value.facts["column"]) == (3, 4)
    with pytest.raises(QuantCodeError) as caught_code:
        spoilt("code", 2, 0x80, "q8_r128")
    assert (caught_code.value.facts["row"], caught_code.value.facts["column"]) == (2, 0)
    for word in (0x8000, 0x7C00, 1, 0):
        with pytest.raises(QuantScaleError):
            spoilt("scale", 2, word, "q8_r128")
    data, scales = encode_sparse(SPARSE, "q8_r128")
    for planes in ((data[1:], scales), (data, scales[1:]), (data, b"")):
        given = [memoryview(p) for p in planes]
        with pytest.raises(QuantPlaneError):
            decode_sparse(*given, (ROWS, COLS, 5), "q8_r128", "w")


def test_the_worst_of_each_row_are_kept() -> None:
    rule = ResidualRule("f16", 0.0, 0.3)
    assert rule.entries_of_row(10) == 2  # 3 would be a density of 0.3, not below it
    weights = np.zeros((3, 10), F32)
    weights[0] = [1, -9, 3, 9, 0, 0, 9, 0, 0, 0]
    weights[2] = 1
    stored = np.zeros_like(weights)
    stored[2] = 1
    stored[2, 7] = 0.5
    found = residual_of([(weights[:2], stored[:2]), (weights[2:], stored[2:])], rule)
    assert found.row_ptr.tolist() == [0, 2, 2, 3]
    assert found.columns.tolist() == [1, 3, 7]
    assert found.values.tolist() == [-9, 9, 0.5]
    assert ResidualRule("f16", 0.0, 0.015).entries_of_row(576) == 8
    assert ResidualRule("f16", 0.0, 0.015).entries_of_row(50) == 0
    assert ResidualRule("f16", 0.0, 0.015).entries_of_row(200) == 2  # 3 of 200 are 0.015


def test_the_loss_is_the_exact_quotient_in_ascending_order() -> None:
    rng = np.random.default_rng(1)
    weights = rng.standard_normal((5, 33)).astype(F32)
    stored = weights + rng.standard_normal((5, 33)).astype(F32) / 16
    importance = rng.random(33)
    for columns in (None, importance):
        loss = Loss(columns)
        loss.add(weights[:2], stored[:2])
        loss.add(weights[2:], stored[2:])
        lost = whole = 0.0
        for r, c in np.ndindex(5, 33):
            k = 1.0 if columns is None else float(columns[c])
            lost += float(F32(weights[r, c] - stored[r, c])) ** 2 * k
            whole += float(weights[r, c]) ** 2 * k
        assert loss.value == lost / whole
    assert Loss().value == 0.0


def test_a_loss_by_blocks_is_that_of_the_whole() -> None:
    rng = np.random.default_rng(2)
    weights = rng.standard_normal((64, 64)).astype(F32)
    stored = (weights * 4).round() / 4
    whole, parts = Loss(), Loss()
    whole.add(weights, stored)
    for low in range(0, 64, 7):
        parts.add(weights[low : low + 7], stored[low : low + 7])
    assert whole.value == parts.value
    exact = sum(
        Fraction(float(F32(a - b))) ** 2 for a, b in zip(weights.flat, stored.flat, strict=True)
    )
    total = sum(Fraction(float(a)) ** 2 for a in weights.flat)
    assert math.isclose(whole.value, float(exact / total), rel_tol=1e-12)


def test_a_difference_that_no_value_holds_is_an_error() -> None:
    stored = np.zeros((3, 200), F32)
    weights = stored.copy()
    weights[2, 7] = 65520.0
    with pytest.raises(QuantRangeError, match="row 2, column 7"):
        residual_of([(weights[:1], stored[:1]), (weights[1:], stored[1:])], RULE)
    weights[2, 7] = 65519.0
    assert residual_of([(weights, stored)], RULE).values.tolist() == [65504.0]


def test_the_density_stays_below_its_limit_at_every_width() -> None:
    limit = Fraction(15, 1000)
    for cols in range(1, 70_000, 13):
        kept = RULE.entries_of_row(cols)
        assert Fraction(kept, cols) < limit <= Fraction(kept + 1, cols)
