"""q4, q5, q6 and q8 in every scale encoding against loops over single elements, and their rules."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.quant.plain import FORMATS, Refused, quantize_row, scale_of
from trlm_lab.errors import (
    QuantCodeError,
    QuantNonFiniteError,
    QuantOverflowError,
    QuantPaddingError,
    QuantPlaneError,
    QuantScaleError,
    UnknownNameError,
)
from trlm_lab.quant import GROUPED, SCALES, Search, block_format
from trlm_lab.quant.clipping import squared_error, tree_sum

F32 = np.float32
PAIRS = [(name, encoding) for name in FORMATS for encoding in SCALES]
VALUES = [0.0, -0.0, 1e-45, 2.0**-149, 2.0**-126, 2.0**-24, 2.0**-14, 0.5, 1.5, 2.5, -2.5, 7.0,
          15.0, 31.0, 127.0, -8.0, 1.0, 3.4e38, -3.4028234e38, 65504.0, 1e6, 1e30]  # fmt: skip


def test_every_format_is_here() -> None:
    assert set(GROUPED) == set(FORMATS)
    with pytest.raises(UnknownNameError):
        block_format("q4_g64", "fp8")


@settings(max_examples=250, deadline=None)
@given(st.data())
def test_equals_the_plain_loop(data: st.DataObject) -> None:
    name, encoding = data.draw(st.sampled_from(PAIRS))
    cols = data.draw(st.sampled_from([1, 31, 32, 33, 63, 64, 65, 96, 127, 128, 129, 200]))
    scale = data.draw(st.sampled_from([1.0, 1e-3, 2.0**-20, 2.0**-140, 1e4, 1e37]))
    numbers = st.one_of(st.floats(-4, 4, width=32), st.sampled_from(VALUES))
    kinds = data.draw(st.lists(numbers, min_size=1, max_size=8))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    with np.errstate(over="ignore", under="ignore"):
        row = np.array(kinds, F32)[rng.integers(0, len(kinds), cols)] * F32(scale)
    row[~np.isfinite(row)] = 0
    form = block_format(name, encoding)
    try:
        packed, scales, values = quantize_row(row.tolist(), name, encoding)
    except Refused:
        with pytest.raises(QuantOverflowError):
            form.quantize(row[None])
        return
    got = form.quantize(row[None])
    assert (got[0].hex(), got[1].hex()) == (packed.hex(), scales.hex())
    back = form.dequantize(memoryview(got[0]), memoryview(got[1]), 1, cols)
    assert back[0].view(np.uint32).tolist() == np.array(values, F32).view(np.uint32).tolist()


@pytest.mark.parametrize("name", FORMATS)
def test_every_code_at_every_place(name: str) -> None:
    """Each code in each of the 64 columns: packed bit by bit, and unpacked to itself."""
    form = GROUPED[name]
    codes = np.arange(-form.q, form.q + 1, dtype=np.int8)
    rows = np.zeros((64 * len(codes), 64), np.int8)
    place = np.repeat(np.arange(64), len(codes))
    rows[np.arange(len(rows)), place] = np.tile(codes, 64)
    np.testing.assert_array_equal(form.unpack(form.pack(rows)), rows)
    packed = form.pack(rows)
    assert len({bytes(p) for p in packed}) == 64 * (len(codes) - 1) + 1


@pytest.mark.parametrize(("name", "encoding"), PAIRS)
@pytest.mark.parametrize("cols", [1, 63, 64, 65, 127, 128, 129, 576])
def test_sizes(name: str, encoding: str, cols: int) -> None:
    bits, group = FORMATS[name]
    form = block_format(name, encoding)
    codes, scales = form.quantize(np.ones((3, cols), F32))
    assert len(codes) == 3 * -(-cols // 64) * 8 * bits == 3 * form.row_stride(cols)
    word = 1 if encoding == "e8m0" else 2
    assert len(scales) == 3 * -(-cols // group) * word == 3 * form.scale_row(cols)


def test_row_slices_joined_are_the_whole() -> None:
    matrix = np.random.default_rng(2).standard_normal((7, 200)).astype(F32)
    for name, encoding in PAIRS:
        form = block_format(name, encoding)
        parts = [form.quantize(matrix[low : low + 3]) for low in (0, 3, 6)]
        joined = b"".join(p[0] for p in parts), b"".join(p[1] for p in parts)
        assert form.quantize(matrix) == joined


def sound(name: str, encoding: str) -> tuple[NDArray[np.int8], NDArray[np.generic]]:
    """Codes of a sound (3, 100) matrix, padded, and its scale words (1.0), to be spoilt."""
    codes = np.zeros((3, 128), np.int8)
    codes[:, :100] = 3
    groups = GROUPED[name].groups(100)
    words = {"fp16": 0x3C00, "bf16": 0x3F80, "e8m0": 127}
    return codes, np.full((3, groups), words[encoding], SCALES[encoding].dtype)


def read(name: str, encoding: str, codes: NDArray[np.int8], words: NDArray[np.generic]) -> None:
    form = block_format(name, encoding)
    packed = GROUPED[name].pack(codes).tobytes()
    values = form.dequantize(
        memoryview(packed), memoryview(words.tobytes()), 3, 100, where="w", first_row=100
    )
    assert (values == codes[:, :100]).all()


@pytest.mark.parametrize(("name", "encoding"), PAIRS)
def test_codes_and_padding(name: str, encoding: str) -> None:
    codes, words = sound(name, encoding)
    read(name, encoding, codes, words)
    lowest = -GROUPED[name].q - 1
    for column in (0, 99, 100, 127):
        bad = codes.copy()
        bad[2, column] = lowest
        with pytest.raises(QuantCodeError) as caught:
            read(name, encoding, bad, words)
        facts = caught.value.facts
        assert (facts["row"], facts["column"], facts["value"]) == (102, column, lowest)
    for column in (100, 127):
        bad = codes.copy()
        bad[1, column] = 1
        with pytest.raises(QuantPaddingError):
            read(name, encoding, bad, words)


BAD_WORDS = [
    ("fp16", 0xBC00, "negative"), ("fp16", 0x8000, "negative"), ("fp16", 0x7C00, "not finite"),
    ("fp16", 0x7E00, "not finite"), ("fp16", 1, "subnormal"), ("fp16", 0x3FF, "subnormal"),
    ("fp16", 0, "0 with a nonzero code"), ("bf16", 0x8000, "negative"),
    ("bf16", 0xBF80, "negative"), ("bf16", 0x7F80, "not finite"), ("bf16", 0x7FC0, "not finite"),
    ("bf16", 1, "subnormal"), ("bf16", 0x7F, "subnormal"), ("bf16", 0, "0 with a nonzero code"),
    ("bf16", 0x7F7F, "above float32"), ("e8m0", 255, "255"), ("e8m0", 254, "above float32"),
    ("e8m0", 0, "0 with a nonzero code"),
]  # fmt: skip


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize(("encoding", "word", "why"), BAD_WORDS)
def test_quant_scale_error(name: str, encoding: str, word: int, why: str) -> None:
    codes, words = sound(name, encoding)
    words[1, -1] = word
    with pytest.raises(QuantScaleError, match=why) as caught:
        read(name, encoding, codes, words)
    assert (caught.value.facts["row"], caught.value.facts["group"]) == (101, words.shape[1] - 1)


@pytest.mark.parametrize("name", FORMATS)
def test_the_largest_scales(name: str) -> None:
    """The last scale whose product with Q is finite is read, and written; the next is neither."""
    q = GROUPED[name].q
    for encoding, step in (("bf16", 1), ("e8m0", 1)):
        codes, words = sound(name, encoding)
        form = block_format(name, encoding)
        top = max(
            w for w in range(1, 0x7F80 if encoding == "bf16" else 255)
            if q * float(SCALES[encoding].values(np.array([[w]], words.dtype))[0, 0])
            <= float(np.finfo(F32).max)
        )  # fmt: skip
        words[:] = top
        packed = memoryview(GROUPED[name].pack(codes).tobytes())
        assert np.isfinite(form.dequantize(packed, memoryview(words.tobytes()), 3, 100)).all()
        words[2, 0] = top + step
        with pytest.raises(QuantScaleError):
            form.dequantize(packed, memoryview(words.tobytes()), 3, 100)


def test_e8m0_zero_means_a_group_of_zeros() -> None:
    codes, words = sound("q4_g64", "e8m0")
    codes[1, 64:] = 0
    words[1, 1] = 0
    read("q4_g64", "e8m0", codes, words)
    _, scales = block_format("q4_g64", "e8m0").quantize(np.array([[0.0, -0.0]], F32))
    assert scales == b"\0"
    _, scales = block_format("q4_g64", "e8m0").quantize(np.array([[1e-45]], F32))
    assert scales == b"\1"


@pytest.mark.parametrize(("name", "encoding"), PAIRS)
def test_non_finite_and_overflow(name: str, encoding: str) -> None:
    form = block_format(name, encoding)
    matrix = np.ones((3, 100), F32)
    matrix[2, 70] = np.nan
    with pytest.raises(QuantNonFiniteError) as caught:
        form.quantize(matrix, where="w", first_row=5)
    assert (caught.value.facts["row"], caught.value.facts["column"]) == (7, 70)
    matrix[2, 70] = np.finfo(F32).max
    if encoding == "bf16" and name != "q5_g64":
        # Only a scale that is rounded up leaves float32, and only that of q5 is.
        assert float(scale_of(float(matrix[2, 70]), form.q, encoding)) * form.q < matrix[2, 70]
        form.quantize(matrix)
        return
    with pytest.raises(QuantOverflowError) as overflowed:
        form.quantize(matrix, where="w", first_row=5)
    facts = overflowed.value.facts
    assert (facts["tensor"], facts["row"], facts["group"]) == ("w", 7, 70 // form.group)


def test_quant_plane_error() -> None:
    form = block_format("q5_g64", "e8m0")
    codes, scales = (memoryview(p) for p in form.quantize(np.ones((3, 100), F32)))
    for bad in ((codes[1:], scales), (codes, scales[1:]), (codes, memoryview(b""))):
        with pytest.raises(QuantPlaneError):
            form.dequantize(*bad, 3, 100)


GRID = tuple(1 - i / 32 for i in range(16))


def test_a_search_never_loses_and_picks_the_plain_best() -> None:
    matrix = np.random.default_rng(5).standard_t(3, (40, 200)).astype(F32)
    searched = block_format("q4_g64", "fp16", Search(GRID))
    plain = GROUPED["q4_g64"]
    fields = zip(*(form.quantize(matrix) for form in (searched, plain)), strict=True)
    (codes, plain_codes), (scales, plain_scales) = fields
    back = searched.dequantize(memoryview(codes), memoryview(scales), *matrix.shape)
    rounded = plain.dequantize(memoryview(plain_codes), memoryview(plain_scales), *matrix.shape)

    def errors(stored: NDArray[np.float32]) -> NDArray[np.float64]:
        square = np.zeros((40, 256))
        square[:, :200] = np.square((matrix - stored).astype(np.float64))
        return square.reshape(40, 4, 64).sum(axis=2)

    assert (errors(back) <= errors(rounded) * (1 + 1e-12)).all()
    assert errors(back).sum() < 0.93 * errors(rounded).sum()
    # Every group by itself: the first fraction with the least error.
    words = np.frombuffer(scales, "<f2").reshape(40, 4)
    group = np.zeros((1, 1, 64), F32)
    group[0, 0] = matrix[3, 64:128]
    absmax = np.abs(group).max(axis=2)
    tried = []
    for fraction in GRID:
        scale = ((absmax * F32(fraction)) / F32(7)).astype(np.float16).astype(F32)
        tried.append((float(tree_sum(squared_error(group, scale, 7))[0, 0]), scale[0, 0]))
    assert words[3, 1] == min(tried, key=lambda pair: pair[0])[1]


def test_a_search_without_choice_is_absmax() -> None:
    matrix = np.random.default_rng(6).standard_normal((9, 130)).astype(F32)
    for name, encoding in PAIRS:
        alone = block_format(name, encoding, Search((1.0,)))
        assert alone.quantize(matrix) == block_format(name, encoding).quantize(matrix)


def test_half_a_step() -> None:
    """The error is at most half a step, and what the rounded scale clips."""
    matrix = np.random.default_rng(4).standard_normal((16, 256)).astype(F32)
    for name, encoding in PAIRS:
        form = block_format(name, encoding)
        codes, scales = form.quantize(matrix)
        back = form.dequantize(memoryview(codes), memoryview(scales), *matrix.shape)
        words = np.frombuffer(scales, SCALES[encoding].dtype).reshape(16, -1)
        steps = np.repeat(SCALES[encoding].values(words).astype(float), form.group, axis=1)[:, :256]
        clipped = {"fp16": 2.0**-11, "bf16": 2.0**-8, "e8m0": 0.0}[encoding]
        error = np.abs(back.astype(float) - matrix)
        assert (error <= steps / 2 + np.abs(matrix) * clipped + math.ulp(4)).all()
