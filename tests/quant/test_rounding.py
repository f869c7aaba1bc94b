"""Rounding to nearest, ties to even, at every midpoint of the scales; what is stored stays so."""

from __future__ import annotations

import numpy as np
import pytest

from trlm_lab.quant import GROUPED, SCALES, block_format

F32 = np.float32
#: First normal word and last finite one.
WORDS = {"fp16": (0x0400, 0x7BFF), "bf16": (0x0080, 0x7F7F)}


@pytest.mark.parametrize("encoding", WORDS)
@pytest.mark.parametrize("q", [7, 15, 31, 127])
def test_a_scale_is_the_exact_quotient_rounded_once(encoding: str, q: int) -> None:
    """absmax on q times each midpoint and on its three float32 neighbours to either side.

    q times a midpoint is exact in float64, so that the comparison needs no rounding at all.
    """
    scales = SCALES[encoding]
    words = np.arange(*WORDS[encoding], dtype="<u2")
    low, high = (scales.values(w[None])[0].astype(np.float64) for w in (words, words + 1))
    tie = (low + high) / 2 * q
    with np.errstate(over="ignore"):
        nearest = tie.astype(F32)
    compared = 0
    for steps in range(-3, 4):
        absmax = nearest
        for _ in range(abs(steps)):
            absmax = np.nextafter(absmax, F32(np.inf if steps > 0 else 0))
        between = (absmax >= low * q) & (absmax <= high * q) & (high * q <= np.finfo(F32).max)
        wanted = np.where(absmax > tie, words + 1, np.where(absmax < tie, words, words + words % 2))
        got = scales.choose(absmax[between][None], q, where="w", first_row=0)[0]
        assert (got == wanted[between]).all()
        compared += len(got)
    assert compared > 200_000


@pytest.mark.parametrize("name", list(GROUPED))
def test_codes_halfway_between_two_go_to_the_even_one(name: str) -> None:
    """The largest weight makes the scale 1, so that every other is its own quotient."""
    form = block_format(name)
    halves = np.arange(-form.q, form.q, dtype=F32) + F32(0.5)
    for start in range(0, len(halves), 32):
        part = halves[start : start + 32]
        row = np.zeros((1, 64), F32)
        row[0, : len(part)], row[0, 63] = part, form.q
        codes, scales = (memoryview(plane) for plane in form.quantize(row))
        found = form.dequantize(codes, scales, 1, 64)[0, : len(part)]
        assert found.tolist() == np.rint(part).tolist()
        assert (found % 2 == 0).all()


@pytest.mark.parametrize("encoding", ["fp16", "bf16", "e8m0"])
@pytest.mark.parametrize("name", list(GROUPED))
def test_what_is_stored_is_stored_again_as_it_is(name: str, encoding: str) -> None:
    """All but a group of which nothing is left: its scale, raised to the smallest, becomes 0."""
    form, rng = block_format(name, encoding), np.random.default_rng(3)
    for cols in (1, 63, 64, 65, 128, 129, 200):
        spread = np.exp2(rng.integers(-140, 12, (60, 1)))
        rows = (rng.standard_normal((60, cols)) * spread).astype(F32)
        rows[:3] = np.array([[0.0], [-0.0], [1e-45]])
        planes = form.quantize(rows)
        views = (memoryview(plane) for plane in planes)
        stored = form.dequantize(*views, 60, cols)
        again = form.quantize(stored)
        assert again[0] == planes[0]
        assert form.dequantize(*map(memoryview, again), 60, cols).tobytes() == stored.tobytes()
        words = [np.frombuffer(p[1], form.encoding.dtype).reshape(60, -1) for p in (planes, again)]
        filled = np.zeros((60, form.groups(cols) * form.group), bool)
        filled[:, :cols] = stored != 0
        used = filled.reshape(60, -1, form.group).any(axis=2)
        assert (words[0] == words[1])[used].all()
        assert not words[1][~used].any()
