"""Single operators: the Rust runtime gives the reference's bits, torch stays within its bound."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from tests.ops.bounds import dot_depth, gamma
from trlm_lab.backends.abi_operators import (
    AbiOperators,
    abi_kernels,
    native_operators,
    wasmtime_operators,
)
from trlm_lab.backends.native import NativeRunner
from trlm_lab.backends.profiles import evaluation_profile, operator_profile
from trlm_lab.backends.wasm_wasmtime import WasmtimeRunner
from trlm_lab.base.bits import same_bits
from trlm_lab.base.interfaces import Runner
from trlm_lab.errors import (
    OperatorNotServedError,
    RuntimeRefusedError,
    UnknownNameError,
)
from trlm_lab.flows.joined_operators import REFERENCE
from trlm_lab.flows.operator_engines import operator_kernels
from trlm_lab.flows.operators import apply_operator
from trlm_lab.ops.kernels import Kernels, reference_kernels

Array = NDArray[Any]
F32 = np.float32
PROFILE = evaluation_profile("scalar-f32-v1")
SCALAR = PROFILE.arithmetic()
ZERO_ROWS = operator_profile("scalar-f32-v1+masked-rows-zero").arithmetic()
OWN = Kernels("reference", {**reference_kernels(SCALAR).table, **REFERENCE})

ENGINES: dict[str, tuple[Callable[[], Runner], Callable[[], AbiOperators]]] = {
    "native-scalar": (NativeRunner, native_operators),
    "wasm-scalar@wasmtime": (WasmtimeRunner, wasmtime_operators),
}


@pytest.fixture(scope="module", params=ENGINES)
def runtime(
    request: pytest.FixtureRequest, require: Callable[[Runner], None]
) -> Iterator[AbiOperators]:
    """One instance for all tests: compiling the module is slow."""
    find, start = ENGINES[request.param]
    require(find())
    with start() as runtime:
        yield runtime


@pytest.fixture(scope="module")
def kernels(runtime: AbiOperators) -> Kernels:
    return abi_kernels(runtime, SCALAR)


def one_nan(values: Array) -> Array:
    """Every NaN in one spelling: which one a processor makes is its own affair."""
    values = np.array(values)
    if values.dtype == F32:
        values[np.isnan(values)] = np.uint32(0x7FC00000).view(F32)
    return values


@np.errstate(all="ignore")
def assert_same(kernels: Kernels, name: str, *operands: Any, own: Kernels = OWN) -> None:
    ours, theirs = own[name](*operands), kernels[name](*operands)
    pairs = zip(ours, theirs, strict=True) if isinstance(ours, tuple) else [(ours, theirs)]
    for expected, got in pairs:
        assert same_bits(one_nan(expected), one_nan(got)), (name, expected, got)


#: Any bits at all, and the numbers that are most often got wrong.
ANY = st.one_of(
    st.integers(0, 2**32 - 1).map(lambda bits: float(np.uint32(bits).view(F32))),
    st.sampled_from([0.0, -0.0, 1e-45, -1e-45, 1.1754942e-38, float("nan"), float("inf"),
                     float("-inf"), 3.4028235e38, 88.72284, -103.97208, 0.000244140625, 4.0]),
    st.floats(-30, 30, width=32),
)  # fmt: skip


@st.composite
def arrays(draw: st.DrawFn, *shape: int | st.SearchStrategy[int]) -> Array:
    """float32 of any bits from a small pool, so that drawing is fast; lengths may be drawn."""
    sides = [draw(side) if isinstance(side, st.SearchStrategy) else side for side in shape]
    pool = np.array(draw(st.lists(ANY, min_size=1, max_size=9)), F32)
    seed = draw(st.integers(0, 2**32 - 1))
    return pool[np.random.default_rng(seed).integers(0, len(pool), sides)]


ODD = st.sampled_from([1, 2, 3, 5, 7, 8, 9, 17, 33])
ELEMENTWISE = ("silu", "gelu_tanh", "gelu_erf", "exp", "sin", "cos", "tanh", "erf")


@pytest.mark.parametrize("name", ELEMENTWISE)
@given(x=arrays(ODD))
def test_elementwise_bits(name: str, kernels: Kernels, x: Array) -> None:
    assert_same(kernels, name, x)


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_elementwise_bits_over_the_whole_range(name: str, kernels: Kernels) -> None:
    """Every 65521st bit pattern, subnormals and NaN among them."""
    swept = np.arange(0, 1 << 32, 65521, dtype=np.uint64).astype(np.uint32).view(F32)
    assert_same(kernels, name, swept)


@given(x=arrays(ODD), cap=st.floats(2.0**-120, 2.0**99, width=32))
def test_softcap_bits(kernels: Kernels, x: Array, cap: float) -> None:
    assert_same(kernels, "softcap", x, cap)


@pytest.mark.parametrize("name", ["swiglu", "geglu_tanh", "geglu_erf", "residual"])
@given(pair=ODD.flatmap(lambda n: st.tuples(arrays(2, n), arrays(2, n))))
def test_pair_bits(name: str, kernels: Kernels, pair: tuple[Array, Array]) -> None:
    assert_same(kernels, name, *pair)


@given(data=st.data(), eps=st.sampled_from([0.0, 1e-12, 1e-5, 1.0, 1e-45]))
def test_rms_norm_bits(kernels: Kernels, data: st.DataObject, eps: float) -> None:
    x = data.draw(arrays(ODD, ODD))
    assert_same(kernels, "rms_norm", x, data.draw(arrays(x.shape[1])), eps)


@given(data=st.data(), eps=st.sampled_from([0.0, 1e-12, 1e-5, 1.0, 1e-45]))
def test_layer_norm_bits(kernels: Kernels, data: st.DataObject, eps: float) -> None:
    x = data.draw(arrays(ODD, ODD))
    weight, bias = data.draw(arrays(2, x.shape[1]))
    assert_same(kernels, "layer_norm", x, weight, bias, eps)


@given(data=st.data())
def test_bias_and_position_bits(kernels: Kernels, data: st.DataObject) -> None:
    x = data.draw(arrays(ODD, ODD))
    assert_same(kernels, "add_bias", x, data.draw(arrays(x.shape[1])))
    table = data.draw(arrays(ODD, x.shape[1]))
    at = data.draw(hnp.arrays(np.int64, len(x), elements=st.integers(0, len(table) - 1)))
    assert_same(kernels, "learned_positions", x, table, at)


@given(x=arrays(ODD, ODD), scale=st.floats(-1e6, 1e6))
def test_embedding_scale_bits(kernels: Kernels, x: Array, scale: float) -> None:
    assert_same(kernels, "embedding_scale", x, scale)


def test_a_position_beyond_the_table_is_refused(kernels: Kernels) -> None:
    x, table = np.ones((1, 2), F32), np.ones((3, 2), F32)
    with pytest.raises(RuntimeRefusedError, match="3 of 3 rows"):
        kernels["learned_positions"](x, table, np.array([3]))


def masks(*shape: int) -> st.SearchStrategy[Array]:
    return hnp.arrays(np.bool_, shape)


@given(data=st.data())
def test_softmax_bits_under_any_mask(kernels: Kernels, data: st.DataObject) -> None:
    x = data.draw(arrays(ODD, ODD))
    visible = data.draw(masks(*x.shape))
    visible[:, data.draw(st.integers(0, x.shape[1] - 1))] = True
    assert_same(kernels, "softmax", x, visible)


@given(data=st.data())
def test_rows_without_a_key_are_zero_where_the_profile_says_so(
    runtime: AbiOperators, data: st.DataObject
) -> None:
    kernels = abi_kernels(runtime, ZERO_ROWS)
    x = data.draw(arrays(3, ODD))
    visible = data.draw(masks(*x.shape))
    visible[1] = False
    own = reference_kernels(ZERO_ROWS)
    assert_same(kernels, "softmax", x, visible, own=own)
    assert kernels["softmax"](x, visible)[1].tobytes() == bytes(4 * x.shape[1])
    heads = x.reshape(3, 1, -1)
    seen = visible[:, :1] & np.ones((3, 3), bool)
    assert_same(kernels, "attention", heads, heads, heads, seen, 0.5, None, own=own)


@given(data=st.data(), cap=st.sampled_from([None, 0.5, 50.0]))
def test_attention_bits(kernels: Kernels, data: st.DataObject, cap: float | None) -> None:
    tokens, keys, width, channels = (data.draw(ODD) for _ in range(4))
    shared, group = data.draw(st.sampled_from([(1, 1), (1, 3), (2, 2), (3, 1)]))
    q = data.draw(arrays(tokens, shared * group, width))
    k, v = data.draw(arrays(keys, shared, width)), data.draw(arrays(keys, shared, channels))
    visible = data.draw(masks(tokens, keys))
    visible[:, 0] = True
    assert_same(kernels, "attention", q, k, v, visible, width**-0.5, cap)


@pytest.mark.parametrize("name", ["rope", "rope_interleaved"])
@given(data=st.data(), factor=st.sampled_from([1.0, 1.1386294364929199, 0.0]))
def test_rotation_bits(name: str, kernels: Kernels, data: st.DataObject, factor: float) -> None:
    tokens, heads, half = (data.draw(ODD) for _ in range(3))
    x, inv_freq = data.draw(arrays(tokens, heads, 2 * half)), data.draw(arrays(half))
    positions = data.draw(hnp.arrays(np.int64, tokens, elements=st.integers(0, 2**31 - 1)))
    assert_same(kernels, name, x, positions, inv_freq, factor)


@given(data=st.data())
def test_matmul_bits(kernels: Kernels, data: st.DataObject) -> None:
    inner = data.draw(ODD)
    assert_same(kernels, "matmul", data.draw(arrays(ODD, inner)), data.draw(arrays(ODD, inner)))


@given(x=arrays(st.integers(1, 3), st.sampled_from([1, 63, 64, 65, 127, 128, 129, 257])))
def test_block_format_bits(kernels: Kernels, x: Array) -> None:
    x = np.clip(np.nan_to_num(x), F32(-8e6), F32(8e6))
    assert_same(kernels, "quantize", x, "q8_r128")
    assert_same(kernels, "dequantize", *OWN["quantize"](x, "q8_r128"), "q8_r128")


def test_what_the_block_format_refuses(kernels: Kernels) -> None:
    codes, scale = np.ones((1, 3), np.int8), np.ones((1, 1), np.float16)
    bad = [(codes, -scale), (codes, scale * 0), (np.full((1, 3), -128, np.int8), scale)]
    for code, factor in bad:
        with pytest.raises(RuntimeRefusedError):
            kernels["dequantize"](code, factor, "q8_r128")
    with pytest.raises(RuntimeRefusedError, match="row 0 group 0"):
        kernels["quantize"](np.array([[1e9]], F32), "q8_r128")
    with pytest.raises(OperatorNotServedError, match="no block format 'q3_g64'"):
        kernels["quantize"](np.ones((1, 3), F32), "q3_g64")


# The ABI itself -----------------------------------------------------------------------------------

X = np.ones((2, 3), F32)
WEIGHT = np.ones(3, F32)
EPS = np.asarray(1e-5, F32)


@pytest.mark.parametrize(
    ("name", "inputs", "outputs", "error", "where"),
    [
        ("norm", [X], [X], "UNKNOWN_OPERATOR", "norm"),
        ("rms_norm", [X, WEIGHT], [X], "ARGUMENT", "rms_norm"),
        ("rms_norm", [X, WEIGHT, EPS], [], "ARGUMENT", "rms_norm"),
        ("rms_norm", [X, WEIGHT[:2], EPS], [X], "ARGUMENT", "weight"),
        ("rms_norm", [WEIGHT, WEIGHT, EPS], [X], "ARGUMENT", "x"),
        ("rms_norm", [X.astype(np.uint8), WEIGHT, EPS], [X], "ARGUMENT", "x"),
        ("rms_norm", [X, WEIGHT, EPS], [X[:1]], "ARGUMENT", "y"),
        ("rms_norm", [X, WEIGHT, EPS], [X.astype(np.uint32)], "ARGUMENT", "y"),
        ("softmax", [X, (X * 2).astype(np.uint8), np.uint32(0)], [X], "ARGUMENT", "visible"),
        ("softmax", [X, (X * 0).astype(np.uint8), np.uint32(0)], [X], "NO_VISIBLE_KEY", "mask[0]"),
        ("softmax", [X, X.astype(np.uint8), np.uint32(2)], [X], "ARGUMENT", "zero_rows"),
        ("rope", [np.ones((2, 1, 3), F32), np.zeros(2, np.uint32), WEIGHT[:1], EPS],
         [np.ones((2, 1, 3), F32)], "ARGUMENT", "x"),
        ("silu", [np.ones(0, F32)], [X], "ARGUMENT", "inputs[0]"),
        ("silu", [WEIGHT] * 17, [X], "ARGUMENT", "inputs"),
    ],
)  # fmt: skip
def test_the_abi_refuses_by_name(
    runtime: AbiOperators,
    name: str,
    inputs: list[Any],
    outputs: list[Any],
    error: str,
    where: str,
) -> None:
    arrays = [np.asarray(array) for array in inputs]
    with pytest.raises(RuntimeRefusedError, match=error) as caught:
        runtime.call(name, arrays, outputs)
    assert caught.value.where == where


#: Suffixes of one operator by block format, and what `trlm op` does not serve: stored planes.
BLOCKS = "_(q8_r128|q6_g64|q5_g64|q4_g64|q8_kv)$"
STORED = {"pack_rows", "unpack_rows", "matmul_rows"}


def test_the_runtime_names_what_it_has(runtime: AbiOperators, kernels: Kernels) -> None:
    with pytest.raises(RuntimeRefusedError) as caught:
        runtime.call("?", [], [])
    own = caught.value.facts["detail"].removeprefix("is none of: ").split(", ")
    assert {re.sub(BLOCKS, "", name) for name in own} - STORED == set(kernels.table)


# Which engine serves what -------------------------------------------------------------------------


def test_an_engine_that_lacks_an_operator_says_what_it_has(kernels: Kernels) -> None:
    with pytest.raises(OperatorNotServedError, match="rms_norm, softmax") as caught:
        apply_operator("cast", {"x": X, "dtype": "bf16"}, SCALAR, kernels)
    assert (caught.value.code, caught.value.exit_status) == ("NOT_SUPPORTED", 4)


@pytest.mark.parametrize("engine", [*ENGINES, "torch"])
def test_an_engine_refuses_a_profile_that_it_does_not_compute(engine: str) -> None:
    bf16 = operator_profile("lanes16-f32-v1+bf16-weight-then-round").arithmetic()
    with pytest.raises(OperatorNotServedError, match="no profile 'lanes16-f32-v1"):
        operator_kernels(engine, bf16)


@pytest.mark.parametrize("engine", ["llama.cpp", "wasm-scalar@chromium", "torch:1-thread"])
def test_an_engine_of_whole_models_serves_no_operators(engine: str) -> None:
    with pytest.raises(OperatorNotServedError, match="single operators: reference") as caught:
        operator_kernels(engine, SCALAR)
    assert caught.value.exit_status == 4


def test_an_unknown_engine_is_a_usage_error() -> None:
    with pytest.raises(UnknownNameError, match="native-scalar") as caught:
        operator_kernels("native", SCALAR)
    assert caught.value.exit_status == 2


# torch --------------------------------------------------------------------------------------------

RNG = np.random.default_rng(11)
Q, K = (RNG.standard_normal(shape).astype(F32) for shape in ((5, 4, 8), (5, 2, 8)))
FLAT = RNG.standard_normal((3, 33)).astype(F32)

#: Operands, and the roundings in a row that separate an answer from the exact one, relative to the
#: sum of the sizes of its terms (at most 1 times `size`).
TORCH: dict[str, tuple[dict[str, Any], int, float]] = {
    "rms_norm": ({"x": FLAT, "weight": FLAT[0], "eps": 1e-5}, 33 + 12, 10.0),
    "layer_norm": (
        {"x": FLAT, "weight": FLAT[0], "bias": FLAT[1], "eps": 1e-5}, 2 * 33 + 16, 20.0
    ),
    "softmax": ({"x": FLAT, "mask": FLAT > -1}, 33 + 20, 1.0),
    "softcap": ({"x": FLAT, "cap": 2.0}, 6, 2.0),
    "attention": ({"q": Q, "k": K, "v": K, "mask": np.tri(5, dtype=bool)}, 200, 4.0),
    "rope": ({"x": Q, "positions": np.arange(5), "theta": 1e4}, 10, 8.0),
    "rope_interleaved": ({"x": Q, "positions": np.arange(5), "theta": 1e4}, 10, 8.0),
    "silu": ({"x": FLAT}, 6, 4.0),
    "gelu_tanh": ({"x": FLAT}, 16, 4.0),
    "gelu_erf": ({"x": FLAT}, 16, 4.0),
    "swiglu": ({"gate": FLAT, "up": FLAT[::-1]}, 8, 16.0),
    "geglu_tanh": ({"gate": FLAT, "up": FLAT[::-1]}, 18, 16.0),
    "geglu_erf": ({"gate": FLAT, "up": FLAT[::-1]}, 18, 16.0),
    "residual": ({"old": FLAT, "new": FLAT[::-1]}, 1, 8.0),
    "matmul": ({"x": FLAT, "weight": FLAT}, 33, 99.0),
    "add_bias": ({"y": FLAT, "bias": FLAT[1]}, 1, 8.0),
    "embedding": ({"weight": FLAT, "token_ids": [2, 0]}, 0, 1.0),
    "embedding_scale": ({"x": FLAT, "scale": 6.25}, 1, 25.0),
    "learned_positions": ({"x": FLAT, "weight": FLAT, "positions": [2, 0, 1]}, 1, 8.0),
    **{
        name: ({"x": np.abs(FLAT) if name == "log" else FLAT}, 8, 64.0)
        for name in ("exp", "log", "sin", "cos", "tanh", "erf")
    },
}  # fmt: skip


@pytest.fixture(scope="module", params=["scalar-f32-v1", "f64-reference"])
def torch_profile(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize("name", TORCH)
def test_torch_stays_within_the_bound_of_its_element_type(name: str, torch_profile: str) -> None:
    """Two engines that each err by gamma(k) differ by at most twice that."""
    profile = evaluation_profile(torch_profile)
    operands, roundings, size = TORCH[name]
    arithmetic = profile.arithmetic()
    ours = apply_operator(name, operands, arithmetic, operator_kernels("reference", arithmetic))
    theirs = apply_operator(name, operands, arithmetic, operator_kernels("torch", arithmetic))
    assert ours["y"].dtype == theirs["y"].dtype == arithmetic.dtype
    # Every profile rotates by float32 angles and takes GELU's constants in float32.
    singles = gamma(PROFILE, 2) * 8 if name.startswith(("rope", "gelu", "geglu")) else 0.0
    bound = (2 * gamma(profile, roundings) + singles) * size
    assert np.abs(ours["y"] - theirs["y"]).max() <= bound


def test_torch_serves_what_is_tested_here() -> None:
    assert set(operator_kernels("torch", SCALAR).table) == set(TORCH)


def test_a_dot_product_by_torch_is_bounded_by_its_length() -> None:
    x, weight = RNG.standard_normal((4, 576)), RNG.standard_normal((8, 576))
    operands = {"x": x, "weight": weight}
    y = apply_operator("matmul", operands, SCALAR, operator_kernels("torch", SCALAR))["y"]
    size = np.abs(x) @ np.abs(weight).T
    assert (np.abs(y - x @ weight.T) <= gamma(PROFILE, dot_depth(PROFILE, 576) + 2) * size).all()
