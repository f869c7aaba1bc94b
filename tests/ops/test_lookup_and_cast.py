"""Embedding lookup, residual, casts, and the top-k of logits."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trlm_lab.errors import ShapeMismatchError, TokenRangeError, UnknownNameError
from trlm_lab.ops.arithmetic import Arithmetic, Array
from trlm_lab.ops.cast import cast
from trlm_lab.ops.embedding import embedding
from trlm_lab.ops.residual import residual
from trlm_lab.ops.top_k import top_k

F32 = np.float32


def test_embedding_copies_rows(arithmetic: Arithmetic) -> None:
    table = np.arange(12, dtype=F32).reshape(4, 3)
    rows = embedding(table, np.array([3, 0, 3]), arithmetic)
    assert rows.dtype == arithmetic.dtype
    assert rows.tolist() == [[9, 10, 11], [0, 1, 2], [9, 10, 11]]
    rows[:] = 0
    assert table[3, 0] == 9


@pytest.mark.parametrize("token", [-1, 4, 2**31 - 1])
def test_a_token_outside_the_vocabulary_is_named(token: int, arithmetic: Arithmetic) -> None:
    with pytest.raises(TokenRangeError) as caught:
        embedding(np.zeros((4, 3), F32), np.array([0, token]), arithmetic)
    assert caught.value.facts == {"token": token, "index": 1, "vocab": 4}


def test_residual_is_one_rounded_addition(scalar: Arithmetic) -> None:
    big = np.array([[2.0**24]], F32)
    assert residual(big, np.array([[1.0]], F32), scalar)[0, 0] == 2**24
    with pytest.raises(ShapeMismatchError, match="new has the shape"):
        residual(np.zeros((2, 3)), np.zeros((1, 3)), scalar)


@given(st.floats(width=32, allow_nan=False))
def test_casts_round_as_ml_dtypes_does(value: float) -> None:
    x = np.array([value], F32)
    with np.errstate(over="ignore"):
        half, brain = x.astype(np.float16), x.astype(ml_dtypes.bfloat16)
    assert cast(x, "f16").tobytes() == half.astype(F32).tobytes()
    assert cast(x, "bf16").tobytes() == brain.astype(F32).tobytes()
    assert cast(x, "f32").tobytes() == x.tobytes()


@pytest.mark.parametrize(
    ("dtype", "x", "y"),
    [
        ("f16", 1 + 2.0**-11, 1.0),  # tie to even, down
        ("f16", 1 + 3 * 2.0**-11, 1 + 2.0**-9),  # tie to even, up
        ("f16", 65519.0, 65504.0),
        ("f16", 65520.0, np.inf),
        ("f16", 2.0**-25, 0.0),
        ("f16", 3 * 2.0**-25, 2.0**-23),
        ("bf16", 1 + 2.0**-8, 1.0),
        ("bf16", 1 + 3 * 2.0**-8, 1 + 2.0**-6),
        ("bf16", np.finfo(F32).max, np.inf),
        ("bf16", -0.0, -0.0),
    ],
)
def test_cast_edges(dtype: str, x: float, y: float) -> None:
    assert cast(np.array([x], F32), dtype).tobytes() == np.array([y], F32).tobytes()


def test_an_unknown_format_is_a_usage_error() -> None:
    with pytest.raises(UnknownNameError, match="f16, bf16"):
        cast(np.zeros(1), "f8")


def test_top_k_orders_by_value_then_id() -> None:
    logits = np.array([[1.0, 3.0, 3.0, -1.0, 0.0, -0.0]], F32)
    ids, values = top_k(logits, 5)
    assert ids.dtype == np.int64
    assert ids.tolist() == [[1, 2, 0, 4, 5]]
    assert values.tolist() == [[3, 3, 1, 0, 0]]
    assert top_k(logits)[0].shape == (1, 6)


def test_top_k_puts_nan_last() -> None:
    ids, _ = top_k(np.array([[np.nan, -np.inf, np.inf]], F32))
    assert ids.tolist() == [[2, 1, 0]]


@given(st.integers(0, 2**31))
def test_top_k_is_a_prefix_of_the_sorted_row(seed: int) -> None:
    rng = np.random.default_rng(seed)
    row: Array = rng.integers(-3, 3, 100).astype(F32)
    expected = sorted(range(100), key=lambda i: (-row[i], i))[:64]
    assert top_k(row[None])[0][0].tolist() == expected
