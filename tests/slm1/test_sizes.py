"""The published shape to the byte, names, places and the numbers that a runtime derives."""

import numpy as np
import pytest

from trlm_lab.errors import Slm1CannotHoldError
from trlm_lab.ops.rotation import inverse_frequencies as by_power
from trlm_lab.slm1.codecs import DType
from trlm_lab.slm1.frequencies import inverse_frequencies
from trlm_lab.slm1.names import fnv1a64
from trlm_lab.slm1.write import plan_slm1

from .made import BTOK, KNOWN, SHAPE, TIED, made, opened


@pytest.mark.parametrize(
    ("dtype", "size"),
    [(DType.f32, 68_194_944), (DType.q8_0, 17_160_000), (DType.q4_0, 10_657_728)],
)
def test_the_known_shape_has_the_known_sizes(dtype: DType, size: int) -> None:
    plan = plan_slm1(KNOWN, dtype, BTOK)
    assert (plan.size, len(plan.placed)) == (size, 39)
    assert sum(p.rows * p.cols for p in plan.placed) == 17_048_064


@pytest.mark.parametrize("dtype", list(DType))
@pytest.mark.parametrize("shape", [SHAPE, TIED], ids=["untied", "tied"])
def test_a_small_file_is_read_back(dtype: DType, shape: object) -> None:
    slm1 = opened(made(dtype, shape))  # type: ignore[arg-type]
    assert slm1.header.tied == (shape is TIED)
    assert len(slm1.tensors) == (11 if shape is TIED else 12)
    keys = slm1.tensor("layers.0.wk.weight").placed
    assert (keys.rows, keys.cols, keys.named.rotary_heads) == (4, 6, 2)
    assert slm1.tensor("output.weight").placed.named.dims == (260, 6)


def test_names_are_hashed_by_fnv1a() -> None:
    # The published test vectors of the hash.
    assert fnv1a64("") == 0xCBF29CE484222325
    assert fnv1a64("a") == 0xAF63DC4C8601EC8C
    assert fnv1a64("foobar") == 0x85944171F73967E8


def test_frequencies_are_the_nearest_float32() -> None:
    for theta in (10000.0, 500000.0, 1e6, float(np.float32(12345.678)), 1.0):
        for width in (2, 48, 64, 80, 128):
            assert np.array_equal(inverse_frequencies(theta, width), by_power(theta, width))


def test_a_block_that_does_not_divide_is_refused() -> None:
    for block in (0, 3, 4, 32):
        with pytest.raises(Slm1CannotHoldError, match="6 columns"):
            plan_slm1(SHAPE, DType.q4_0, BTOK, block=block)
