"""llama.cpp's quantizers: blocks are those of the format, what does not fit is refused."""

from __future__ import annotations

import numpy as np
import pytest

from tests.skips import lacking
from trlm_lab.backends.ggml_quantize import TYPES, ggml_quantize, ggml_values
from trlm_lab.backends.llama_cpp import missing_part
from trlm_lab.errors import UnknownNameError

pytestmark = pytest.mark.peer


@pytest.fixture(autouse=True)
def peer() -> None:
    if reason := missing_part():
        lacking("llama.cpp", reason)


@pytest.mark.parametrize("name", sorted(TYPES))
def test_blocks_give_nearly_the_weights_back(name: str) -> None:
    draw = np.random.Generator(np.random.Philox(2))
    weights = draw.standard_normal((6, 512)).astype(np.float32)
    blocks = ggml_quantize(weights, name)
    _, columns, size = TYPES[name]
    assert blocks.shape == (6, 512 // columns * size)
    gap = np.abs(ggml_values(blocks, name) - weights).max()
    worst = {"Q4_0": 1 / 8, "Q5_0": 1 / 16, "Q6_K": 1 / 32, "Q8_0": 1 / 127}[name]
    assert 0 < gap < worst * np.abs(weights).max()


@pytest.mark.parametrize("name", ["Q4_0", "Q5_0", "Q8_0"])
def test_blocks_are_those_of_the_gguf_package(name: str) -> None:
    from gguf import GGMLQuantizationType, quants

    draw = np.random.Generator(np.random.Philox(3))
    weights = draw.standard_normal((4, 256)).astype(np.float32)
    wanted = quants.quantize(weights, GGMLQuantizationType[name])
    assert np.array_equal(ggml_quantize(weights, name), wanted)


def test_an_importance_matrix_lowers_the_weighted_error() -> None:
    draw = np.random.Generator(np.random.Philox(4))
    weights = draw.standard_normal((8, 256)).astype(np.float32)
    importance = np.exp(2 * draw.standard_normal(256)).astype(np.float32)
    for name in ("Q4_0", "Q5_0", "Q6_K"):
        errors = [
            importance * (ggml_values(ggml_quantize(weights, name, given), name) - weights) ** 2
            for given in (None, importance)
        ]
        assert errors[1].sum() < errors[0].sum()
    with pytest.raises(UnknownNameError, match="importance"):
        ggml_quantize(weights, "Q4_0", importance[1:])


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="Q3_X"):
        ggml_quantize(np.zeros((1, 32), np.float32), "Q3_X")
    with pytest.raises(UnknownNameError, match="multiple of 256"):
        ggml_quantize(np.zeros((1, 32), np.float32), "Q6_K")
