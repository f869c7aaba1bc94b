"""Sums and products in the pinned orders, against literal loops over single float32 numbers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tests.ops.bounds import dot_depth, gamma
from trlm_lab.backends.profiles import evaluation_profile
from trlm_lab.base.bits import same_bits
from trlm_lab.errors import ShapeMismatchError
from trlm_lab.ops.arithmetic import Arithmetic, Array
from trlm_lab.ops.matmul import block_width, matmul
from trlm_lab.ops.reduction import UFUNC_BUFFER, merge_lanes, ordered_sum, unbuffered_broadcasting

F32 = np.float32
SCALAR = evaluation_profile("scalar-f32-v1").arithmetic()
LANES16 = evaluation_profile("lanes16-f32-v1").arithmetic()

numbers = st.floats(-(2.0**40), 2.0**40, width=32)


@st.composite
def operands(draw: st.DrawFn) -> tuple[Array, Array]:
    """x (T, I) and W (O, I), tails of every length included."""
    tokens, inner, outputs = draw(
        st.tuples(st.integers(1, 3), st.integers(1, 50), st.integers(1, 3))
    )
    x = draw(hnp.arrays(F32, (tokens, inner), elements=numbers))
    return x, draw(hnp.arrays(F32, (outputs, inner), elements=numbers))


def sequential(terms: list[F32]) -> F32:
    total = F32(0)
    for term in terms:
        total = F32(total + term)
    return total


def sixteen_lanes(terms: list[F32]) -> F32:
    lanes = [F32(0)] * 16
    for i, term in enumerate(terms):
        lanes[i % 16] = F32(lanes[i % 16] + term)
    for width in (8, 4, 2, 1):
        for lane in range(width):
            lanes[lane] = F32(lanes[lane] + lanes[lane + width])
    return lanes[0]


def literal_matmul(x: Array, w: Array, add_up: object) -> Array:
    y = np.empty((len(x), len(w)), F32)
    for t in range(len(x)):
        for o in range(len(w)):
            y[t, o] = add_up([F32(a * b) for a, b in zip(x[t], w[o], strict=True)])  # type: ignore[operator]
    return y


@given(operands())
def test_scalar_matmul_is_the_literal_triple_loop(xw: tuple[Array, Array]) -> None:
    with np.errstate(all="ignore"):
        expected = literal_matmul(*xw, sequential)
    assert same_bits(matmul(*xw, SCALAR), expected)


@given(operands())
def test_lanes16_matmul_is_the_literal_sixteen_lanes(xw: tuple[Array, Array]) -> None:
    with np.errstate(all="ignore"):
        expected = literal_matmul(*xw, sixteen_lanes)
    assert same_bits(matmul(*xw, LANES16), expected)


@given(hnp.arrays(F32, st.integers(1, 70), elements=numbers))
def test_sums_are_the_literal_loops(terms: Array) -> None:
    assert same_bits(ordered_sum(terms, SCALAR)[()], sequential(list(terms)))
    assert same_bits(ordered_sum(terms, LANES16)[()], sixteen_lanes(list(terms)))


@pytest.mark.parametrize("inner", [1, 15, 16, 17, 31, 33, 576])
def test_orders_agree_within_the_profiles_bounds(inner: int) -> None:
    rng = np.random.default_rng(inner)
    x = rng.standard_normal((4, inner)).astype(F32)
    w = rng.standard_normal((5, inner)).astype(F32)
    exact = x.astype(np.float64) @ w.astype(np.float64).T
    size = np.abs(x).astype(np.float64) @ np.abs(w).astype(np.float64).T
    for name in ("scalar-f32-v1", "lanes16-f32-v1"):
        profile = evaluation_profile(name)
        bound = gamma(profile, dot_depth(profile, inner) + 1) * size
        assert (np.abs(matmul(x, w, profile.arithmetic()) - exact) <= bound).all()


def test_a_sum_of_negative_zeros_is_plus_zero() -> None:
    terms = np.full(40, -0.0, F32)
    for arithmetic in (SCALAR, LANES16):
        assert ordered_sum(terms, arithmetic).tobytes() == F32(0.0).tobytes()
        y = matmul(terms[None], np.ones((1, 40), F32), arithmetic)
        assert y.tobytes() == F32(0.0).tobytes()


def test_products_are_rounded_before_they_are_added() -> None:
    """(1 + 2^-12)^2 - 1: a fused multiply-add would keep the 2^-24."""
    near = F32(1 + 2.0**-12)
    y = matmul(np.array([[-1.0, near]], F32), np.array([[1.0, near]], F32), SCALAR)
    assert y[0, 0] == F32(2.0**-11)
    assert float(near) ** 2 - 1 != 2.0**-11


def test_subnormals_are_kept() -> None:
    tiny = np.finfo(F32).smallest_subnormal
    y = matmul(np.array([[tiny, tiny]]), np.array([[1.0, 2.0]], F32), SCALAR)
    assert y[0, 0] == 3 * tiny


@pytest.mark.parametrize("arithmetic", [SCALAR, LANES16], ids=lambda a: a.name)
@pytest.mark.parametrize("tokens", [1, 20])
def test_blocks_and_threads_change_no_bit(arithmetic: Arithmetic, tokens: int) -> None:
    rng = np.random.default_rng(3)
    x = rng.standard_normal((tokens, 48)).astype(F32)
    w = rng.standard_normal((9000, 48)).astype(F32)
    threaded = Arithmetic(arithmetic.name, arithmetic.dtype, arithmetic.lanes, threads=3)
    whole = matmul(x, w, arithmetic)
    assert block_width(tokens, 9000, 1) < 9000
    assert same_bits(matmul(x, w, threaded), whole)
    for rows in (slice(0, 1), slice(4090, 4100), slice(8999, 9000)):
        alone = matmul(x, w[rows], arithmetic)
        assert same_bits(np.ascontiguousarray(whole[:, rows]), alone)
    one = matmul(x[-1:], w, arithmetic)
    assert same_bits(np.ascontiguousarray(whole[-1:]), one)


def test_merging_lanes_pairs_the_upper_half_onto_the_lower() -> None:
    big = F32(2.0**24)
    lanes = np.zeros(16, F32)
    lanes[[0, 8]], lanes[1] = big, 1  # (0, 8) first: 2^25, then the 1 of lane 1 is lost
    lanes[9] = 1
    assert merge_lanes(lanes) == F32(2 * big) + F32(2)


def test_the_ufunc_buffer_is_put_back() -> None:
    before = np.getbufsize()
    with unbuffered_broadcasting():
        assert np.getbufsize() == UFUNC_BUFFER
    assert np.getbufsize() == before


@pytest.mark.parametrize(
    ("x", "w"), [((2, 3), (4, 5)), ((3,), (4, 3)), ((2, 3), (3,)), ((2, 2, 3), (4, 3))]
)
def test_mismatched_shapes_are_named(x: tuple[int, ...], w: tuple[int, ...]) -> None:
    with pytest.raises(ShapeMismatchError, match="weight is"):
        matmul(np.zeros(x, F32), np.zeros(w, F32), SCALAR)


@pytest.mark.parametrize(("lanes", "threads"), [(3, 1), (0, 1), (16, 0)])
def test_an_arithmetic_has_power_of_two_lanes(lanes: int, threads: int) -> None:
    with pytest.raises(ValueError, match="power of two"):
        Arithmetic("wrong", np.dtype(F32), lanes, threads)
