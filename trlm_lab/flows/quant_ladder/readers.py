"""Rust's readers of stored planes, native and WebAssembly, where they are here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from trlm_lab.backends.native import NativeRunner
from trlm_lab.backends.wasm_wasmtime import WasmtimeRunner
from trlm_lab.quant import GROUPED

if TYPE_CHECKING:
    from trlm_lab.backends.abi_operators import AbiOperators
    from trlm_lab.flows.quant_ladder.stored import Stored

Array = NDArray[Any]

#: The word of 1.0 in each encoding: with it a weight is its own code.
_ONES = {"fp16": 0x3C00, "bf16": 0x3F80, "e8m0": 127}


@dataclass(frozen=True)
class RustReader:
    """One build of the runtime, asked for single operators over stored planes."""

    name: str
    runtime: AbiOperators

    def values(self, stored: Stored, data: Array, words: Array) -> Array:
        """Its weights of stored rows, (R, C). Raises RuntimeRefusedError."""
        return self.runtime.one(
            "unpack_rows", self._planes(stored, data, words), (len(data), stored.cols)
        )

    def codes(self, stored: Stored, data: Array) -> Array:
        """Its codes of stored rows, (R, C). Raises RuntimeRefusedError."""
        shape = len(data), stored.storage.groups(stored.cols)
        ones = np.full(shape, _ONES[stored.storage.scales])
        return self.values(stored, data, ones).astype(np.int64)

    def products(self, stored: Stored, x: Array, data: Array, words: Array) -> Array:
        """Its dot products with the packed rows, (T, R). Raises RuntimeRefusedError."""
        operands = [np.asarray(x, np.float32), *self._planes(stored, data, words)]
        return self.runtime.one("matmul_rows", operands, (len(x), len(data)))

    def plain_products(self, x: Array, rows: Array) -> Array:
        """Its dot products with float32 rows, (T, R)."""
        operands = [np.asarray(x, np.float32), np.asarray(rows, np.float32)]
        return self.runtime.one("matmul", operands, (len(x), len(rows)))

    def _planes(self, stored: Stored, data: Array, words: Array) -> list[Array]:
        scales = np.frombuffer(stored.scale_bytes(words), np.uint8).reshape(len(data), -1)
        return [np.ascontiguousarray(data), scales, np.array(stored.numbers, np.uint32)]


@dataclass(frozen=True)
class Readers:
    """The builds that are here; `missing` says why the others are not."""

    rust: tuple[RustReader, ...] = ()
    missing: dict[str, str] = field(default_factory=dict)

    def of_planes(self, stored: Stored) -> tuple[RustReader, ...]:
        """Those that serve the tensor's format as an operator over planes."""
        return self.rust if stored.storage.name in GROUPED else ()


@contextmanager
def open_readers() -> Iterator[Readers]:
    """Every build of the runtime that is here, closed in the end."""
    from trlm_lab.backends.abi_operators import native_operators, wasmtime_operators

    found, missing = [], {}
    with ExitStack() as held:
        for runner, build in (
            (NativeRunner(), native_operators),
            (WasmtimeRunner(), wasmtime_operators),
        ):
            here = runner.availability()
            if here.available:
                found.append(RustReader(runner.name, held.enter_context(build())))
            else:
                missing[runner.name] = here.reason
        yield Readers(tuple(found), missing)
