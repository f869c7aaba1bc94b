"""Known answers and known mistakes of the operators; values of `known_answers.json`.

The float64 answers were computed by hand-written formulas, the wrong ones by doing it wrong on
purpose. Float32 profiles must come as close as their own sourced bound says.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.ops.bounds import dot_depth, gamma
from trlm_lab.backends.profiles import evaluation_profile
from trlm_lab.base.bits import round_to_bf16
from trlm_lab.errors import AllKeysMaskedError
from trlm_lab.ops import by_dtype, elementary
from trlm_lab.ops.arithmetic import Arithmetic, Array
from trlm_lab.ops.attention import attention
from trlm_lab.ops.by_name import run_operator
from trlm_lab.ops.evaluation_profile import EvaluationProfile
from trlm_lab.ops.layer_norm import layer_norm
from trlm_lab.ops.masks import causal_mask, sliding_window_mask, without_padding
from trlm_lab.ops.matmul import matmul
from trlm_lab.ops.reduction import ordered_sum
from trlm_lab.ops.rms_norm import rms_norm
from trlm_lab.ops.rope import rope
from trlm_lab.ops.rope_interleaved import half_split_to_interleaved, rope_interleaved
from trlm_lab.ops.rotation import inverse_frequencies
from trlm_lab.ops.softcap import softcap
from trlm_lab.ops.softmax import softmax
from trlm_lab.ops.yarn import yarn_inverse_frequencies

KNOWN: dict[str, Any] = json.loads(
    Path(__file__).with_name("known_answers.json").read_text(encoding="utf-8")
)
Close = Callable[[Array, Any, int, Any], None]


def differs(got: Array, wrong: list[float]) -> bool:
    """Whether every wrong entry that is wrong at all is clearly another number."""
    return float(np.abs(np.asarray(got, np.float64) - np.asarray(wrong)).max()) > 1e-3


def test_rms_norm(arithmetic: Arithmetic, profile: EvaluationProfile, close: Close) -> None:
    known = KNOWN["rms_norm"]
    y = rms_norm(np.array(known["x"]), np.array(known["weight"]), known["eps"], arithmetic)
    # Inputs, square, sum, division, epsilon, root, reciprocal, two products.
    close(y, known["y"], dot_depth(profile, 4) + 10, known["y"])
    assert all(differs(y, wrong) for wrong in known["wrong"].values())


def test_the_wrong_epsilons_are_what_wrong_epsilons_give(f64: Arithmetic) -> None:
    known = KNOWN["rms_norm"]
    x, weight = np.array(known["x"]), np.array(known["weight"])
    for name, eps in (("eps 1e-6", 1e-6), ("eps 5e-6", 5e-6)):
        np.testing.assert_allclose(
            rms_norm(x, weight, eps, f64), known["wrong"][name], rtol=profile_rtol(f64)
        )
    y = layer_norm(x, weight, np.zeros(4), known["eps"], f64)
    np.testing.assert_allclose(y, known["wrong"]["layer norm"], rtol=profile_rtol(f64))


def profile_rtol(arithmetic: Arithmetic) -> float:
    """Thirty roundings in a row, cancellation by at most sixteen: far below any mistake."""
    return 16 * 30 * float(np.finfo(arithmetic.dtype).eps)


@pytest.mark.parametrize("order", ["y_cast_then_weight", "y_weight_then_cast"])
def test_rms_norm_in_bf16_by_either_cast_order(order: str, scalar: Arithmetic) -> None:
    known = KNOWN["rms_norm_bf16"]
    x, weight = (np.array(known[n], np.float32) for n in ("x", "weight"))
    assert np.array_equal(x, round_to_bf16(x))
    if order == "y_cast_then_weight":
        unit = rms_norm(x, np.ones(4, np.float32), known["eps"], scalar)
        y = round_to_bf16(weight * round_to_bf16(unit))
    else:
        y = round_to_bf16(rms_norm(x, weight, known["eps"], scalar))
    assert y.tolist() == known[order]


def test_softcap(arithmetic: Arithmetic, close: Close) -> None:
    known = KNOWN["softcap"]
    y = softcap(np.array(known["x"]), known["cap"], arithmetic)
    # Quotient, tanh within 1 ULP (two roundings), product.
    close(y, known["y"], 4, known["y"])
    assert all(differs(y, wrong) for wrong in known["wrong"].values())


def test_the_cap_comes_before_the_mask(arithmetic: Arithmetic) -> None:
    capped = softcap(np.array([[10.0, -np.inf]]), 50.0, arithmetic)
    assert capped[0, 1] == -50  # capping a masked score would let it take part
    visible = np.array([[True, False]])
    q, k = np.array([[[1.0]]]), np.array([[[10.0]], [[-np.inf]]])
    v = np.array([[[1.0]], [[2.0]]])
    assert attention(q, k, v, visible, 1.0, arithmetic, cap=50.0).tolist() == [[[1.0]]]


def test_a_row_with_every_key_masked_is_an_error_with_its_index(arithmetic: Arithmetic) -> None:
    scores = np.zeros((3, 4))
    visible = np.ones((3, 4), bool)
    visible[1] = False
    with pytest.raises(AllKeysMaskedError) as caught:
        softmax(scores, visible, arithmetic)
    assert caught.value.facts["row"] == 1
    assert caught.value.code == "ALL_KEYS_MASKED"


@pytest.mark.parametrize("sentinel", [-np.inf, np.finfo(np.float32).min])
def test_masked_scores_neither_give_nan_nor_a_uniform_row(
    sentinel: float, arithmetic: Arithmetic
) -> None:
    with pytest.raises(AllKeysMaskedError) as caught:
        run_operator("softmax", {"x": np.full(4, sentinel)}, {}, arithmetic)
    assert caught.value.facts["row"] == 0
    y = run_operator("softmax", {"x": np.array([0.0, sentinel, 0.0])}, {}, arithmetic)["y"]
    assert y.tolist() == [0.5, 0.0, 0.5]


def test_two_masks_combine_without_overflow(scalar: Arithmetic) -> None:
    lowest = np.finfo(np.float32).min
    with np.errstate(over="ignore"):
        assert np.float32(lowest) + np.float32(lowest) == -np.inf  # the mistake
    visible = without_padding(causal_mask(2), np.array([True, False]))
    assert visible.tolist() == [[True, False], [True, False]]
    assert np.isfinite(softmax(np.zeros((2, 2)), visible, scalar)).all()


def test_sliding_window() -> None:
    known = KNOWN["sliding_window"]
    assert sliding_window_mask(8, known["window"]).astype(int).tolist() == known["y"]
    for wrong in known["wrong_windows"].values():
        assert sliding_window_mask(8, wrong).astype(int).tolist() != known["y"]
    assert np.flatnonzero(sliding_window_mask(8, 4)[5]).tolist() == [2, 3, 4, 5]
    assert sliding_window_mask(2, 4, keys=8).astype(int).tolist() == known["y"][6:]


@pytest.mark.parametrize(
    ("rotate", "answer"), [(rope, "y_half_split"), (rope_interleaved, "y_interleaved")]
)
def test_rope(
    rotate: Callable[..., Array], answer: str, arithmetic: Arithmetic, profile: EvaluationProfile
) -> None:
    known = KNOWN["rope"]
    x = np.array(known["x"]).reshape(1, 1, 4)
    inv_freq = inverse_frequencies(known["theta"], 4)
    y = rotate(x, np.array([known["position"]]), inv_freq, arithmetic).reshape(-1)
    pairs = np.array([4.0, 6.0, 4.0, 6.0] if answer == "y_half_split" else [3.0, 3.0, 7.0, 7.0])
    # The float32 angle is off by two roundings in every profile; then cos or sin within 1 ULP (two
    # roundings), product and sum in the profile's type. Both act on |x1| + |x2|.
    two_f32_roundings = gamma(evaluation_profile("scalar-f32-v1"), 2)
    bound = pairs * (two_f32_roundings + gamma(profile, 4))
    assert (np.abs(np.array(known[answer]) - y) <= bound).all()
    other = "y_interleaved" if answer == "y_half_split" else "y_half_split"
    assert differs(y, known[other])
    still = rotate(x, np.array([0]), inv_freq, arithmetic).reshape(-1)
    assert still.tolist() == known["x"]  # position 0 hides which pairing is in force


def test_rope_with_the_exact_angle_is_exact_to_float64(f64: Arithmetic, close: Close) -> None:
    """The known answer rotates by the float64 angle; undo the float32 one that profiles pin."""
    known = KNOWN["rope"]
    angle = np.float64(inverse_frequencies(known["theta"], 4)[1])
    slip = angle - 0.01
    y = rope(np.array(known["x"]).reshape(1, 1, 4), np.array([1]), np.array([1, angle]), f64)
    y1, y3 = y[0, 0, 1], y[0, 0, 3]
    turned_back = [y1 * np.cos(slip) + y3 * np.sin(slip), y3 * np.cos(slip) - y1 * np.sin(slip)]
    expected = [known["y_half_split"][1], known["y_half_split"][3]]
    np.testing.assert_allclose(turned_back, expected, rtol=profile_rtol(f64))


def test_interleaving_permutes_within_each_key_value_head(scalar: Arithmetic) -> None:
    known = KNOWN["rope_permutation"]
    rows, kv_heads, head_dim = 8, known["kv_heads"], known["head_dim"]
    order = half_split_to_interleaved(rows, kv_heads)
    assert order.tolist() == known["k_row_order"]
    wrong = half_split_to_interleaved(rows, known["heads"] // known["kv_heads"])
    assert wrong.tolist() == known["wrong"]["heads // kv_heads groups"]
    k = np.arange(1, 9, dtype=np.float32)
    args = (np.array([3]), inverse_frequencies(1e4, head_dim), scalar)
    half = rope(k.reshape(1, 2, 4), *args).reshape(-1)
    interleaved = rope_interleaved(k[order].reshape(1, 2, 4), *args).reshape(-1)
    assert np.array_equal(half[order], interleaved)
    mistaken = rope_interleaved(k[wrong].reshape(1, 2, 4), *args).reshape(-1)
    assert not np.array_equal(half[wrong], mistaken)


def test_yarn_frequencies() -> None:
    known = KNOWN["yarn"]
    inv_freq, factor = yarn_inverse_frequencies(
        known["head_dim"], known["theta"], known["factor"], known["original_context"]
    )
    np.testing.assert_allclose(inv_freq, known["inv_freq"], rtol=64 * np.finfo(np.float64).eps)
    assert factor == known["attention_factor"]
    plain = known["theta"] ** -(np.arange(0, 64, 2) / 64)
    assert not np.allclose(inv_freq, plain / known["factor"])  # not a scaling of every frequency


def test_tanh_saturates(profile: EvaluationProfile, arithmetic: Arithmetic, close: Close) -> None:
    known = KNOWN["tanh"]
    y = by_dtype.tanh(arithmetic.array(known["x"]))
    close(y, known["y"], 2, known["y"])
    assert y[5:].tolist() == [1, 1, 1, 1, -1]
    assert elementary.tanh(np.float32([0.5]))[0] == np.float32(known["y"][1])


def test_reduction_order(scalar: Arithmetic, lanes16: Arithmetic, f64: Arithmetic) -> None:
    known = KNOWN["reduction_order"]
    addends = np.array(known["addends"])
    two_lanes = Arithmetic("two lanes", np.dtype(np.float32), 2)
    expected = [
        (scalar, known["sequential"]),
        (two_lanes, known["two_lanes"]),
        (lanes16, known["two_lanes"]),
        (f64, known["exact"]),
    ]
    for arithmetic, total in expected:
        assert ordered_sum(arithmetic.array(addends), arithmetic) == total
        assert matmul(addends[None], np.ones((1, 4)), arithmetic)[0, 0] == total
    a = addends.astype(np.float32)
    assert (a[0] + a[1]) + (a[2] + a[3]) == known["pairwise_neighbours"]
