"""f16 and bf16 against ml_dtypes, and their rules."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from trlm_lab.errors import QuantNonFiniteError, QuantPlaneError, QuantRangeError
from trlm_lab.quant import FORMATS

F32 = np.float32
KINDS = {"f16": np.float16, "bf16": ml_dtypes.bfloat16}


@pytest.mark.parametrize("name", KINDS)
def test_every_word_there_and_back(name: str) -> None:
    words = np.arange(1 << 16, dtype="<u2").reshape(256, 256)
    values = words.view(KINDS[name]).astype(F32)
    finite = np.isfinite(values)
    values[~finite] = 0
    codes, scales = FORMATS[name].quantize(values)
    got = np.frombuffer(codes, "<u2").reshape(256, 256)
    assert scales == b""
    np.testing.assert_array_equal(got[finite], words[finite])
    back = FORMATS[name].dequantize(memoryview(codes), memoryview(b""), 256, 256)
    assert back.tobytes() == values.tobytes()


@pytest.mark.parametrize("name", KINDS)
def test_rounding_is_that_of_ml_dtypes(name: str) -> None:
    """Random bits of every exponent that the format has, and midpoints with their neighbours."""
    rng = np.random.default_rng(3)
    bits = rng.integers(0, 1 << 32, 200_000, dtype=np.uint32)
    bits[::4] &= np.uint32(0xFFFF0000)
    bits[1::4] = bits[1::4] & np.uint32(0xFFFFE000) | np.uint32(0x1000)
    bits[2::4] = bits[2::4] & np.uint32(0xFFFF0000) | np.uint32(0x8000)
    values = bits.view(F32)
    values = values[np.isfinite(values)]
    with np.errstate(over="ignore", under="ignore"):
        kept = np.isfinite(values.astype(KINDS[name]).astype(F32))
        values = values[kept][None]
        want = values.astype(KINDS[name])
    assert FORMATS[name].quantize(values)[0] == want.tobytes()


@pytest.mark.parametrize(("name", "value"), [("f16", 65520.0), ("bf16", 3.4e38)])
def test_quant_range_error(name: str, value: float) -> None:
    matrix = np.ones((3, 5), F32)
    matrix[1, 2] = -value
    with pytest.raises(QuantRangeError) as caught:
        FORMATS[name].quantize(matrix, where="w", first_row=4)
    facts = caught.value.facts
    assert (facts["tensor"], facts["row"], facts["column"]) == ("w", 5, 2)
    matrix[1, 2] = np.nan
    with pytest.raises(QuantNonFiniteError):
        FORMATS[name].quantize(matrix)


@pytest.mark.parametrize(("name", "word"), [("f16", 0x7C00), ("bf16", 0x7FC0)])
def test_stored_words_that_no_writer_makes(name: str, word: int) -> None:
    words = np.zeros((3, 5), "<u2")
    words[2, 1] = word
    with pytest.raises(QuantNonFiniteError):
        FORMATS[name].dequantize(memoryview(words.tobytes()), memoryview(b""), 3, 5)
    with pytest.raises(QuantPlaneError):
        FORMATS[name].dequantize(memoryview(b"\0" * 28), memoryview(b""), 3, 5)
    with pytest.raises(QuantPlaneError):
        FORMATS[name].dequantize(memoryview(b"\0" * 30), memoryview(b"\0"), 3, 5)
