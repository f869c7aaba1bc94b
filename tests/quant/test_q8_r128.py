"""q8_r128 against a literal scalar loop and exact rational rounding; golden vectors; rules."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from trlm_lab.base.interfaces import BlockFormat
from trlm_lab.errors import (
    QuantCodeError,
    QuantNonFiniteError,
    QuantOverflowError,
    QuantPaddingError,
    QuantPlaneError,
    QuantScaleError,
)
from trlm_lab.quant import FORMATS

F32 = np.float32
FORM = FORMATS["q8_r128"]
TINY = 2.0**-14


def half_nearest_even(value: Fraction) -> float:
    """binary16 nearest to an exact nonnegative value, ties to even, from first principles."""
    if value == 0:
        return 0.0
    exponent = max(math.floor(math.log2(value)), -14)
    while Fraction(2) ** (exponent + 1) <= value:
        exponent += 1
    step = Fraction(2) ** (exponent - 10)
    count = round(value / step)  # Fraction rounds halves to even
    result = count * step
    return math.inf if result > 65504 else float(result)


def scalar_row(row: list[float]) -> tuple[list[int], list[float]]:
    """Codes and scales of one row, one element at a time, by the profile's text."""
    codes, scales = [], []
    for low in range(0, len(row), 128):
        group = row[low : low + 128]
        absmax = max(abs(x) for x in group)
        scale = half_nearest_even(Fraction(absmax) / 127)
        if absmax > 0 and scale < TINY:
            scale = TINY
        scales.append(scale)
        for x in group:
            if scale == 0:
                codes.append(0)
                continue
            quotient = float(F32(x) / F32(scale))
            codes.append(max(-127, min(127, round(quotient))))  # round: ties to even
    return codes, scales


def planes(matrix: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float16]]:
    rows, cols = matrix.shape
    codes, scales = FORM.quantize(matrix)
    return (
        np.frombuffer(codes, np.int8).reshape(rows, -(-cols // 64) * 64),
        np.frombuffer(scales, "<f2").reshape(rows, -(-cols // 128)),
    )


FLOATS = st.one_of(
    st.floats(-100, 100, width=32),
    st.floats(-8_300_000, 8_300_000, width=32),
    st.floats(-(2.0**-10), 2.0**-10, width=32),
    st.sampled_from([0.0, -0.0, 1e-45, 127.0, 63.5, 0.5, 1.5, 2.5, -2.5]),
)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_equals_the_scalar_loop(data: st.DataObject) -> None:
    cols = data.draw(st.sampled_from([1, 2, 63, 64, 65, 127, 128, 129, 192, 200, 257]))
    kinds = data.draw(st.lists(FLOATS, min_size=1, max_size=9))
    rows = data.draw(st.integers(1, 3))
    seed = data.draw(st.integers(0, 2**32 - 1))
    choice = np.random.default_rng(seed).integers(0, len(kinds), (rows, cols))
    matrix = np.array(kinds, F32)[choice]
    codes, scales = planes(matrix)
    for r in range(rows):
        want_codes, want_scales = scalar_row(matrix[r].tolist())
        assert codes[r, :cols].tolist() == want_codes
        assert scales[r].tolist() == want_scales
    assert not codes[:, cols:].any()


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 0x4B7DFFFF))
def test_scale_is_the_exact_quotient_rounded_once(bits: int) -> None:
    """Over all positive float32 up to about 65504 * 254: two roundings never differ from one."""
    absmax = np.uint32(bits).view(F32)
    exact = half_nearest_even(Fraction(float(absmax)) / 127)
    if math.isinf(exact):
        with pytest.raises(QuantOverflowError):
            FORM.quantize(absmax.reshape(1, 1))
        return
    _, scales = planes(absmax.reshape(1, 1))
    assert scales[0, 0] == (max(exact, TINY) if absmax > 0 else 0)


@pytest.mark.parametrize("halfway", [1025.5, 1026.5, 2047.5, 40000 / 16 + 0.5])
@pytest.mark.parametrize("step", [-1, 0, 1])
def test_scale_next_to_a_binary16_midpoint(halfway: float, step: int) -> None:
    """One float32 step around 127 times a midpoint rounds down, to even, and up."""
    centre = F32(127 * halfway)
    assert float(centre) == 127 * halfway
    value = centre if step == 0 else np.nextafter(centre, F32(step * 1e9))
    _, scales = planes(value.reshape(1, 1))
    assert scales[0, 0] == half_nearest_even(Fraction(float(value)) / 127)


def unpacked(matrix: NDArray[np.float32]) -> NDArray[np.float32]:
    codes, scales = FORM.quantize(matrix)
    return FORM.dequantize(memoryview(codes), memoryview(scales), *matrix.shape)


def test_dequantized_values_are_code_times_scale_rounded_once() -> None:
    matrix = np.random.default_rng(1).standard_normal((5, 300)).astype(F32)
    codes, scales = planes(matrix)
    got = unpacked(matrix)
    for r, c in np.ndindex(5, 300):
        assert got[r, c] == F32(int(codes[r, c])) * F32(scales[r, c // 128])


def test_row_slices_joined_are_the_whole() -> None:
    matrix = np.random.default_rng(2).standard_normal((7, 200)).astype(F32)
    whole = FORM.quantize(matrix)
    parts = [FORM.quantize(matrix[low : low + 3]) for low in (0, 3, 6)]
    assert whole == (b"".join(p[0] for p in parts), b"".join(p[1] for p in parts))


def test_chunks_of_a_tall_matrix_are_seamless() -> None:
    """More rows than one internal chunk holds; row r is r times a pattern."""
    pattern = np.linspace(-1, 1, 130, dtype=F32)
    matrix = np.arange(1, 4097, dtype=F32)[:, None] * pattern
    codes, scales = planes(matrix)
    for r in (0, 1, 2015, 2016, 2017, 4095):
        assert (codes[r, :130].tolist(), scales[r].tolist()) == scalar_row(matrix[r].tolist())
    got = unpacked(matrix)
    assert got[4095, 129] == F32(int(codes[4095, 129])) * F32(scales[4095, 1])


#: Golden pack vectors: name, row, codes (hex, padded), scales (hex of little-endian binary16).
GOLDEN = [
    ("all zero", [0.0, -0.0, 0.0], "00" * 64, "0000"),
    ("constant", [0.5] * 2, "7f7f" + "00" * 62, "081c"),
    ("extrema", [127.0, -127.0, 1.0], "7f8101" + "00" * 61, "003c"),
    ("halfway to even", [127.0, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5], "7f00020200fefe" + "00" * 57,
     "003c"),
    ("alternating", [127.0, -127.0] * 2, "7f817f81" + "00" * 60, "003c"),
    # 127 times a scale of 1 + 2^-11 rounds the scale down to 1 and the code is clamped.
    ("clamped", [127.0 * (1 + 2**-11)], "7f" + "00" * 63, "003c"),
    ("scale raised to the smallest normal", [2.0**-15], "00" + "00" * 63, "0004"),
    ("raised, with codes", [2.0**-13, -(2.0**-14)], "02ff" + "00" * 62, "0004"),
    ("smallest float32", [1e-45], "00" * 64, "0004"),
    ("largest scale", [65504.0 * 127], "7f" + "00" * 63, "ff7b"),
    ("negative zero", [-0.0, 127.0], "007f" + "00" * 62, "003c"),
]  # fmt: skip


@pytest.mark.parametrize(("row", "codes", "scales"), [g[1:] for g in GOLDEN],
                         ids=[g[0] for g in GOLDEN])  # fmt: skip
def test_golden_pack_vectors(row: list[float], codes: str, scales: str) -> None:
    got = FORM.quantize(np.array([row], F32))
    assert (got[0].hex(), got[1].hex()) == (codes, scales)


@pytest.mark.parametrize(
    ("cols", "stride", "groups"),
    [(1, 64, 1), (63, 64, 1), (64, 64, 1), (65, 128, 1), (127, 128, 1), (128, 128, 1),
     (129, 192, 2), (192, 192, 2), (193, 256, 2), (255, 256, 2), (256, 256, 2), (257, 320, 3),
     (576, 576, 5)],
)  # fmt: skip
def test_sizes_around_the_block_border(cols: int, stride: int, groups: int) -> None:
    codes, scales = FORM.quantize(np.ones((3, cols), F32))
    assert (len(codes), len(scales)) == (3 * stride, 3 * groups * 2)
    got = np.frombuffer(codes, np.int8).reshape(3, stride)
    assert (got[:, :cols] == 127).all()
    assert not got[:, cols:].any()


def test_the_last_group_has_its_own_scale() -> None:
    row = np.ones((1, 576), F32)
    row[0, 512:] = 4
    _, scales = planes(row)
    assert (scales[0, :4] == np.float16(1 / 127)).all()
    assert scales[0, 4] == np.float16(4 / 127)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_quant_non_finite_error(value: float) -> None:
    matrix = np.ones((4000, 130), F32)
    matrix[3001, 129] = value
    matrix[3002, 0] = value
    with pytest.raises(QuantNonFiniteError) as caught:
        FORM.quantize(matrix, where="w.weight", first_row=10)
    facts = caught.value.facts
    assert (facts["tensor"], facts["row"], facts["column"]) == ("w.weight", 3011, 129)


def test_quant_overflow_error() -> None:
    matrix = np.ones((3, 300), F32)
    matrix[2, 299] = -65520 * 127  # the midpoint between 65504 and the next power
    with pytest.raises(QuantOverflowError) as caught:
        FORM.quantize(matrix, where="w.weight", first_row=5)
    facts = caught.value.facts
    assert (facts["tensor"], facts["row"], facts["group"]) == ("w.weight", 7, 2)
    matrix[2, 299] = np.nextafter(F32(65520 * 127), F32(0))
    assert planes(matrix)[1][2, 2] == 65504


def sound() -> tuple[NDArray[np.int8], NDArray[np.uint16]]:
    """Planes of a sound (3, 130) matrix, to be spoilt."""
    codes = np.zeros((3, 192), np.int8)
    codes[:, :130] = 7
    return codes, np.full((3, 2), 0x3C00, "<u2")


def read(codes: NDArray[np.int8], scales: NDArray[np.uint16]) -> NDArray[np.float32]:
    return FORM.dequantize(
        memoryview(codes.tobytes()), memoryview(scales.tobytes()), 3, 130, where="w", first_row=100
    )


def test_sound_planes_are_read() -> None:
    assert (read(*sound()) == 7).all()


def test_quant_plane_error() -> None:
    codes, scales = (memoryview(p.tobytes()) for p in sound())
    for bad in ((codes[1:], scales), (codes, scales[1:]), (codes, memoryview(b""))):
        with pytest.raises(QuantPlaneError):
            FORM.dequantize(*bad, 3, 130)
    with pytest.raises(QuantPlaneError, match="the plane of codes has 576 bytes, 3 x 128"):
        FORM.dequantize(codes, scales, 3, 128)
    with pytest.raises(QuantPlaneError, match="the plane of scales has 6 bytes, 3 x 192"):
        FORM.dequantize(codes, scales[:6], 3, 192)


@pytest.mark.parametrize(
    ("bits", "why"),
    [(0xBC00, "negative"), (0x8000, "negative"), (0x7C00, "not finite"), (0xFC00, "negative"),
     (0x7E00, "not finite"), (0x0001, "subnormal"), (0x03FF, "subnormal"),
     (0x0000, "0 with a nonzero code")],
)  # fmt: skip
def test_quant_scale_error(bits: int, why: str) -> None:
    codes, scales = sound()
    scales[1, 1] = bits
    with pytest.raises(QuantScaleError) as caught:
        read(codes, scales)
    facts = caught.value.facts
    assert (facts["row"], facts["group"], facts["why"]) == (101, 1, why)
    assert facts["bits"] == f"{bits:04x}"


def test_scale_0_without_codes_and_smallest_normal_are_read() -> None:
    codes, scales = sound()
    codes[1, 128:130] = 0
    scales[1, 1] = 0
    scales[2, 0] = 0x0400
    got = read(codes, scales)
    assert (got[1, 128:] == 0).all()
    assert (got[2, :128] == 7 * TINY).all()


@pytest.mark.parametrize("column", [0, 129, 130, 191])
def test_quant_code_error(column: int) -> None:
    codes, scales = sound()
    codes[2, column] = -128
    with pytest.raises(QuantCodeError) as caught:
        read(codes, scales)
    assert (caught.value.facts["row"], caught.value.facts["column"]) == (102, column)


@pytest.mark.parametrize("column", [130, 191])
def test_quant_padding_error(column: int) -> None:
    codes, scales = sound()
    codes[1, column] = 1
    with pytest.raises(QuantPaddingError) as caught:
        read(codes, scales)
    assert (caught.value.facts["row"], caught.value.facts["column"]) == (101, column)


def test_error_of_a_grid_value_is_zero() -> None:
    """Values already on the grid survive: requantizing what was dequantized changes no bit."""
    matrix = np.random.default_rng(3).standard_normal((64, 576)).astype(F32)
    once = unpacked(matrix)
    assert FORM.quantize(once) == FORM.quantize(matrix)
    np.testing.assert_array_equal(unpacked(once), once)


def test_error_is_at_most_half_a_step() -> None:
    matrix = np.random.default_rng(4).standard_normal((16, 256)).astype(F32)
    _, scales = planes(matrix)
    steps = np.repeat(scales.astype(np.float64), 128, axis=1)
    error = np.abs(unpacked(matrix).astype(np.float64) - matrix)
    # The scale is rounded to binary16, so the largest value of a group may be clamped by 2^-11.
    assert (error <= steps / 2 + np.abs(matrix) * 2**-11).all()


def test_it_is_a_block_format() -> None:
    form: BlockFormat = FORM
    assert form.name == "q8_r128"
