"""Decoders of ggml's block formats: the bits of the `gguf` package on any bytes."""

import numpy as np
import pytest
from gguf import GGMLQuantizationType, quants
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tests.pack.test_profiles import LISTED
from trlm_lab.base import canon
from trlm_lab.base.bits import same_bits
from trlm_lab.errors import ShapeMismatchError
from trlm_lab.pack import decoder_profile
from trlm_lab.quant.ggml import DECODERS

#: A changed profile is a new one: these ids change only together with `version`.
IDS = {
    "Q4_1": "6506451f52d87a0a30dba02b3645829a4027c0a1eed232763055ec858d20a82a",
    "Q8_0": "a56b5176d64177f2af988c13e497788eb7f8c81de86db5f9d69472663e388726",
    "Q4_K": "c5017a81b7c1e553948accc563592b11a3441c42557ac41f127e73332d42c3ba",
    "Q6_K": "7615143274b5941029c5fd9c3c91bf088784c11c8ac8272123380087869fdb4e",
}
NAMES = tuple(IDS)


def package(rows: np.ndarray, name: str) -> np.ndarray:
    with np.errstate(all="ignore"):
        values = quants.dequantize(rows, GGMLQuantizationType[name])
    return np.ascontiguousarray(values, np.float32)


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
def test_any_bytes_have_the_bits_of_the_package(name: str, data: st.DataObject) -> None:
    size = DECODERS[name].record.itemsize
    shape = (data.draw(st.integers(1, 3)), size * data.draw(st.integers(1, 3)))
    rows = data.draw(hnp.arrays(np.uint8, shape))
    assert same_bits(DECODERS[name].decode(rows), package(rows, name))


@pytest.mark.parametrize("name", NAMES)
def test_a_thousand_random_blocks(name: str) -> None:
    """Scales of every binary16, subnormal and not finite too."""
    size = DECODERS[name].record.itemsize
    rows = np.random.default_rng(5).integers(0, 256, (125, 8 * size), dtype=np.uint8)
    got = DECODERS[name].decode(rows)
    assert got.shape == (125, 8 * DECODERS[name].elements)
    assert same_bits(got, package(rows, name))


@pytest.mark.parametrize("name", NAMES)
def test_every_bit_of_a_block_counts(name: str) -> None:
    """No bit is read twice or not at all: flipping it changes what the package also changes."""
    decoder = DECODERS[name]
    block = np.random.default_rng(6).integers(0, 256, decoder.record.itemsize, dtype=np.uint8)
    for field in ("d", "m", "dmin"):
        if decoder.record.fields and field in decoder.record.fields:
            block.view(decoder.record)[field] = 0.125
    flipped = np.repeat(block[None], block.size * 8, axis=0)
    for bit in range(block.size * 8):
        flipped[bit, bit // 8] ^= 1 << bit % 8
    changed = decoder.decode(flipped) != decoder.decode(block[None])
    assert changed.any(axis=1).all()
    assert same_bits(decoder.decode(flipped), package(flipped, name))


@pytest.mark.parametrize("name", NAMES)
def test_a_row_that_ends_within_a_block_is_refused(name: str) -> None:
    rows = np.zeros((2, DECODERS[name].record.itemsize + 1), np.uint8)
    with pytest.raises(ShapeMismatchError, match=r"n x \d+ bytes"):
        DECODERS[name].decode(rows)


@pytest.mark.parametrize("name", NAMES)
def test_the_profile_is_complete_and_frozen(name: str) -> None:
    row = decoder_profile(name)
    assert set(row) >= LISTED
    assert (row["version"], canon.content_id(row)) == (1, IDS[name])


def test_every_decoder_has_its_profile() -> None:
    assert set(DECODERS) == set(NAMES)
