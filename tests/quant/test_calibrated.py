"""The two calibrated quantizers against closed forms and plain linear algebra."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from trlm_lab.errors import (
    QuantCodeError,
    QuantGramError,
    QuantNonFiniteError,
    QuantPlaneError,
    QuantScaleError,
)
from trlm_lab.quant import GROUPED, Search
from trlm_lab.quant.activation_aware import ActivationAware
from trlm_lab.quant.coded import Coded, rounded
from trlm_lab.quant.error_compensating import ORDERINGS, ErrorCompensating
from trlm_lab.quant.gram import damped, inverse_factor, output_error, product

GRID = tuple(1 - i / 32 for i in range(16))
FORMS = sorted(GROUPED)


def weights(rows: int, cols: int, seed: int = 3) -> NDArray[np.float32]:
    draw = np.random.Generator(np.random.Philox(seed))
    return (draw.standard_normal((rows, cols)) * 0.1).astype(np.float32)


def gram(cols: int, tokens: int = 400, seed: int = 5) -> NDArray[np.float64]:
    """Of activations whose channels go together and differ in size."""
    draw = np.random.Generator(np.random.Philox(seed))
    mixed = draw.standard_normal((tokens, cols)) @ draw.standard_normal((cols, cols))
    x = mixed * np.exp(draw.standard_normal(cols))
    return np.asarray(x.T @ x)


def error_of(form: Any, w: NDArray[np.float32], coded: Coded, h: NDArray[np.float64]) -> float:
    e = w.astype(np.float64) - coded.values(form)
    return float(np.einsum("ri,ij,rj->", e, h, e))


def same(one: Coded, other: Coded) -> bool:
    return np.array_equal(one.codes, other.codes) and np.array_equal(one.words, other.words)


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("cols", [64, 150, 256])
def test_with_the_identity_compensation_is_plain_rounding(name: str, cols: int) -> None:
    form, w = GROUPED[name], weights(9, cols)
    for ordering in ORDERINGS:
        found = ErrorCompensating(0.01, (1.0,), ordering).quantize(form, w, np.eye(cols))
        assert same(found, rounded(form, w))
        search = ErrorCompensating(0.0, GRID, ordering).quantize(form, w, np.eye(cols))
        assert same(search, rounded(replace(form, clipping=Search(GRID)), w))


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("cols", [64, 150, 256])
def test_with_equal_activations_the_search_is_the_declared_grid_search(
    name: str, cols: int
) -> None:
    form, w = GROUPED[name], weights(200, cols)
    found = ActivationAware(GRID, 2).quantize(form, w, 7 * np.eye(cols))
    assert same(found, rounded(replace(form, clipping=Search(GRID)), w))


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("seed", range(4))
def test_on_its_calibration_activations_the_search_is_never_worse_than_rounding(
    name: str, seed: int
) -> None:
    form, w, h = GROUPED[name], weights(20, 200, seed), gram(200, seed=10 + seed)
    plain = error_of(form, w, rounded(form, w), h)
    once = error_of(form, w, ActivationAware(GRID, 1).quantize(form, w, h), h)
    twice = error_of(form, w, ActivationAware(GRID, 2).quantize(form, w, h), h)
    assert twice <= once <= plain


def test_compensation_lowers_the_error_that_rounding_leaves() -> None:
    form, w, h = GROUPED["q4_g64"], weights(20, 200), gram(200)
    plain = error_of(form, w, rounded(form, w), h)
    for ordering in ORDERINGS:
        found = ErrorCompensating(0.01, (1.0,), ordering).quantize(form, w, h)
        assert error_of(form, w, found, h) < 0.6 * plain


def test_compensation_of_two_columns_by_hand() -> None:
    """The second column takes -e0 * H01 / H11, the least-squares answer to the error before."""
    form, w = GROUPED["q4_g64"], np.zeros((1, 64), np.float32)
    w[0, :3] = [0.26, 0.5, 7.0]
    h = np.eye(64)
    h[0, 1] = h[1, 0] = 0.9
    found = ErrorCompensating(0.0, (1.0,), "ascending").quantize(form, w, h)
    assert found.codes[0, :3].tolist() == [0, 1, 7]  # 0.5 + 0.26 * 0.9 = 0.734, alone it goes to 0
    assert rounded(form, w).codes[0, :3].tolist() == [0, 0, 7]


def test_the_order_of_the_diagonal_decides_who_makes_good() -> None:
    form, w = GROUPED["q4_g64"], np.zeros((1, 64), np.float32)
    w[0, :3] = [0.3, 0.26, 7.0]
    h = np.eye(64)
    h[1, 1] = 2.0
    h[0, 1] = h[1, 0] = 0.9
    up = ErrorCompensating(0.0, (1.0,), "ascending").quantize(form, w, h)
    down = ErrorCompensating(0.0, (1.0,), "descending-diagonal").quantize(form, w, h)
    # Ascending: 0.26 + 0.3 * 0.9 / 2 = 0.395. Descending: 0.3 + 0.26 * 0.9 = 0.534.
    assert up.codes[0, :3].tolist() == [0, 0, 7]
    assert down.codes[0, :3].tolist() == [1, 0, 7]


def test_factor_product_and_error_are_those_of_linear_algebra() -> None:
    h = damped(gram(70), 0.01)
    u = inverse_factor(h, where="w")
    assert np.array_equal(u, np.triu(u))
    assert np.abs(u.T @ u @ h - np.eye(70)).max() < 1e-8
    w = weights(5, 70).astype(np.float64)
    assert np.allclose(product(w, h), w @ h, rtol=1e-12)
    assert np.isclose(output_error(w, h), np.trace(w @ h @ w.T), rtol=1e-12)
    assert np.array_equal(damped(np.zeros((3, 3)), 0.01), np.eye(3))


def test_rows_do_not_know_each_other() -> None:
    form, w, h = GROUPED["q5_g64"], weights(140, 100), gram(100)
    for algorithm in (ErrorCompensating(0.01, GRID, "ascending"), ActivationAware(GRID, 1)):
        whole = algorithm.quantize(form, w, h)
        some = algorithm.quantize(form, w[130:137], h)
        assert same(some, Coded(whole.codes[130:137], whole.words[130:137]))


def test_planes_give_the_values_back_and_repack_to_the_same_bytes() -> None:
    for name in FORMS:
        form, w, h = GROUPED[name], weights(6, 150), gram(150)
        coded = ErrorCompensating(0.01, GRID, "descending-diagonal").quantize(form, w, h)
        codes, scales = coded.planes(form)
        back = form.dequantize(memoryview(codes), memoryview(scales), 6, 150)
        assert np.array_equal(back, coded.values(form))
        assert coded.planes(form) == (codes, scales)


def test_what_is_no_gram_matrix_is_refused() -> None:
    form, w = GROUPED["q4_g64"], weights(2, 64)
    algorithm = ErrorCompensating(0.0, (1.0,), "ascending")
    crooked, hot = np.eye(64), np.eye(64)
    crooked[0, 1], hot[0, 0] = 0.5, np.inf
    singular = np.ones((64, 64))
    for h, why in (
        (np.eye(63), "shape"), (crooked, "symmetric"), (hot, "finite"), (-np.eye(64), "negative"),
        (singular, "definite"),
    ):  # fmt: skip
        with pytest.raises(QuantGramError, match=why):
            algorithm.quantize(form, w, h)
    with pytest.raises(QuantGramError, match="shape"):
        ActivationAware(GRID, 1).quantize(form, w, np.eye(63))
    w[1, 2] = np.nan
    with pytest.raises(QuantNonFiniteError, match="row 1, column 2"):
        ActivationAware(GRID, 1).quantize(form, w, np.eye(64))


def test_codes_that_no_writer_produces_are_refused() -> None:
    form = GROUPED["q4_g64"]
    good = rounded(form, weights(2, 64))
    low = good.codes.copy()
    low[1, 3] = -8
    with pytest.raises(QuantCodeError, match="row 1, column 3"):
        Coded(low, good.words).planes(form)
    with pytest.raises(QuantScaleError, match="negative"):
        Coded(good.codes, good.words | np.uint16(0x8000)).planes(form)
    with pytest.raises(QuantPlaneError):
        Coded(good.codes, np.repeat(good.words, 2, axis=1)).planes(form)
