"""q8 keys and values: q8_r128 with a whole vector as its group, and its rules."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.quant.plain import FORMATS, quantize_row
from trlm_lab.errors import (
    QuantCodeError,
    QuantNonFiniteError,
    QuantOverflowError,
    QuantScaleError,
    ShapeMismatchError,
)
from trlm_lab.quant.q8_kv import dequantize_kv, quantize_kv

F32 = np.float32


@pytest.mark.parametrize("width", [1, 16, 64, 80, 128])
def test_equals_the_plain_loop(width: int) -> None:
    """Vectors of up to 128 numbers are one group of q8_r128."""
    rng = np.random.default_rng(width)
    shape = (2, 5, 3, width)
    vectors = (rng.standard_normal(shape) * np.exp2(rng.integers(-30, 12, shape))).astype(F32)
    vectors[0, 0, 0] = 0
    codes, scales = quantize_kv(vectors)
    assert (codes.shape, scales.shape) == (shape, shape[:-1])
    assert (codes.dtype, scales.dtype) == (np.int8, np.float16)
    back = dequantize_kv(codes, scales)
    for at in np.ndindex(shape[:-1]):
        packed, words, values = quantize_row(vectors[at].tolist(), "q8_r128", "fp16")
        assert codes[at].tobytes() == packed[:width]
        assert scales[at].tobytes() == words
        assert back[at].tolist() == values
    assert FORMATS["q8_r128"] == (8, 128)


def test_it_is_as_much_smaller_as_the_page_says() -> None:
    codes, scales = quantize_kv(np.ones((4, 10, 2, 64), F32))
    assert 4 * codes.size / (codes.nbytes + scales.nbytes) == 32 / 8.25


@pytest.mark.parametrize(
    ("value", "error"),
    [(np.nan, QuantNonFiniteError), (-np.inf, QuantNonFiniteError), (1e7, QuantOverflowError)],
)
def test_what_cannot_be_stored(value: float, error: Any) -> None:
    vectors = np.ones((3, 8), F32)
    vectors[1, 2] = value
    with pytest.raises(error) as caught:
        quantize_kv(vectors, where="layer 0 keys")
    assert caught.value.facts["row"] == 1


def test_what_no_writer_stores() -> None:
    codes, scales = quantize_kv(np.ones((3, 8), F32))
    bad = codes.copy()
    bad[1, 2] = -128
    with pytest.raises(QuantCodeError):
        dequantize_kv(bad, scales)
    for word in (0x8000, 0xBC00, 1, 0x7C00, 0):
        words = scales.view(np.uint16).copy()
        words[2] = word
        with pytest.raises(QuantScaleError) as caught:
            dequantize_kv(codes, words.view(np.float16))
        assert caught.value.facts["row"] == 2
    with pytest.raises(ShapeMismatchError):
        dequantize_kv(codes, scales[:2])
