"""Two readers written apart judge the same files alike, and two decoders give the same bits."""

import hashlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.q8_decoder import decode_q8_r128, half_values
from trlm_lab.quant import FORMATS
from trlm_lab.slm.layout import HEADER, SHARD_DESC, TENSOR_DESC
from trlm_lab.testing.container_judges import by_inspector, by_python

from .conftest import built

SOUND = built()
HEAD = HEADER.unpack(memoryview(SOUND), 0)

#: Bits to flip, by region, where one changing bit a byte would miss a flag.
FLIPS = dict.fromkeys((0, 3, 4, 5), (0x01, 0x04, 0x80))


def resealed(data: bytearray) -> bytes:
    """The bytes with a self hash that holds, so that only structure can be wrong."""
    blank = bytes(data[:136]) + bytes(72) + bytes(data[208:])
    data[136:168] = hashlib.sha256(blank).digest()
    return bytes(data)


def judged_apart(data: bytes) -> bool:
    """Whether the inspector does not name the rule that stops the reader."""
    code, findings = by_python(data), by_inspector(data)
    return code not in findings if code else bool(findings)


def regions() -> list[tuple[int, int]]:
    """Header, strings, configuration, three descriptors, tokenizer and pieces, shard, body."""
    shard = HEAD["shard_table_off"]
    directory = HEAD["tensor_dir_off"]
    return [
        (0, 256),
        (HEAD["string_table_off"], HEAD["config_off"]),
        (HEAD["config_off"], directory),
        *(
            (directory + i * TENSOR_DESC.size, directory + (i + 1) * TENSOR_DESC.size)
            for i in (0, 1, HEAD["tensor_count"] - 1)
        ),  # quantized, dense, alias
        (HEAD["tokenizer_off"], shard),
        (shard, shard + SHARD_DESC.size + 8),
        (HEAD["body_off"] - 8, HEAD["body_off"] + 64),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("region", range(9))
def test_every_byte_of_the_structure_is_judged_alike(region: int) -> None:
    low, high = regions()[region]
    apart = []
    for at in range(low, high):
        for flip in FLIPS[region] if region in FLIPS else (1 << at % 8,):
            data = bytearray(SOUND)
            data[at] ^= flip
            if judged_apart(resealed(data)):
                apart.append((at, flip))
    assert apart == []


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_random_damage_is_judged_alike(data: st.DataObject) -> None:
    changed = bytearray(SOUND)
    for _ in range(data.draw(st.integers(1, 3))):
        low, high = data.draw(st.sampled_from(regions()))
        at = data.draw(st.integers(low, high - 1))
        word = data.draw(st.sampled_from([b"\0", b"\1", b"\4", b"\xff", b"\0" * 8, b"\xff" * 4]))
        changed[at : at + len(word)] = word
    assert not judged_apart(resealed(changed))


def test_half_values_are_those_of_ieee() -> None:
    words = np.arange(0x7C00, dtype=np.uint16)
    want = words.view(np.float16).astype(np.float32)
    assert half_values(words).tobytes() == want.tobytes()


@pytest.mark.parametrize("cols", [1, 64, 65, 128, 129, 200, 576])
def test_two_decoders_give_the_same_bits(cols: int) -> None:
    rng = np.random.default_rng(cols)
    spread = np.exp2(rng.integers(-30, 20, (9, cols))).astype(np.float32)
    matrix = rng.standard_normal((9, cols)).astype(np.float32) * spread
    matrix[4] = 0
    codes, scales = FORMATS["q8_r128"].quantize(matrix)
    want = FORMATS["q8_r128"].dequantize(memoryview(codes), memoryview(scales), 9, cols)
    assert decode_q8_r128(codes, scales, 9, cols).tobytes() == want.tobytes()
