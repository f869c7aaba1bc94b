"""The WebAssembly engine in wasmtime: the committed module, the `.slm` copied once into its memory.

Relaxed SIMD is off, so no instruction has two allowed results but for the bits of a NaN, and the
runtime itself gives every NaN in a checkpoint one spelling. Wasmtime's own canonicalisation would
do that after each addition and multiplication, at more than three times the running time.
"""

from __future__ import annotations

import ctypes
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trlm_lab.backends.abi_host import ABI_VERSION, SIGNATURES, last_error, memory_view
from trlm_lab.backends.abi_session import AbiSession
from trlm_lab.backends.runtime_source import FORMS, PROFILE
from trlm_lab.backends.self_hash import admit
from trlm_lab.backends.wasm_module import MODULES, WasmRecord, read_module
from trlm_lab.base.interfaces import Subject
from trlm_lab.base.plain_file import require_plain
from trlm_lab.base.records import Availability, EngineIdentity
from trlm_lab.errors import (
    EngineMissingError,
    ModelFilesError,
    RuntimeMemoryError,
    RuntimeTrapError,
    SubjectMissingError,
    TrlmError,
    WasmModuleError,
)

FIX = "pip install 'trlm-lab[browser]'"
CHUNK = 1 << 22
U32 = 0xFFFFFFFF


class WasmtimeHost:
    """An instance of the module in an engine of its own."""

    def __init__(self, module: bytes) -> None:
        import wasmtime

        config = wasmtime.Config()
        config.wasm_relaxed_simd = False
        config.wasm_threads = False
        self._store: Any = wasmtime.Store(wasmtime.Engine(config))
        compiled = wasmtime.Module(self._store.engine, module)
        exports = wasmtime.Instance(self._store, compiled, []).exports(self._store)
        self._functions = {name: exports[name] for name in SIGNATURES}
        self._memory = exports["memory"]
        self._trap = (wasmtime.Trap, wasmtime.WasmtimeError)

    def call(self, name: str, *arguments: int) -> int:
        """Call an export; results come back unsigned."""
        try:
            result = self._functions[name](self._store, *arguments)
        except self._trap as error:
            reason = str(error).splitlines()[-1].strip()
            raise RuntimeTrapError(where=name, detail=reason) from error
        return 0 if result is None else int(result) & U32

    def bytes_at(self, address: int, length: int) -> NDArray[np.uint8]:
        """A view of the instance's memory."""
        base = ctypes.addressof(self._memory.data_ptr(self._store).contents)
        return memory_view(base + address, length)

    def copy(self, path: Path) -> tuple[int, int]:
        """Read a file straight into the instance's memory; address and length.

        Raises:
            ModelFilesError: the file cannot be read, or changed its length meanwhile.
            RuntimeMemoryError: 32-bit memory has no room for it.
        """
        try:
            size = require_plain(path).st_size
            address = self.call("trlm_alloc", size) if size < U32 else 0
            if address == 0:
                raise RuntimeMemoryError(where=path.name, detail=f"{size} bytes")
            with path.open("rb", buffering=0) as stream:
                self._fill(stream, address, size, path)
        except OSError as error:
            raise ModelFilesError(where=str(path), detail=f"cannot be read: {error}") from error
        return address, size

    def _fill(self, stream: Any, address: int, size: int, path: Path) -> None:
        memory, at = self.bytes_at(address, size).data, 0
        while at < size:
            got = stream.readinto(memory[at : at + CHUNK])
            if not got:
                raise ModelFilesError(where=str(path), detail=f"ends at byte {at} of {size}")
            at += got

    def close(self) -> None:
        """Drop the instance; its memory goes with it."""
        self._functions = {}
        self._memory = None
        self._store = None


class WasmtimeRunner:
    """The `Runner` named `wasm-scalar@wasmtime`, or `wasm-simd@wasmtime` of `lanes16-f32-v1`.

    `module` replaces the committed one of the profile.
    """

    def __init__(self, profile: str = PROFILE, *, module: Path | None = None) -> None:
        self.profile = profile
        self.name = f"wasm-{FORMS[profile]}@wasmtime"
        self.module = module or MODULES[profile]

    def availability(self) -> Availability:
        """Whether wasmtime is installed and the module is the recorded one."""
        try:
            engine = version("wasmtime")
            _, record = read_module(self.module)
        except PackageNotFoundError:
            return Availability(False, reason="wasmtime is not installed", fix=FIX)
        except WasmModuleError as error:
            return Availability(False, reason=error.detail, fix=error.remedy)
        return Availability(True, engine, (self.profile, f"module by {record.compiler}"))

    def open(self, subject: Subject) -> AbiSession:
        """Check the self hash, instantiate the module and open the artifact in its memory.

        Raises:
            SubjectMissingError: the subject has no artifact.
            InfrastructureError: wasmtime is missing, the module is damaged, memory is short.
            Refused: the artifact is unsound, or holds a model that the runtime does not compute.
        """
        if subject.artifact is None:
            raise SubjectMissingError(where=self.name)
        here = self.availability()
        if not here.available:
            raise EngineMissingError(where=self.name, reason=here.reason, remedy=here.fix)
        data, record = read_module(self.module)
        host = WasmtimeHost(data)
        if host.call("trlm_abi_version") != ABI_VERSION:
            detail = f"its ABI is {host.call('trlm_abi_version')}, not {ABI_VERSION}"
            raise WasmModuleError(where=self.module.name, detail=detail)
        admit(subject.artifact)
        model = host.call("trlm_model_load", *host.copy(subject.artifact))
        if model == 0:
            raise _closing(host, last_error(host))
        return AbiSession(host, model, self._identity(record, here.version))

    def _identity(self, record: WasmRecord, engine: str) -> EngineIdentity:
        return EngineIdentity(
            name=self.name,
            version=record.version,
            profile=self.profile,
            build_sha256=record.sha256,
            details={
                "wasmtime": engine,
                "compiler": record.compiler,
                "sources_sha256": record.sources_sha256,
            },
        )


def wasmtime_host() -> WasmtimeHost:
    """The committed module in wasmtime, without a model.

    Raises:
        EngineMissingError: wasmtime is not installed, or the module is not the recorded one.
    """
    runner = WasmtimeRunner()
    here = runner.availability()
    if not here.available:
        raise EngineMissingError(where=runner.name, reason=here.reason, remedy=here.fix)
    return WasmtimeHost(read_module()[0])


def _closing(host: WasmtimeHost, error: TrlmError) -> TrlmError:
    host.close()
    return error
