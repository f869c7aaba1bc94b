"""Codes and scales of q8_0 and q4_0, by hand and at their edges."""

import numpy as np
import pytest

from trlm_lab.errors import Slm1ScaleError
from trlm_lab.slm1 import q4_0, q8_0
from trlm_lab.slm1.codecs import CODECS, DType


def rows(*values: float) -> np.ndarray:
    return np.asarray([values], np.float32)


def scales(raw: bytes) -> list[float]:
    return np.frombuffer(raw, "<f4").tolist()


def test_q8_rounds_half_to_even_and_scales_a_row() -> None:
    data, raw = q8_0.encode(rows(127, 0.5, 1.5, -2.5, -127), 5)
    assert scales(raw) == [1.0]
    assert np.frombuffer(data, np.int8).tolist() == [127, 0, 2, -2, -127]


def test_q4_puts_the_even_column_low_and_scales_a_block() -> None:
    data, raw = q4_0.encode(rows(7, -7, 1.5, 0.5, 14, 2, -3, 0), 4)
    assert scales(raw) == [1.0, 2.0]
    # 7 and -7, 2 and 0; 7 and 1, -2 (of -1.5) and 0.
    assert data == bytes([0x97, 0x02, 0x17, 0x0E])
    assert q4_0.decode(memoryview(data), memoryview(raw), 8, 4).tolist() == [
        [7, -7, 2, 0, 14, 2, -4, 0]
    ]


def test_the_lowest_codes_are_read() -> None:
    one = np.ones(1, "<f4").tobytes()
    assert q8_0.decode(memoryview(b"\x80"), memoryview(one), 1, 1).tolist() == [[-128]]
    assert q4_0.decode(memoryview(b"\x78"), memoryview(one), 2, 2).tolist() == [[-8, 7]]


@pytest.mark.parametrize("codec", [q8_0, q4_0])
def test_zeros_and_the_smallest_numbers(codec: object) -> None:
    data, raw = codec.encode(np.zeros((2, 4), np.float32), 4)  # type: ignore[attr-defined]
    assert set(scales(raw)) == {1.0}
    assert not any(data)
    tiny = rows(2.0**-149, 0, 0, -(2.0**-149))
    _, raw = codec.encode(tiny, 4)  # type: ignore[attr-defined]
    assert scales(raw) == [2.0**-126]


@pytest.mark.parametrize("dtype", [DType.q8_0, DType.q4_0])
def test_slices_joined_are_the_whole(dtype: DType) -> None:
    codec = CODECS[dtype]
    values = np.random.default_rng(3).standard_normal((9, 12)).astype(np.float32)
    block = codec.block_of(12, 6)
    data, raw = codec.encode(values, block)
    parts = [codec.encode(values[low : low + 4], block) for low in (0, 4, 8)]
    assert (data, raw) == tuple(b"".join(p) for p in zip(*parts, strict=True))
    back = codec.decode(memoryview(data), memoryview(raw), 12, block)
    step = np.frombuffer(raw, "<f4").reshape(9, -1).repeat(block, axis=1) / 2
    assert (np.abs(back - values) <= step * np.float32(1.0001)).all()


def test_a_scale_whose_products_overflow_is_refused() -> None:
    top = np.finfo(np.float32).max
    for dtype in (DType.q8_0, DType.q4_0):
        codec = CODECS[dtype]
        data, raw = (memoryview(part) for part in codec.encode(rows(1, 1, top, 1), 2))
        with pytest.raises(Slm1ScaleError, match="row 5"):
            codec.check(data, raw, 4, 2, "w", 5)
        data, raw = (memoryview(part) for part in codec.encode(rows(top / 32, -top / 32), 2))
        codec.check(data, raw, 2, 2, "w", 0)
        assert np.isfinite(codec.decode(data, raw, 2, 2)).all()
