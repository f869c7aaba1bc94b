"""Each step of the ladder against exact fractions, at the places where roads part."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from trlm_lab.rungs import (
    Storage,
    interleaved_rows,
    lanes_dot,
    pack_rows,
    parameters,
    rounded,
    scalar_dot,
    scale_values,
    unpack_rows,
    values_of,
    widened_words,
    words_of,
)
from trlm_lab.rungs.rounding import nearest_even, nearest_float

GROUPED = [
    Storage(name, bits, group, scales, "planes")
    for name, bits, group in (("q8_r128", 8, 128), ("q6_g64", 6, 64), ("q5_g64", 5, 64),
                              ("q4_g64", 4, 64))
    for scales in ("fp16", "bf16", "e8m0")
]  # fmt: skip
OLD = [
    Storage("q8_0", 8, 24, "f32", "words", zero=0x3F800000),
    Storage("q4_0", 4, 8, "f32", "pairs", zero=0x3F800000),
]
DENSE = [Storage(n, b, 0, "none", "words") for n, b in (("f32", 32), ("f16", 16), ("bf16", 16))]
PRECISION = {"fp16": (11, -24), "bf16": (8, -133), "f32": (24, -149)}
LEAST = {"fp16": Fraction(1, 2**14), "bf16": Fraction(1, 2**126), "f32": Fraction(1, 2**126)}


def nearest(value: Fraction, digits: int, least: int) -> Fraction:
    """The nearest number of so many bits, multiples of 2^least, ties to even."""
    if value == 0:
        return value
    power = least
    while abs(value) >= Fraction(2) ** (power + digits):
        power += 1
    return round(value / Fraction(2) ** power) * Fraction(2) ** power


def exact_scale(absmax: Fraction, storage: Storage) -> Fraction:
    """The scale by the format's page."""
    if absmax == 0:
        return Fraction(storage.zero == 0x3F800000)
    if storage.scales == "e8m0":
        power = Fraction(1, 2**126)
        while power * storage.q < absmax:
            power *= 2
        return power
    quotient = nearest(absmax / storage.q, 24, -149)
    return max(nearest(quotient, *PRECISION[storage.scales]), LEAST[storage.scales])


def hard_rows(storage: Storage, cols: int) -> Any:
    """Zeros, ties, extremes, tiny numbers, and plain ones."""
    rng = np.random.default_rng(storage.bits)
    rows = rng.standard_normal((7, cols)).astype(np.float32)
    rows[0] = 0
    ties = np.resize([storage.q, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5], cols)
    rows[1] = ties * np.float32(2.0**-7)
    rows[2] *= np.float32(1e-30)
    rows[3, :4] = (1e-45, -1e-45, 0.0, -0.0)
    rows[4] *= np.float32(1000)
    rows[5] = np.float32(2.0**-20)
    return rows


@pytest.mark.parametrize("storage", [*GROUPED, *OLD], ids=lambda s: f"{s.name}-{s.scales}")
def test_scales_codes_and_weights_by_fractions(storage: Storage) -> None:
    cols = 24 if storage in OLD else 72
    rows = hard_rows(storage, cols)
    words = parameters(rows, storage).words
    scales = scale_values(words, storage.scales)
    made = rounded(rows, scales, storage)
    weights = values_of(made.codes, scales, storage)
    for r in range(len(rows)):
        for g in range(storage.groups(cols)):
            span = slice(g * storage.group, min((g + 1) * storage.group, cols))
            absmax = max(abs(Fraction(float(x))) for x in rows[r, span])
            scale = exact_scale(absmax, storage)
            assert Fraction(float(scales[r, g])) == scale, (r, g)
            for c in range(span.start, span.stop, 5):
                ratio = Fraction(float(rows[r, c])) / scale if scale else Fraction(0)
                code = round(nearest(ratio, 24, -149))
                code = max(-storage.q, min(storage.q, code))
                assert made.codes[r, c] == code, (r, c)
                assert Fraction(float(weights[r, c])) == nearest(code * scale, 24, -149)


@pytest.mark.parametrize("storage", DENSE, ids=lambda s: s.name)
def test_words_of_floats_and_back(storage: Storage) -> None:
    values = np.array([[0.0, -0.0, 1.0, -1.5, 65504.0, 6e-8, -5.96e-8, 1e-7, 0.1, 2049.0]])
    rows = values.astype(np.float32)
    words = words_of(rows, storage)
    back = values_of(words, np.zeros((1, 0)), storage)
    assert np.signbit(back).tolist() == np.signbit(rows).tolist()
    digits, least = {"f32": (24, -149), "f16": (11, -24), "bf16": (8, -133)}[storage.name]
    for value, stored in zip(rows[0].tolist(), back[0].tolist(), strict=True):
        assert Fraction(stored) == nearest(Fraction(value), digits, least)


@pytest.mark.parametrize("storage", [*GROUPED[::3], *OLD], ids=lambda s: s.name)
def test_every_code_at_every_place_survives_and_no_bit_is_used_twice(storage: Storage) -> None:
    cols = storage.unit * 2
    rng = np.random.default_rng(1)
    codes = rng.integers(-storage.q, storage.q + 1, (5, cols))
    stored = pack_rows(codes, storage)
    assert stored.shape == (5, storage.row_bytes(cols))
    assert np.array_equal(unpack_rows(stored, storage), codes)
    alone = [pack_rows(np.eye(1, cols, c, dtype=np.int64) * -1, storage) for c in range(cols)]
    assert np.array_equal(np.sum(alone, axis=0), np.full((1, storage.row_bytes(cols)), 255))


def test_q4_g64_as_the_page_says() -> None:
    codes = np.zeros((1, 64), np.int64)
    codes[0, 3], codes[0, 35] = -2, 5
    stored = pack_rows(codes, GROUPED[9])
    assert (stored[0, 3], int(stored.sum())) == (0x5E, 0x5E)


def test_sums_in_their_order() -> None:
    """2^24 + 1 is lost where it comes late, and kept where both small numbers meet first."""
    x = np.array([[2.0**24, 1.0, 1.0]], np.float32)
    rows = np.ones((1, 3), np.float32)
    assert scalar_dot(x, rows)[0, 0] == 2.0**24
    assert scalar_dot(x[:, ::-1], rows)[0, 0] == 2.0**24 + 2
    assert lanes_dot(x, rows)[0, 0] == 2.0**24


def test_rows_of_a_head_as_neighbours() -> None:
    assert interleaved_rows(0, 8, 4) == [0, 2, 1, 3, 4, 6, 5, 7]
    assert interleaved_rows(5, 7, 4) == [6, 5]


@pytest.mark.parametrize("dtype", ["F16", "BF16"])
def test_source_words_are_widened_exactly(dtype: str) -> None:
    words = np.arange(0, 0x7C00 if dtype == "F16" else 0x7F80, 7)[None]
    wide = widened_words(words, dtype)[0]
    if dtype == "F16":
        assert np.array_equal(wide, words[0].astype(np.uint16).view(np.float16).astype(np.float32))
    else:
        assert np.array_equal(wide.view(np.uint32) >> 16, words[0].astype(np.uint32))


def test_rounding_by_the_remainder() -> None:
    values = np.array([0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.49999999999999994])
    assert nearest_even(values).tolist() == np.rint(values).tolist()
    assert nearest_float(np.array([2.0**24 + 1]), 24, -149)[0] == 2.0**24
