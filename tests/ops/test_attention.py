"""Attention, softmax and masks against literal loops over single float32 numbers."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tests.ops.bounds import dot_depth, gamma
from tests.ops.literal_sum import add_up
from trlm_lab.backends.profiles import evaluation_profile
from trlm_lab.base.bits import same_bits
from trlm_lab.errors import AllKeysMaskedError, ShapeMismatchError
from trlm_lab.ops import elementary
from trlm_lab.ops.arithmetic import Arithmetic, Array
from trlm_lab.ops.attention import attention, attention_scores, attention_values, grouped_heads
from trlm_lab.ops.evaluation_profile import EvaluationProfile
from trlm_lab.ops.masks import causal_mask, sliding_window_mask, without_padding
from trlm_lab.ops.softmax import softmax

F32 = np.float32
SCALAR = evaluation_profile("scalar-f32-v1").arithmetic()
LANES16 = evaluation_profile("lanes16-f32-v1").arithmetic()
LANES = {"scalar-f32-v1": 1, "lanes16-f32-v1": 16}


def literal_softmax(scores: Array, visible: Array, lanes: int) -> Array:
    out = np.zeros_like(scores)
    for t in range(len(scores)):
        seen = np.flatnonzero(visible[t])
        highest = max(scores[t, seen])
        weights = [elementary.exp(np.array([F32(scores[t, s] - highest)]))[0] for s in seen]
        total = add_up(weights, lanes)
        out[t, seen] = [F32(w / total) for w in weights]
    return out


@st.composite
def masked_scores(draw: st.DrawFn) -> tuple[Array, Array]:
    """Scores (T, S) and a mask in which every row sees a key: any pattern, not only causal."""
    shape = draw(st.tuples(st.integers(1, 4), st.integers(1, 40)))
    scores = draw(hnp.arrays(F32, shape, elements=st.floats(-200, 200, width=32)))
    visible = draw(hnp.arrays(np.bool_, shape))
    visible[np.arange(shape[0]), draw(hnp.arrays(int, shape[0], elements=st.integers(0, shape[1] - 1)))] = True  # fmt: skip  # noqa: E501
    return scores, visible


@given(masked_scores(), st.sampled_from([SCALAR, LANES16]))
def test_softmax_is_the_literal_loop(case: tuple[Array, Array], arithmetic: Arithmetic) -> None:
    expected = literal_softmax(*case, LANES[arithmetic.name])
    assert same_bits(softmax(*case, arithmetic), expected)


@given(masked_scores())
def test_softmax_rows_sum_to_one_and_masked_entries_are_plus_zero(
    case: tuple[Array, Array],
) -> None:
    for name in ("scalar-f32-v1", "lanes16-f32-v1", "f64-reference"):
        profile = evaluation_profile(name)
        probs = softmax(*case, profile.arithmetic())
        # The sum errs by its depth, each quotient by one rounding; adding up here is in float64.
        bound = gamma(profile, dot_depth(profile, probs.shape[1]) + 1) + 40 * 2.0**-53
        assert (np.abs(probs.astype(np.float64).sum(axis=1) - 1) <= bound).all()
        masked = probs[~case[1]]
        assert masked.tobytes() == bytes(masked.nbytes)
        assert (probs >= 0).all()


def test_softmax_ignores_what_is_masked() -> None:
    visible = np.array([[True, False, True]])
    plain = softmax(np.array([[1.0, 5.0, 2.0]], F32), visible, SCALAR)
    for hidden in (np.inf, -np.inf, np.nan, 3e38):
        again = softmax(np.array([[1.0, hidden, 2.0]], F32), visible, SCALAR)
        assert same_bits(plain, again)


def test_ordinals_count_from_the_oldest_visible_key() -> None:
    """In lanes16 a window that starts late sums as if its oldest key were key 0."""
    rng = np.random.default_rng(0)
    scores = rng.standard_normal((1, 50)).astype(F32) * 3
    late = np.arange(50)[None] >= 13
    alone = softmax(scores[:, 13:], late[:, 13:], LANES16)
    assert same_bits(np.ascontiguousarray(softmax(scores, late, LANES16)[:, 13:]), alone)


def test_softmax_is_extreme_but_finite(arithmetic: Arithmetic) -> None:
    probs = softmax(np.array([[-3e38, 3e38], [0.0, -200.0]]), np.ones((2, 2), bool), arithmetic)
    assert probs[0].tolist() == [0, 1]
    assert probs[1, 0] == 1
    assert 0 <= float(probs[1, 1]) < 1e-80


def test_nan_makes_its_row_nan_and_no_other() -> None:
    scores = np.zeros((2, 3), F32)
    scores[1, 1] = np.nan
    probs = softmax(scores, np.array([[1, 1, 1], [1, 1, 0]], bool), SCALAR)
    assert np.isfinite(probs[0]).all()
    assert np.isnan(probs[1, :2]).all()
    assert probs[1, 2] == 0


def test_the_row_of_a_masked_batch_is_named() -> None:
    visible = np.ones((2, 3, 4), bool)
    visible[1, 2] = False
    with pytest.raises(AllKeysMaskedError) as caught:
        softmax(np.zeros((2, 3, 4)), visible, SCALAR)
    assert caught.value.facts["row"] == [1, 2]


def literal_attention(
    q: Array, k: Array, v: Array, visible: Array, scale: F32, lanes: int
) -> Array:
    tokens, heads, width = q.shape
    group = heads // k.shape[1]
    out = np.zeros((tokens, heads, v.shape[2]), F32)
    for h in range(heads):
        scores = np.empty((tokens, len(k)), F32)
        for t, s in itertools.product(range(tokens), range(len(k))):
            terms = [F32(q[t, h, e] * k[s, h // group, e]) for e in range(width)]
            scores[t, s] = F32(add_up(terms, lanes) * scale)
        probs = literal_softmax(scores, visible, lanes)
        for t, c in itertools.product(range(tokens), range(v.shape[2])):
            total = F32(0)
            for s in np.flatnonzero(visible[t]):
                total = F32(total + F32(probs[t, s] * v[s, h // group, c]))
            out[t, h, c] = total
    return out


MASKS = {
    "causal": causal_mask(5),
    "window": sliding_window_mask(5, 2),
    "padded": without_padding(causal_mask(5), np.array([True, False, True, True, False])),
    "gaps": np.array([[1, 0, 0, 0, 1], [0, 1, 0, 1, 0], [1, 1, 1, 1, 1], [0, 0, 1, 0, 0],
                      [1, 0, 1, 0, 1]], bool),
}  # fmt: skip


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("arithmetic", [SCALAR, LANES16], ids=lambda a: a.name)
@pytest.mark.parametrize("kv_heads", [1, 2, 4])
def test_attention_is_the_literal_loop(mask: str, arithmetic: Arithmetic, kv_heads: int) -> None:
    rng = np.random.default_rng(kv_heads)
    q = rng.standard_normal((5, 4, 20)).astype(F32)
    k, v = (rng.standard_normal((5, kv_heads, 20)).astype(F32) for _ in range(2))
    scale = F32(20**-0.5)
    expected = literal_attention(q, k, v, MASKS[mask], scale, LANES[arithmetic.name])
    got = attention(q, k, v, MASKS[mask], float(scale), arithmetic)
    assert same_bits(got, expected)


def test_attention_against_float64(arithmetic: Arithmetic, profile: EvaluationProfile) -> None:
    rng = np.random.default_rng(9)
    q, k, v = (rng.standard_normal((6, 2, 8)).astype(F32) for _ in range(3))
    visible, scale = causal_mask(6), float(F32(8**-0.5))
    wide = [x.astype(np.float64).transpose(1, 0, 2) for x in (q, k, v)]
    scores = np.where(visible, wide[0] @ wide[1].transpose(0, 2, 1) * scale, -np.inf)
    weights = np.exp(scores - scores.max(axis=2, keepdims=True))
    exact = (weights / weights.sum(axis=2, keepdims=True) @ wide[2]).transpose(1, 0, 2)
    # A score errs by gamma(8 + 2) of sum|q*k|*scale, its difference to the maximum by twice that
    # and a rounding; exp carries it over as a relative error, once above and once below the line.
    sizes = np.abs(wide[0]) @ np.abs(wide[1]).transpose(0, 2, 1) * scale
    depth, top = dot_depth(profile, 8), 2 * sizes.max() + np.abs(scores[np.isfinite(scores)]).max()
    relative = 2 * gamma(profile, depth + 3) * top + gamma(profile, 2 * 6 + 8)
    bound = relative * np.abs(wide[2]).max()
    assert (np.abs(attention(q, k, v, visible, scale, arithmetic) - exact) <= bound).all()


def test_masked_values_are_left_out_not_multiplied_by_zero() -> None:
    probs, v = np.array([[[1.0, 0.0]]], F32), np.array([[[2.0]], [[np.inf]]], F32)
    y = attention_values(probs, v, np.array([0]), np.array([[True, False]]), SCALAR)
    assert y.tolist() == [[[2.0]]]


def test_grouping_is_by_consecutive_heads() -> None:
    assert grouped_heads(9, 3).tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert grouped_heads(4, 4).tolist() == [0, 1, 2, 3]
    with pytest.raises(ShapeMismatchError, match="query heads"):
        grouped_heads(9, 2)
    with pytest.raises(ShapeMismatchError, match="query heads"):
        grouped_heads(9, 0)


def test_causal_rows_of_a_later_chunk() -> None:
    assert same_bits(causal_mask(2, 6), np.ascontiguousarray(causal_mask(6)[4:]))
    assert same_bits(sliding_window_mask(6, 6), causal_mask(6))


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: causal_mask(0), "queries"),
        (lambda: causal_mask(3, 2), "queries"),
        (lambda: sliding_window_mask(3, 0), "window"),
        (lambda: without_padding(causal_mask(3), np.ones(2, bool)), "keep"),
        (lambda: softmax(np.zeros((2, 3)), np.ones((3, 3), bool), SCALAR), "mask"),
        (lambda: scores((2, 2, 4), (3, 1, 5)), "k"),
        (lambda: scores((2, 4), (3, 1, 4)), "k"),
        (lambda: whole((2, 2, 4), (3, 1, 4), (2, 1, 4)), "v"),
        (lambda: whole((2, 3, 4), (3, 2, 4), (3, 2, 4)), "query heads"),
    ],
)
def test_mismatched_shapes_are_named(call: object, named: str) -> None:
    with pytest.raises(ShapeMismatchError, match=f"{named} has the shape"):
        call()  # type: ignore[operator]


def scores(q: tuple[int, ...], k: tuple[int, ...]) -> Array:
    heads = np.zeros(q[1], int)
    return attention_scores(np.zeros(q, F32), np.zeros(k, F32), heads, 1.0, SCALAR)


def whole(q: tuple[int, ...], k: tuple[int, ...], v: tuple[int, ...]) -> Array:
    visible = np.ones((q[0], k[0]), bool)
    return attention(np.zeros(q), np.zeros(k), np.zeros(v), visible, 1.0, SCALAR)


def test_values_of_another_length_are_named() -> None:
    with pytest.raises(ShapeMismatchError, match="v has the shape"):
        attention_values(
            np.ones((1, 1, 2), F32), np.ones((3, 1, 4), F32), np.array([0]),
            np.ones((1, 2), bool), SCALAR,
        )  # fmt: skip
