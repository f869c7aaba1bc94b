"""Rotary embeddings: literal loops, rotation properties, the pinned float32 angle."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trlm_lab.backends.profiles import evaluation_profile
from trlm_lab.base.bits import same_bits
from trlm_lab.errors import ShapeMismatchError
from trlm_lab.ops import elementary
from trlm_lab.ops.arithmetic import Arithmetic, Array
from trlm_lab.ops.rope import rope
from trlm_lab.ops.rope_interleaved import half_split_to_interleaved, rope_interleaved
from trlm_lab.ops.rotation import cosines_and_sines, inverse_frequencies

F32 = np.float32
SCALAR = evaluation_profile("scalar-f32-v1").arithmetic()


def heads(tokens: int, count: int, head_dim: int) -> Array:
    rng = np.random.default_rng(5)
    return rng.standard_normal((tokens, count, head_dim)).astype(F32)


@given(st.lists(st.integers(0, 8191), min_size=1, max_size=4), st.sampled_from([2, 4, 10]))
def test_half_split_is_the_literal_loop(positions: list[int], head_dim: int) -> None:
    x, half = heads(len(positions), 2, head_dim), head_dim // 2
    inv_freq = inverse_frequencies(1e4, head_dim)
    expected = np.empty_like(x)
    for t, position in enumerate(positions):
        for n in range(2):
            for i in range(half):
                angle = np.array([F32(F32(position) * inv_freq[i])])
                c, s = elementary.cos(angle)[0], elementary.sin(angle)[0]
                x1, x2 = x[t, n, i], x[t, n, i + half]
                expected[t, n, i] = F32(F32(x1 * c) - F32(x2 * s))
                expected[t, n, i + half] = F32(F32(x2 * c) + F32(x1 * s))
    assert same_bits(rope(x, np.array(positions), inv_freq, SCALAR), expected)


def test_interleaved_is_half_split_on_permuted_channels(arithmetic: Arithmetic) -> None:
    x, positions = heads(6, 3, 16), np.arange(6) * 100
    order = half_split_to_interleaved(16, 1)
    inv_freq = inverse_frequencies(1e5, 16)
    split = rope(x, positions, inv_freq, arithmetic)
    woven = rope_interleaved(x[..., order], positions, inv_freq, arithmetic)
    assert same_bits(np.ascontiguousarray(split[..., order]), woven)


def test_a_rotation_keeps_the_length_and_depends_on_distance_only(f64: Arithmetic) -> None:
    q, k = heads(1, 1, 8).astype(np.float64), heads(2, 1, 8)[1:].astype(np.float64)
    inv_freq = np.array([1.0, 0.5, 0.25, 0.125], F32)  # exact angles: distance is all that counts

    def dot(at_q: int, at_k: int) -> float:
        a = rope(q, np.array([at_q]), inv_freq, f64)
        b = rope(k, np.array([at_k]), inv_freq, f64)
        assert np.isclose(np.linalg.norm(a), np.linalg.norm(q), rtol=1e-14, atol=0)
        return float((a * b).sum())

    assert np.isclose(dot(7, 3), dot(107, 103), rtol=1e-12, atol=0)
    assert not np.isclose(dot(7, 3), dot(7, 4), rtol=1e-3)


def test_the_angle_is_the_float32_product_in_every_profile(f64: Arithmetic) -> None:
    inv_freq = np.array([0.1], F32)
    c, s = cosines_and_sines(np.array([8000]), inv_freq, f64)
    angle = F32(8000) * F32(0.1)
    assert c[0, 0] == np.cos(np.float64(angle))
    assert s[0, 0] == np.sin(np.float64(angle))
    assert c[0, 0] != np.cos(8000 * np.float64(F32(0.1)))


def test_inverse_frequencies_are_rounded_once() -> None:
    got = inverse_frequencies(1e5, 64)
    assert got.dtype == F32
    assert got[0] == 1
    assert got[16] == F32(1e5**-0.5)
    assert (np.diff(got) < 0).all()


def test_positions_beyond_the_pinned_range_give_nan() -> None:
    y = rope(np.ones((1, 1, 2), F32), np.array([2**20]), np.ones(1, F32), SCALAR)
    assert np.isnan(y).all()


@pytest.mark.parametrize(
    ("x", "positions", "inv_freq", "named"),
    [
        ((2, 4), (2,), (2,), "x"),
        ((2, 1, 3), (2,), (1,), "x"),
        ((2, 1, 4), (3,), (2,), "positions"),
        ((2, 1, 4), (2,), (4,), "inv_freq"),
    ],
)
@pytest.mark.parametrize("rotate", [rope, rope_interleaved])
def test_mismatched_shapes_are_named(
    rotate: object, x: tuple[int, ...], positions: tuple[int, ...], inv_freq: tuple[int, ...],
    named: str,
) -> None:  # fmt: skip
    with pytest.raises(ShapeMismatchError, match=f"{named} has the shape"):
        rotate(np.zeros(x, F32), np.zeros(positions, int), np.zeros(inv_freq, F32), SCALAR)  # type: ignore[operator]


@pytest.mark.parametrize(("rows", "count"), [(8, 3), (6, 2), (8, 0)])
def test_heads_that_do_not_divide_the_rows_are_refused(rows: int, count: int) -> None:
    with pytest.raises(ShapeMismatchError, match="rows has the shape"):
        half_split_to_interleaved(rows, count)
