"""Single operators of the Rust runtime by `trlm_op` (docs/abi.md), native and WebAssembly."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trlm_lab.backends.abi_host import Host, Scratch, last_error
from trlm_lab.backends.runtime_source import PROFILE
from trlm_lab.errors import OperatorNotServedError
from trlm_lab.ops.arithmetic import Arithmetic
from trlm_lab.ops.kernels import Kernel, Kernels
from trlm_lab.ops.profile_options import SEPARATOR

Array = NDArray[Any]

#: Profiles that the runtime computes.
PROFILES = (PROFILE, f"{PROFILE}{SEPARATOR}masked-rows-zero")
#: Block formats with their columns a scale; as operators their scales are binary16.
GROUPS = {"q8_r128": 128, "q6_g64": 64, "q5_g64": 64, "q4_g64": 64}

#: Element types by their number in the ABI.
KINDS = {"float32": 1, "float16": 2, "uint32": 3, "uint8": 4, "int8": 5}
MAX_RANK = 3
FLAT = ("silu", "gelu_tanh", "gelu_erf", "exp", "sin", "cos", "tanh", "erf")
PAIRS = ("swiglu", "geglu_tanh", "geglu_erf", "residual")


class AbiOperators:
    """The runtime in a host; `word` is the type of its addresses and lengths."""

    def __init__(self, host: Host, word: Any, engine: str) -> None:
        self.host = host
        self.word = np.dtype(word)
        self.engine = engine

    def __enter__(self) -> AbiOperators:
        return self

    def __exit__(self, *exc: object) -> None:
        self.host.close()

    def call(self, name: str, inputs: Sequence[Array], outputs: Sequence[Array]) -> list[Array]:
        """Run an operator; `outputs` give type and shape of the answers.

        Raises:
            RuntimeRefusedError: the runtime refuses name, types, shapes or values.
            RuntimeMemoryError: it is short of memory.
        """
        text = np.frombuffer(name.encode(), dtype=np.uint8)
        with ExitStack() as memory:
            given, answers = (self._table(memory, part) for part in (inputs, outputs))
            spelled = memory.enter_context(Scratch(self.host, text))
            tables = (given[0].address, len(inputs), answers[0].address, len(outputs))
            if self.host.call("trlm_op", spelled.address, len(text), *tables) != 0:
                raise last_error(self.host)
            return [answer.read() for answer in answers[1]]

    def _table(self, memory: ExitStack, arrays: Sequence[Array]) -> tuple[Scratch, list[Scratch]]:
        """The arrays in the runtime's memory, and the table that describes them."""
        placed = [memory.enter_context(Scratch(self.host, array)) for array in arrays]
        table = np.zeros((len(arrays), 3 + MAX_RANK), dtype=self.word)
        for row, array, at in zip(table, arrays, placed, strict=True):
            row[:3] = KINDS[array.dtype.name], at.address, array.ndim
            row[3 : 3 + array.ndim] = array.shape
        return memory.enter_context(Scratch(self.host, table)), placed

    def one(self, name: str, inputs: Sequence[Array], shape: tuple[int, ...]) -> Array:
        """The only answer of an operator, float32 of this shape."""
        return self.call(name, inputs, [np.zeros(shape, dtype=np.float32)])[0]


def _f32(values: Any) -> Array:
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(values, dtype=np.float32)


def _rows(runtime: AbiOperators, x: Array, weight: Array, eps: float) -> Array:
    rows = _f32(x.reshape(-1, x.shape[-1]))
    return runtime.one("rms_norm", [rows, _f32(weight), _f32(eps)], rows.shape).reshape(x.shape)


def _layer_norm(runtime: AbiOperators, x: Array, weight: Array, bias: Array, eps: float) -> Array:
    rows = _f32(x.reshape(-1, x.shape[-1]))
    operands = [rows, _f32(weight), _f32(bias), _f32(eps)]
    return runtime.one("layer_norm", operands, rows.shape).reshape(x.shape)


def _add_bias(runtime: AbiOperators, y: Array, bias: Array) -> Array:
    rows = _f32(y.reshape(-1, y.shape[-1]))
    return runtime.one("add_bias", [rows, _f32(bias)], rows.shape).reshape(y.shape)


def _learned_positions(runtime: AbiOperators, x: Array, weight: Array, positions: Array) -> Array:
    operands = [_f32(x), _f32(weight), positions.astype(np.uint32)]
    return runtime.one("learned_positions", operands, x.shape)


def _softmax(runtime: AbiOperators, zero: int, x: Array, visible: Array) -> Array:
    rows = _f32(x.reshape(-1, x.shape[-1]))
    shown = visible.reshape(rows.shape).astype(np.uint8)
    flag = np.asarray(zero, dtype=np.uint32)
    return runtime.one("softmax", [rows, shown, flag], rows.shape).reshape(x.shape)


def _attention(
    runtime: AbiOperators,
    zero: int,
    q: Array,
    k: Array,
    v: Array,
    visible: Array,
    scale: float,
    cap: float | None,
) -> Array:
    flag, limit = np.asarray(zero, dtype=np.uint32), _f32(0.0 if cap is None else cap)
    operands = [_f32(q), _f32(k), _f32(v), visible.astype(np.uint8), _f32(scale), limit, flag]
    return runtime.one("attention", operands, (*q.shape[:2], v.shape[2]))


def _rotate(
    runtime: AbiOperators, name: str, x: Array, positions: Array, inv_freq: Array, factor: float
) -> Array:
    operands = [_f32(x), positions.astype(np.uint32), _f32(inv_freq), _f32(factor)]
    return runtime.one(name, operands, x.shape)


def _matmul(runtime: AbiOperators, x: Array, weight: Array) -> Array:
    return runtime.one("matmul", [_f32(x), _f32(weight)], (len(x), len(weight)))


def _flat(runtime: AbiOperators, name: str, *operands: Array) -> Array:
    flat = [_f32(x).reshape(-1) for x in operands]
    return runtime.one(name, flat, flat[0].shape).reshape(operands[0].shape)


def _with_number(runtime: AbiOperators, name: str, x: Array, number: float) -> Array:
    flat = _f32(x).reshape(-1)
    return runtime.one(name, [flat, _f32(number)], flat.shape).reshape(x.shape)


def _require_format(runtime: AbiOperators, name: str) -> None:
    if name not in GROUPS:
        raise OperatorNotServedError(
            where=runtime.engine,
            engine=runtime.engine,
            kind="block format",
            name=name,
            known=", ".join(GROUPS),
        )


def _quantize(runtime: AbiOperators, x: Array, block: str) -> tuple[Array, Array]:
    _require_format(runtime, block)
    scales = np.zeros((len(x), -(-x.shape[1] // GROUPS[block])), dtype=np.float16)
    answers = [np.zeros(x.shape, dtype=np.int8), scales]
    codes, scale = runtime.call(f"quantize_{block}", [_f32(x)], answers)
    return codes, scale


def _dequantize(runtime: AbiOperators, codes: Array, scale: Array, block: str) -> Array:
    _require_format(runtime, block)
    return runtime.one(f"dequantize_{block}", [codes, scale], codes.shape)


def abi_kernels(runtime: AbiOperators, arithmetic: Arithmetic) -> Kernels:
    """The runtime's operators.

    Raises:
        OperatorNotServedError: a profile that the runtime does not compute.
    """
    if arithmetic.name not in PROFILES:
        facts = {"kind": "profile", "name": arithmetic.name, "known": ", ".join(PROFILES)}
        raise OperatorNotServedError(where=runtime.engine, engine=runtime.engine, **facts)
    zero = int(arithmetic.masked_rows == "zero")
    table: dict[str, Kernel] = {
        "rms_norm": partial(_rows, runtime),
        "softmax": partial(_softmax, runtime, zero),
        "softcap": partial(_with_number, runtime, "softcap"),
        "layer_norm": partial(_layer_norm, runtime),
        "add_bias": partial(_add_bias, runtime),
        "embedding_scale": partial(_with_number, runtime, "embedding_scale"),
        "learned_positions": partial(_learned_positions, runtime),
        "attention": partial(_attention, runtime, zero),
        "rope": partial(_rotate, runtime, "rope"),
        "rope_interleaved": partial(_rotate, runtime, "rope_interleaved"),
        "matmul": partial(_matmul, runtime),
        **{name: partial(_flat, runtime, name) for name in (*FLAT, *PAIRS)},
        "quantize": partial(_quantize, runtime),
        "dequantize": partial(_dequantize, runtime),
    }
    return Kernels(runtime.engine, table)


def native_operators() -> AbiOperators:
    """The native library, compiled where needed.

    Raises:
        InfrastructureError: no compiler, or the build failed.
    """
    from trlm_lab.backends.build_native import built, wanted_build
    from trlm_lab.backends.native import NativeHost

    return AbiOperators(NativeHost(built(wanted_build(()))), np.uintp, "native-scalar")


def wasmtime_operators() -> AbiOperators:
    """The committed WebAssembly module in wasmtime.

    Raises:
        EngineMissingError: wasmtime is not installed, or the module is not the recorded one.
    """
    from trlm_lab.backends.wasm_wasmtime import WasmtimeRunner, wasmtime_host

    return AbiOperators(wasmtime_host(), np.uint32, WasmtimeRunner().name)
