"""Errors of the Rust runtime, native and in WebAssembly."""

from __future__ import annotations

from trlm_lab.errors.root import InfrastructureError, Refused, UsageError


class RuntimeSourceMissingError(InfrastructureError):
    """The runtime's sources are not here, so nothing can be compiled."""

    code = "RUNTIME_SOURCE_MISSING"
    rule = "there are no Rust sources"
    fix = "work in a checkout of the repository; the package alone has no sources"


class CompilerMissingError(InfrastructureError):
    """A compiler or linker that is not here."""

    code = "COMPILER_MISSING"
    rule = "the compiler or linker is not here"
    fix = "{command}"


class NativeBuildError(InfrastructureError):
    """A compilation of the runtime that failed."""

    code = "RUNTIME_BUILD"
    lines = True
    rule = "the compiler ended with status {status}:{log}"
    fix = "{command}"


class PackerDisagreesError(InfrastructureError):
    """A native packer that refuses rows which the reference packs."""

    code = "PACKER_DISAGREES"
    rule = "the native library refuses rows that the reference packs: {detail}"
    fix = "report it with the tensor; RUSTC=/nonexistent packs by the reference alone"


class WasmModuleError(InfrastructureError):
    """A WebAssembly module that is missing or not the recorded one."""

    code = "WASM_MODULE"
    rule = "{detail}"
    fix = "restore the committed file, or python -m trlm_lab.backends.build_wasm"


class RuntimeRefusedError(Refused):
    """An artifact or a case that the runtime refuses; named as in docs/abi.md."""

    code = "RUNTIME_REFUSED"
    rule = "the runtime refuses with {error_name} ({number}): {detail}"
    fix = "look the name up in docs/abi.md; pack the model again, or change the case"


class RuntimeMemoryError(InfrastructureError):
    """Memory that the runtime could not get."""

    code = "RUNTIME_MEMORY"
    rule = "the runtime is short of memory: {detail}"
    fix = "use a shorter case, a quantized artifact, or a machine with more memory"


class RuntimeTrapError(InfrastructureError):
    """A call that ended in a trap, which the runtime promises not to do."""

    code = "RUNTIME_TRAP"
    rule = "the WebAssembly engine stopped the runtime: {detail}"
    fix = "report the artifact and the case; free memory if the machine was short of it"


class SessionBusyError(UsageError):
    """Two runs of one session whose steps interleave."""

    code = "SESSION_BUSY"
    rule = "another run was started on this session before this one had ended"
    fix = "finish a run before the next, or open a second session"
