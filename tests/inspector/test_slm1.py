"""Inspector and reader, written apart, judge SLM1 files alike, and both name the rule."""

import struct
from dataclasses import replace

import numpy as np
import pytest

from tests.slm1.made import KNOWN, LITTLE, SHAPE, TIED, code_of, made, opened, sealed
from trlm_lab.errors import Refused
from trlm_lab.inspector import inspect_bytes
from trlm_lab.slm1.codecs import DType

SOUND = made(DType.q4_0, LITTLE)


def codes(data: bytes) -> set[str]:
    return {finding.code for finding in inspect_bytes(memoryview(data)).findings}


@pytest.mark.parametrize("dtype", list(DType))
@pytest.mark.parametrize("shape", [SHAPE, TIED], ids=["untied", "tied"])
def test_a_sound_file_is_shown(dtype: DType, shape: object) -> None:
    data = made(dtype, shape)  # type: ignore[arg-type]
    found = inspect_bytes(memoryview(data))
    assert (found.format, found.findings) == ("SLM1", ())
    assert [h.holds for h in found.hashes] == [True]
    fields = {f.name: f.value for f in found.header}
    assert (fields["rope_theta"], fields["tensor_count"]) == (10000.0, 12 - (shape is TIED))
    assert {f.name: f.value for f in found.tokenizer}["eos"] == 257
    for row, tensor in zip(found.tensors, opened(data).tensors, strict=True):
        assert (row.name, row.dims) == (tensor.placed.named.name, tensor.placed.named.dims)
        assert (row.data_range, row.dtype) == (tensor.placed.data, dtype.name)


def test_a_file_of_several_batches_has_the_checksum_of_the_writer() -> None:
    data = made(DType.f32, replace(KNOWN, hidden=64, heads=1, kv_heads=1, layers=1))
    assert len(data) > 1 << 20
    assert codes(data) == set()


def test_every_flipped_byte_is_found() -> None:
    changed, missed = bytearray(SOUND), []
    for at in range(len(SOUND)):
        changed[at] ^= 1 << at % 8
        if not codes(bytes(changed)):
            missed.append(at)
        changed[at] ^= 1 << at % 8
    assert missed == []


def test_every_cut_is_refused() -> None:
    assert [size for size in range(len(SOUND)) if not codes(SOUND[:size])] == []


def test_both_name_the_rule_of_a_sealed_file() -> None:
    """Each byte of the front set to two other values, and a part of the payloads."""
    data = SOUND
    front = struct.unpack_from("<Q", data, 92)[0]
    places = [*range(front), *range(front, len(data), 7)]
    accepted = 0
    for at in places:
        for value in ((0, data[at] ^ 0x80), (1, 255))[at % 2]:
            bad = sealed(data[:at] + bytes([value]) + data[at + 1 :])
            code, found = code_of(bad) if bad[:4] == b"SLM1" else "SLM_VERSION", codes(bad)
            accepted += not code
            assert (not code and not found) or code in found, (at, value, code, found)
    assert accepted > 100


def test_a_tokenizer_that_breaks_its_rules_is_refused_by_both() -> None:
    start, length = struct.unpack_from("<QQ", SOUND, 64)
    rng = np.random.default_rng(5)
    for _ in range(300):
        changed = bytearray(SOUND)
        for at in rng.integers(start, start + length, 2):
            changed[at] = rng.integers(0, 9)
        bad = sealed(bytes(changed))
        try:
            opened(bad)
            refused = False
        except Refused:
            refused = True
        assert bool(codes(bad)) == refused
