"""`trlm op`: block formats there and back, and stored planes that are never cast."""

import numpy as np
import pytest

from tests.flows.operator_calls import ENGINES, F32, Array, Serve
from trlm_lab.errors import (
    OperatorInputError,
    QuantCodeError,
    RuntimeRefusedError,
    ShapeMismatchError,
    UnknownNameError,
)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("shape", [(5,), (3, 130), (2, 2, 200)])
def test_quantize_and_back(serve: Serve, engine: str, shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(1).standard_normal(shape).astype(F32)
    packed = serve("quantize", "scalar-f32-v1", engine, x=x)
    assert packed["y"].shape == x.shape
    assert packed["scale"].shape == (*shape[:-1], -(-shape[-1] // 128))
    codes = {"codes": packed["y"], "scale": packed["scale"], "format": "q8_r128"}
    y = serve("dequantize", "scalar-f32-v1", engine, **codes)["y"]
    steps = np.repeat(packed["scale"], 128, axis=-1)[..., : shape[-1]].astype(F32)
    assert y.tobytes() == (packed["y"].astype(F32) * steps).tobytes()
    if engine != "reference":
        own = serve("quantize", "scalar-f32-v1", x=x)
        assert all(own[name].tobytes() == packed[name].tobytes() for name in own)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", ["q6_g64", "q5_g64", "q4_g64"])
def test_the_smaller_formats(serve: Serve, engine: str, name: str) -> None:
    x = np.random.default_rng(2).standard_normal((3, 130)).astype(F32)
    packed = serve("quantize", "scalar-f32-v1", engine, x=x, format=name)
    top = {"q6_g64": 31, "q5_g64": 15, "q4_g64": 7}[name]
    assert packed["scale"].shape == (3, 3)
    assert np.abs(packed["y"]).max() == top
    codes = {"codes": packed["y"], "scale": packed["scale"], "format": name}
    y = serve("dequantize", "scalar-f32-v1", engine, **codes)["y"]
    steps = np.repeat(packed["scale"], 64, axis=-1)[:, :130].astype(F32)
    assert y.tobytes() == (packed["y"].astype(F32) * steps).tobytes()
    if engine != "reference":
        own = serve("quantize", "scalar-f32-v1", x=x, format=name)
        assert all(own[part].tobytes() == packed[part].tobytes() for part in own)
    wide = packed["y"].copy()
    wide[1, 2] = top + 2  # packing alone would cut it to a negative code
    with pytest.raises((QuantCodeError, RuntimeRefusedError), match=r"beyond|lowest"):
        serve("dequantize", "scalar-f32-v1", engine, **{**codes, "codes": wide})


CODES, SCALE = np.ones((2, 3), np.int8), np.ones((2, 1), np.float16)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("codes", "scale", "why"),
    [
        (CODES.astype(np.int64), SCALE, "codes has the element type int64, needed is int8"),
        (CODES.astype(np.uint8), SCALE, "codes has the element type uint8"),
        (CODES.astype(F32), SCALE, "codes has the element type float32"),
        (CODES > 0, SCALE, "codes has the element type bool"),
        (CODES, SCALE.astype(F32), "scale has the element type float32, needed is float16"),
        (CODES, SCALE.astype(np.int8), "scale has the element type int8"),
        (CODES[0, 0], SCALE, "rank 0"),
    ],
)
def test_stored_planes_are_never_cast(
    serve: Serve, engine: str, codes: Array, scale: Array, why: str
) -> None:
    with pytest.raises(OperatorInputError, match=why):
        serve("dequantize", "scalar-f32-v1", engine, codes=codes, scale=scale)


def test_scales_of_another_shape_are_refused(serve: Serve) -> None:
    """Transposed, they would have the right number of bytes."""
    codes = np.ones((2, 129), np.int8)
    with pytest.raises(ShapeMismatchError, match=r"scale has the shape \(1, 4\)"):
        serve("dequantize", codes=codes, scale=np.ones((1, 4), np.float16))
    with pytest.raises(UnknownNameError, match="q8_r128"):
        serve("dequantize", codes=CODES, scale=SCALE, format="q8_r127")
