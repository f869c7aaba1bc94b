"""Engines that serve single operators; one visible line each."""

from __future__ import annotations

from collections.abc import Callable

from trlm_lab.errors import OperatorNotServedError
from trlm_lab.flows.engines import ENGINES
from trlm_lab.ops.arithmetic import Arithmetic
from trlm_lab.ops.kernels import Kernels, reference_kernels

#: Engines whose answers have the bits of the profile; the others are bounded.
EXACT = ("reference", "native-scalar", "wasm-scalar@wasmtime")


def _reference(arithmetic: Arithmetic) -> Kernels:
    from trlm_lab.flows.joined_operators import REFERENCE

    own = reference_kernels(arithmetic)
    return Kernels(own.engine, {**own.table, **REFERENCE})


def _native(arithmetic: Arithmetic) -> Kernels:
    from trlm_lab.backends.abi_operators import abi_kernels, native_operators

    return abi_kernels(native_operators(), arithmetic)


def _wasmtime(arithmetic: Arithmetic) -> Kernels:
    from trlm_lab.backends.abi_operators import abi_kernels, wasmtime_operators

    return abi_kernels(wasmtime_operators(), arithmetic)


def _torch(arithmetic: Arithmetic) -> Kernels:
    from trlm_lab.oracle.operators import torch_kernels

    return torch_kernels(arithmetic)


OPERATOR_ENGINES: dict[str, Callable[[Arithmetic], Kernels]] = {
    "reference": _reference,
    "native-scalar": _native,
    "wasm-scalar@wasmtime": _wasmtime,
    "torch": _torch,
}


def operator_kernels(engine: str, arithmetic: Arithmetic) -> Kernels:
    """The operators of an engine in one arithmetic.

    Raises:
        UnknownNameError: no engine has this name.
        OperatorNotServedError: the engine serves no single operators, or not in this profile.
        InfrastructureError: the engine is not here.
    """
    if engine not in OPERATOR_ENGINES:
        ENGINES[engine]
        known = "run whole models only; single operators: " + ", ".join(OPERATOR_ENGINES)
        raise OperatorNotServedError(
            where="--engine", engine=engine, kind="operators at all,", name="op", known=known
        )
    return OPERATOR_ENGINES[engine](arithmetic)
