"""The operators by name: what each takes, how it refuses, and that it is the operator itself."""

from typing import Any

import numpy as np
import pytest

from trlm_lab.base.bits import same_bits
from trlm_lab.errors import (
    AllKeysMaskedError,
    NonFiniteError,
    OperatorInputError,
    ShapeMismatchError,
    TokenRangeError,
    TrlmError,
    UnknownNameError,
)
from trlm_lab.ops.arithmetic import Arithmetic, Array
from trlm_lab.ops.attention import attention
from trlm_lab.ops.by_name import OPERATORS, run_operator
from trlm_lab.ops.kernels import Kernels
from trlm_lab.ops.masks import causal_mask
from trlm_lab.ops.rope import rope
from trlm_lab.ops.rotation import inverse_frequencies

X = np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4)
HEADS = np.linspace(-1, 1, 24, dtype=np.float32).reshape(3, 2, 4)
ONES = np.ones(4, np.float32)
LOWEST = np.finfo(np.float32).min

#: One sound call of every operator.
CALLS: dict[str, dict[str, Any]] = {
    "rms_norm": {"x": X, "weight": ONES, "eps": 1e-5},
    "layer_norm": {"x": X, "weight": ONES, "bias": ONES, "eps": np.float32(1e-5)},
    "softmax": {"x": X},
    "softcap": {"x": X, "cap": 30},
    "attention": {"q": HEADS, "k": HEADS, "v": HEADS},
    "causal_mask": {"length": 3},
    "sliding_window_mask": {"length": np.array([3]), "window": np.array(2)},
    "rope": {"x": HEADS, "positions": [0, 1, 2], "theta": 1e4},
    "rope_interleaved": {"x": X, "positions": [0, 1, 2], "inv_freq": [1.0, 0.5]},
    "combine_masks": {"first": X > 0, "second": X < 1},
    "inverse_frequencies": {"head_dim": 4, "theta": 1e4},
    "half_split_to_interleaved": {"x": np.arange(8), "heads": 2},
    "interleaved_to_half_split": {"x": np.arange(8), "heads": 2},
    "sum": {"x": ONES},
    "silu": {"x": X},
    "gelu_tanh": {"x": X},
    "gelu_erf": {"x": X},
    "matmul": {"x": X, "weight": X},
    "swiglu": {"gate": X, "up": X[::-1]},
    "geglu_tanh": {"gate": X, "up": X[::-1]},
    "geglu_erf": {"gate": X, "up": X[::-1]},
    "add_bias": {"y": X, "bias": ONES},
    "embedding": {"weight": X, "token_ids": [[0, 2]]},
    "embedding_scale": {"x": X, "scale": 6.5},
    "learned_positions": {"x": X, "weight": X, "positions": [2, 0, 1]},
    "residual": {"old": X, "new": X},
    "cast": {"x": X, "dtype": "bf16"},
    "exp": {"x": X},
    "log": {"x": np.abs(X)},
    "sin": {"x": X},
    "cos": {"x": X},
    "tanh": {"x": X},
    "erf": {"x": X},
}


def run(name: str, arithmetic: Arithmetic, **operands: Any) -> Array:
    return run_operator(name, operands, {}, arithmetic)["y"]


def test_every_operator_has_a_call_here() -> None:
    assert set(CALLS) == set(OPERATORS)


@pytest.mark.parametrize("name", CALLS)
def test_every_operator_answers_in_the_profiles_type(name: str, arithmetic: Arithmetic) -> None:
    y = run(name, arithmetic, **CALLS[name])
    masks = ("causal_mask", "sliding_window_mask", "combine_masks")
    kinds = {**dict.fromkeys(masks, np.bool_), "cast": np.float32}
    if "interleaved" in name and not name.startswith("rope"):
        assert y.dtype == np.int64
    else:
        assert y.dtype == kinds.get(name, arithmetic.dtype)
    assert y.size > (name != "sum")


@pytest.mark.parametrize("name", CALLS)
def test_scalars_may_come_apart_from_arrays(name: str, scalar: Arithmetic) -> None:
    arrays = {k: v for k, v in CALLS[name].items() if np.ndim(v) > 0}
    params = {k: v for k, v in CALLS[name].items() if np.ndim(v) == 0}
    apart = run_operator(name, arrays, params, scalar)["y"]
    assert same_bits(apart, run(name, scalar, **CALLS[name]))


@pytest.mark.parametrize("name", CALLS)
def test_each_missing_operand_is_named(name: str, scalar: Arithmetic) -> None:
    for operand in CALLS[name]:
        rest = {k: v for k, v in CALLS[name].items() if k != operand}
        with pytest.raises(OperatorInputError, match=operand):
            run(name, scalar, **rest)


@pytest.mark.parametrize("name", CALLS)
def test_an_unknown_operand_is_named(name: str, scalar: Arithmetic) -> None:
    with pytest.raises(OperatorInputError, match="surplus is not an operand"):
        run(name, scalar, surplus=X, **CALLS[name])


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize(
    "junk", ["text", np.array([]), np.array([1j]), np.array([None]), np.nan, np.ones((2, 2, 2, 2))]
)
def test_junk_is_refused_or_served_but_never_breaks(
    name: str, junk: Any, scalar: Arithmetic
) -> None:
    for operand in CALLS[name]:
        try:
            y = run(name, scalar, **{**CALLS[name], operand: junk})
        except TrlmError:
            continue
        assert np.isfinite(y).all()


def test_an_unknown_operator_is_a_usage_error(scalar: Arithmetic) -> None:
    with pytest.raises(UnknownNameError, match="rms_norm") as caught:
        run("norm", scalar, x=X)
    assert caught.value.exit_status == 2


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_non_finite_operand_is_located(bad: float, arithmetic: Arithmetic) -> None:
    x = X.copy()
    x[1, 2] = bad
    with pytest.raises(NonFiniteError) as caught:
        run("rms_norm", arithmetic, x=x, weight=ONES, eps=1e-5)
    assert caught.value.where == "rms_norm: x"
    assert caught.value.facts["index"] == (1, 2)
    assert caught.value.facts["bits"] == np.array(bad, arithmetic.dtype.newbyteorder(">")).tobytes().hex()  # fmt: skip  # noqa: E501


def test_a_value_beyond_the_profiles_range_is_located(scalar: Arithmetic) -> None:
    with pytest.raises(NonFiniteError, match="7f800000"):
        run("silu", scalar, x=np.array([0.0, 1e39]))


def test_a_non_finite_answer_is_located(scalar: Arithmetic) -> None:
    with pytest.raises(NonFiniteError) as caught:
        run("matmul", scalar, x=np.array([[0.0, 1e30]]), weight=np.array([[1.0, 1e30]]))
    assert caught.value.where == "matmul: y"
    assert caught.value.facts["index"] == (0, 0)
    with pytest.raises(NonFiniteError, match="cast: y"):
        run("cast", scalar, x=np.array([1e6]), dtype="f16")
    with pytest.raises(NonFiniteError, match="log: y"):
        run("log", scalar, x=np.array([0.0]))


@pytest.mark.parametrize(
    "given",
    [
        {"mask": np.array([1, 0, 1, 1])},
        {"mask": np.array([True, False, True, True])},
        {"mask": np.array([[1, 0, 1, 1]] * 3, np.uint8)},
        {"additive_mask": np.array([0.0, -np.inf, 0.0, 0.0])},
        {"additive_mask": np.array([[0.0, LOWEST, -0.0, 0.0]] * 3, np.float32)},
    ],
    ids=["integers", "booleans", "bytes", "infinities", "lowest"],
)
def test_masks_in_every_spelling(given: dict[str, Array], arithmetic: Arithmetic) -> None:
    y = run("softmax", arithmetic, x=X, **given)
    hidden = X.copy()
    hidden[:, 1] = -np.inf
    assert same_bits(y, run("softmax", arithmetic, x=hidden))
    assert (y[:, 1] == 0).all()
    assert (y[:, 0] > 0).all()


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"mask": np.array([0.0, -np.inf, 0.0, 0.0])}, "holds floats"),
        ({"mask": np.array([1.0, 0.0, 1.0, 1.0])}, "holds floats"),
        ({"mask": np.zeros(4)}, "holds floats"),
        ({"mask": np.array([0, -10000, 0, 0])}, "integers other than"),
        ({"mask": np.array([0, 2, 1, 1])}, "integers other than"),
        ({"additive_mask": np.array([True, False, True, True])}, "needed are floats"),
        ({"additive_mask": np.array([1, 0, 1, 1])}, "needed are floats"),
        ({"additive_mask": np.array([0.0, 1.0, 0, 0])}, "neither visible"),
        ({"additive_mask": np.array([0.0, -1e4, 0, 0])}, "neither visible"),
        ({"additive_mask": np.array([0.0, np.nan, 0, 0])}, "neither visible"),
        ({"mask": np.ones(4, bool), "additive_mask": np.zeros(4)}, "exclude each other"),
    ],
)
def test_a_mask_that_could_mean_two_things_is_refused(
    given: dict[str, Array], why: str, scalar: Arithmetic
) -> None:
    with pytest.raises(OperatorInputError, match=why):
        run("softmax", scalar, x=X, **given)


def test_masked_scores_may_be_anything(scalar: Arithmetic) -> None:
    y = run("softmax", scalar, x=np.array([0.0, np.nan]), mask=np.array([1, 0]))
    assert y.tolist() == [1, 0]
    with pytest.raises(NonFiniteError, match="softmax: x"):
        run("softmax", scalar, x=np.array([0.0, np.inf]))


def test_a_mask_of_another_shape_is_refused(scalar: Arithmetic) -> None:
    with pytest.raises(OperatorInputError, match="does not broadcast"):
        run("softmax", scalar, x=X, mask=np.ones((2, 4), bool))


def test_a_mask_that_hides_everything_is_refused(scalar: Arithmetic) -> None:
    mask = np.array([[1, 1, 1], [0, 0, 0], [1, 1, 1]])
    with pytest.raises(AllKeysMaskedError, match="row 1"):
        run("attention", scalar, q=HEADS, k=HEADS, v=HEADS, mask=mask)


def test_attention_layouts(arithmetic: Arithmetic) -> None:
    full = run("attention", arithmetic, q=HEADS, k=HEADS, v=HEADS)
    visible = np.ones((3, 3), bool)
    assert same_bits(full, attention(HEADS, HEADS, HEADS, visible, 0.5, arithmetic))
    one = HEADS[:, 0]
    single = run("attention", arithmetic, q=one, k=one, v=one, mask=causal_mask(3))
    assert single.shape == (3, 4)
    assert single[0].tolist() == one[0].tolist()  # the first query sees itself alone
    grouped = run("attention", arithmetic, q=HEADS, k=HEADS[:, :1], v=HEADS[:, :1])
    assert grouped.shape == HEADS.shape
    assert not same_bits(full, run("attention", arithmetic, q=HEADS, k=HEADS, v=HEADS, scale=0.25))
    assert not same_bits(full, run("attention", arithmetic, q=HEADS, k=HEADS, v=HEADS, cap=0.5))
    with pytest.raises(OperatorInputError, match="needed is one rank"):
        run("attention", arithmetic, q=HEADS, k=one, v=one)


def test_rope_layouts(arithmetic: Arithmetic) -> None:
    inv_freq = inverse_frequencies(1e4, 4)
    expected = rope(HEADS, np.array([5, 6, 7]), inv_freq, arithmetic)
    given = {"positions": [5, 6, 7], "inv_freq": inv_freq}
    assert same_bits(run("rope", arithmetic, x=HEADS, **given), expected)
    flat = run("rope", arithmetic, x=HEADS[:, 1], positions=[5, 6, 7], theta=1e4)
    assert same_bits(flat, np.ascontiguousarray(expected[:, 1]))
    for position in (6, [6]):
        alone = run("rope", arithmetic, x=HEADS[1, 0], positions=position, theta=1e4)
        assert same_bits(alone, np.ascontiguousarray(expected[1, 0]))
    shared = run("rope", arithmetic, x=HEADS, positions=6, theta=1e4)
    assert same_bits(np.ascontiguousarray(shared[1]), np.ascontiguousarray(expected[1]))


def test_rope_takes_a_base_or_frequencies_not_both(scalar: Arithmetic) -> None:
    with pytest.raises(OperatorInputError, match="exclude each other"):
        run("rope", scalar, x=X, positions=[0, 1, 2], theta=1e4, inv_freq=[1, 1])
    with pytest.raises(OperatorInputError, match="integers from 0"):
        run("rope", scalar, x=X, positions=[0, 1, -2], theta=1e4)
    with pytest.raises(OperatorInputError, match="integers from 0"):
        run("rope", scalar, x=X, positions=[0, 1, 0.5], theta=1e4)
    with pytest.raises(NonFiniteError, match="rope: y"):
        run("rope", scalar, x=X, positions=[0, 1, 2**21], theta=1e4)


def test_matmul_is_out_by_in(arithmetic: Arithmetic) -> None:
    weight = np.arange(8.0).reshape(2, 4)
    y = run("matmul", arithmetic, x=HEADS, weight=weight)
    assert y.shape == (3, 2, 2)
    single = run("matmul", arithmetic, x=ONES, weight=weight)
    assert single.tolist() == [6, 22]
    with pytest.raises(ShapeMismatchError):
        run("matmul", arithmetic, x=X, weight=weight[:, :3])


@pytest.mark.parametrize("name", ["rms_norm", "layer_norm"])
def test_an_epsilon_is_not_negative(name: str, scalar: Arithmetic) -> None:
    with pytest.raises(OperatorInputError, match="eps must be 0 or more"):
        run(name, scalar, **{**CALLS[name], "eps": -1e-5})


@pytest.mark.parametrize("token", [-1, 3, 2**31 - 1])
def test_a_token_beyond_the_table_reaches_no_engine(token: int, scalar: Arithmetic) -> None:
    def unreachable(weight: Array, token_ids: Array) -> Array:
        raise AssertionError(token_ids)

    operands = {"weight": X, "token_ids": [[0, token]]}
    with pytest.raises(TokenRangeError, match=f"token {token} at index 1 .* vocabulary of 3"):
        run_operator("embedding", operands, {}, scalar, Kernels("x", {"embedding": unreachable}))


def test_lookup_keeps_the_shape_of_the_ids(scalar: Arithmetic) -> None:
    assert run("embedding", scalar, **CALLS["embedding"]).shape == (1, 2, 4)
    with pytest.raises(TokenRangeError):
        run("embedding", scalar, weight=X, token_ids=[3])


@pytest.mark.parametrize("cap", [0, -1])
def test_a_cap_must_be_positive(cap: int, scalar: Arithmetic) -> None:
    with pytest.raises(OperatorInputError, match="above 0"):
        run("softcap", scalar, x=X, cap=cap)


def test_a_norm_with_unit_offset_applies_one_plus_the_weight(arithmetic: Arithmetic) -> None:
    weight = np.array([-0.5, 0.25, 0.1, 0], np.float32)
    given = {"x": X, "eps": 1e-5}
    offset = run("rms_norm", arithmetic, weight=weight, unit_offset=1, **given)
    factor = arithmetic.dtype.type(1) + weight.astype(arithmetic.dtype)
    assert same_bits(offset, run("rms_norm", arithmetic, weight=factor, **given))
    plain = run("rms_norm", arithmetic, weight=weight, unit_offset=False, **given)
    assert same_bits(plain, run("rms_norm", arithmetic, weight=weight, **given))
    with pytest.raises(OperatorInputError, match="unit_offset is neither 0 nor 1"):
        run("rms_norm", arithmetic, weight=weight, unit_offset=2, **given)


@pytest.mark.parametrize("name", ["rope", "rope_interleaved"])
def test_a_partial_rotation_turns_the_first_coordinates(name: str, arithmetic: Arithmetic) -> None:
    x, at = np.linspace(-1, 1, 48, dtype=np.float32).reshape(3, 2, 8), [1, 5, 9]
    part = run(name, arithmetic, x=x, positions=at, theta=1e4, rotary_dim=6)
    alone = run(name, arithmetic, x=x[..., :6], positions=at, theta=1e4)
    assert same_bits(np.ascontiguousarray(part[..., :6]), alone)
    rest = np.ascontiguousarray(x[..., 6:]).astype(arithmetic.dtype)
    assert same_bits(np.ascontiguousarray(part[..., 6:]), rest)
    given = run(name, arithmetic, x=x, positions=at, inv_freq=inverse_frequencies(1e4, 6))
    assert same_bits(part, given)


@pytest.mark.parametrize("width", [0, 3, 6])
def test_a_rotation_is_as_wide_as_its_head_at_most(width: int, scalar: Arithmetic) -> None:
    with pytest.raises(OperatorInputError, match="rotary_dim is"):
        run("rope", scalar, x=HEADS, positions=[0, 1, 2], theta=1e4, rotary_dim=width)
    with pytest.raises(OperatorInputError, match="rotary_dim belongs to theta"):
        run("rope", scalar, x=HEADS, positions=[0, 1, 2], inv_freq=[1.0], rotary_dim=2)


@pytest.mark.parametrize("positions", [[0, 1], [0, 1, 3], [[0, 1, 2]]])
def test_learned_positions_are_rows_of_their_table(positions: Any, scalar: Arithmetic) -> None:
    with pytest.raises((ShapeMismatchError, TokenRangeError)):
        run("learned_positions", scalar, x=X, weight=X, positions=positions)
    y = run("learned_positions", scalar, x=X, weight=X, positions=[2, 2, 0])
    assert same_bits(y, X + X[[2, 2, 0]])
