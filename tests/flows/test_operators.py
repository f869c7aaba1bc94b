"""`trlm op`: known answers of norms, attention, activations and sums, through files."""

import numpy as np
import pytest

from tests.flows.operator_calls import ENGINES, F32, KNOWN, LOWEST, Serve, near
from tests.ops.bounds import dot_depth
from trlm_lab.backends.profiles import evaluation_profile
from trlm_lab.errors import (
    OperatorInputError,
    TrlmError,
)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_norm_takes_its_epsilon_from_the_operands(serve: Serve, engine: str) -> None:
    known = KNOWN["rms_norm"]
    operands = {name: known[name] for name in ("x", "weight", "eps")}
    y = serve("rms_norm", "scalar-f32-v1", engine, **operands)["y"]
    depth = dot_depth(evaluation_profile("scalar-f32-v1"), 4)
    assert near(y, known["y"], depth + 10, "scalar-f32-v1")
    assert near(serve("rms_norm", **operands)["y"], known["y"], 16)


@pytest.mark.parametrize(
    ("option", "answer"),
    [
        ("bf16-round-then-weight", "y_cast_then_weight"),
        ("bf16-weight-then-round", "y_weight_then_cast"),
    ],
)
def test_a_norm_in_bf16_rounds_where_the_profile_says(
    serve: Serve, option: str, answer: str
) -> None:
    known = KNOWN["rms_norm_bf16"]
    operands = {name: known[name] for name in ("x", "weight", "eps")}
    y = serve("rms_norm", f"scalar-f32-v1+{option}", **operands)["y"]
    assert y.tolist() == known[answer]


def test_the_two_orders_of_rounding_differ(serve: Serve) -> None:
    """On other numbers than the ones above, where they happen to agree."""
    x = np.linspace(0.5, 1.5, 65).astype(F32)
    x = (x.view(np.uint32) & 0xFFFF0000).view(F32)
    options = ("bf16-round-then-weight", "bf16-weight-then-round")
    a, b = (
        serve("rms_norm", f"scalar-f32-v1+{option}", x=x, weight=x[::-1], eps=1e-6)["y"]
        for option in options
    )
    assert (a != b).any()
    with pytest.raises(OperatorInputError, match="no bfloat16 numbers"):
        serve("rms_norm", f"scalar-f32-v1+{options[0]}", x=[0.1, 1.0], weight=[1.0, 1], eps=1e-6)


def test_the_cap_is_a_tanh_and_comes_before_the_mask(serve: Serve) -> None:
    known = KNOWN["softcap"]
    assert near(serve("softcap", x=known["x"], cap=known["cap"])["y"], known["y"], 8)
    # The second key's score is -80; a mask capped to -50 would let it take part.
    q, k, v = [[1.0]], [[10.0], [-80.0]], [[1.0], [2.0]]
    y = serve("attention", q=q, k=k, v=v, mask=[[True, False]], scale=1.0, cap=50.0)["y"]
    assert y.tolist() == [[1.0]]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_row_without_a_key_is_an_error_or_zeros_as_the_profile_says(
    serve: Serve, engine: str
) -> None:
    rows = np.array([[0.0, 1, 2, 3], [-np.inf] * 4], F32)
    with pytest.raises(TrlmError, match="row 1 has every key masked") as caught:
        serve("softmax", "scalar-f32-v1", engine, x=rows)
    assert (caught.value.code, caught.value.exit_status) == ("ALL_KEYS_MASKED", 3)
    zero = "scalar-f32-v1+masked-rows-zero"
    y = serve("softmax", zero, engine, x=rows)["y"]
    assert y[1].tobytes() == bytes(16)
    assert y[0].tobytes() == serve("softmax", "scalar-f32-v1", engine, x=rows[:1])["y"].tobytes()
    values = np.arange(1.0, 9).reshape(4, 2)
    hidden = {"q": np.ones((1, 2)), "k": values, "v": values, "mask": np.zeros((1, 4), bool)}
    assert serve("attention", zero, engine, **hidden)["y"].tolist() == [[0.0, 0.0]]


def test_two_additive_masks_make_one_sentinel(serve: Serve) -> None:
    causal = np.array([[0, LOWEST], [0, 0]], F32)
    padding = np.array([0, LOWEST], F32)
    y = serve("combine_masks", first_additive=causal, second_additive=padding)["y"]
    assert y.dtype == F32
    assert y.tolist() == [[0, float(LOWEST)]] * 2
    kept = serve("combine_masks", first=causal == 0, second=padding == 0)["y"]
    assert kept.tolist() == [[True, False]] * 2
    with pytest.raises(OperatorInputError, match="both Boolean or both additive"):
        serve("combine_masks", first=causal == 0, second_additive=padding)


def test_a_window_holds_the_query_and_the_keys_before_it(serve: Serve) -> None:
    known = KNOWN["sliding_window"]
    y = serve("sliding_window_mask", length=8, window=known["window"])["y"]
    assert y.astype(int).tolist() == known["y"]


def test_tanh_saturates(serve: Serve) -> None:
    known = KNOWN["tanh"]
    y = serve("tanh", "scalar-f32-v1", x=known["x"])["y"]
    assert near(y, known["y"], 2, "scalar-f32-v1")
    assert y[5:].tolist() == [1, 1, 1, 1, -1]
    assert serve("gelu_tanh", "scalar-f32-v1", x=[-13.2, 50.0])["y"].tolist() == [0, 50]


@pytest.mark.parametrize(
    ("order", "answer"),
    [
        ("exact", "exact"),
        ("ascending", "sequential"),
        ("neighbours", "pairwise_neighbours"),
        ("lanes2", "two_lanes"),
    ],
)
def test_a_sum_is_the_sum_of_its_order(serve: Serve, order: str, answer: str) -> None:
    known = KNOWN["reduction_order"]
    y = serve("sum", "scalar-f32-v1", x=known["addends"], order=order)["y"]
    assert float(y) == known[answer]
    assert serve("sum", "scalar-f32-v1", x=[1.0, 2, 4, 8, 16], order=order)["y"] == 31


@pytest.mark.parametrize(
    ("profile", "answer"),
    [("scalar-f32-v1", "sequential"), ("lanes16-f32-v1", "two_lanes"), ("f64-reference", "exact")],
)
def test_a_product_sums_in_the_order_of_its_profile(
    serve: Serve, profile: str, answer: str
) -> None:
    known = KNOWN["reduction_order"]
    operands = {"x": [known["addends"]], "weight": np.ones((1, 4))}
    assert serve("matmul", profile, **operands)["y"].tolist() == [[known[answer]]]
    assert float(serve("sum", profile, x=known["addends"])["y"]) == known[answer]


def test_a_swap_beyond_twice_the_bound_is_a_contradiction(serve: Serve) -> None:
    reference, candidate = [5.0, 4.9, 1.0], [4.9, 5.0, 1.0]
    said = serve("logit_margin", reference=reference, candidate=candidate, error_bound=0.015)
    assert abs(float(said["y"]) - 0.1) < 1e-12
    assert said["verdict"] == "CONTRADICTION"
    assert not said["bound_holds"]
    said = serve("logit_margin", reference=reference, candidate=candidate, error_bound=0.11)
    assert (str(said["verdict"]), bool(said["bound_holds"])) == ("TIE", True)
    said = serve("logit_margin", reference=reference, candidate=reference, error_bound=0.0)
    assert (str(said["verdict"]), float(said["max_error"])) == ("SAME", 0)
