"""The native engine: the Rust runtime as a shared library, over the mapped `.slm`.

The library is compiled on first use (`build_native`). Weights are read where the file is mapped, so
the process holds no second copy of them.
"""

from __future__ import annotations

import ctypes
import mmap
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trlm_lab.backends.abi_host import ABI_VERSION, SIGNATURES, last_error, memory_view
from trlm_lab.backends.abi_session import AbiSession
from trlm_lab.backends.build_native import FIX, NativeBuild, built, wanted_build
from trlm_lab.backends.runtime_source import FORMS, LANES_PROFILE, PROFILE, crate_version
from trlm_lab.backends.self_hash import admit
from trlm_lab.base.interfaces import Subject
from trlm_lab.base.plain_file import open_plain
from trlm_lab.base.records import Availability, EngineIdentity
from trlm_lab.errors import (
    InfrastructureError,
    ModelFilesError,
    NativeBuildError,
    SubjectMissingError,
)

_TYPES = {
    "p": ctypes.c_void_p,
    "z": ctypes.c_size_t,
    "u": ctypes.c_uint32,
    "i": ctypes.c_uint32,
    " ": None,
}


class NativeHost:
    """The loaded library; `file` is kept mapped while the model looks at it."""

    def __init__(self, library: Path) -> None:
        try:
            self._library = ctypes.CDLL(str(library))
            self._functions = {name: self._function(name) for name in SIGNATURES}
        except (OSError, AttributeError) as error:
            raise NativeBuildError(
                where=str(library), status="none", log=f" {error}", command=FIX
            ) from error
        self._mapped: mmap.mmap | None = None
        self._view: NDArray[np.uint8] | None = None

    def _function(self, name: str) -> ctypes._NamedFuncPointer:
        kinds = [_TYPES[kind] for kind in list(SIGNATURES[name])]
        function = getattr(self._library, name)
        function.restype, function.argtypes = kinds[0], kinds[1:]
        return function  # type: ignore[no-any-return]

    def call(self, name: str, *arguments: int) -> int:
        """Call an export; a null pointer comes back as 0."""
        return self._functions[name](*arguments) or 0

    def bytes_at(self, address: int, length: int) -> NDArray[np.uint8]:
        """A view of this process's memory."""
        return memory_view(address, length)

    def map(self, path: Path) -> tuple[int, int]:
        """Map a file; its address and length.

        Raises:
            ModelFilesError: the file is empty or cannot be read.
        """
        try:
            with open_plain(path) as stream:
                self._mapped = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as error:
            raise ModelFilesError(where=str(path), detail=f"cannot be mapped: {error}") from error
        self._view = np.frombuffer(self._mapped, dtype=np.uint8)
        return int(self._view.ctypes.data), len(self._view)

    def close(self) -> None:
        """Unmap the file."""
        self._view = None
        if self._mapped is not None:
            self._mapped.close()
            self._mapped = None


class NativeRunner:
    """The `Runner` named `native-scalar`, or `native-simd` of the profile `lanes16-f32-v1`.

    `features` are those of the crate; `exp_ulp_off` is the deliberately wrong build of the tests,
    and the engine's name then says so.
    """

    def __init__(self, profile: str = PROFILE, *, features: tuple[str, ...] = ()) -> None:
        self.profile = profile
        self.features = features
        self.name = "+".join((f"native-{FORMS[profile]}", *features))

    def availability(self) -> Availability:
        """Whether a compiler (and with it the library) is at hand; compiles nothing."""
        try:
            build = wanted_build(self.features)
        except InfrastructureError as error:
            return Availability(False, reason=f"{error.detail} ({error.where})", fix=FIX)
        # What is built already does not enter: a run must look the same before and after.
        return Availability(True, crate_version(), (self.profile, build.compiler_version))

    def open(self, subject: Subject) -> AbiSession:
        """Check the self hash, compile where needed, and open the artifact in place.

        Raises:
            SubjectMissingError: the subject has no artifact.
            InfrastructureError: no compiler, or the build failed.
            Refused: the artifact is unsound, or holds a model that the runtime does not compute.
        """
        if subject.artifact is None:
            raise SubjectMissingError(where=self.name)
        build = wanted_build(self.features)
        host = NativeHost(built(build))
        _check_version(host)
        admit(subject.artifact)
        address, length = host.map(subject.artifact)
        model = host.call("trlm_model_load", address, length)
        if model == 0:
            error = last_error(host)
            host.close()
            raise error
        return AbiSession(host, model, self._identity(build, host))

    def _identity(self, build: NativeBuild, host: NativeHost) -> EngineIdentity:
        lanes = {"register_lanes": host.call("trlm_register_lanes")}
        return EngineIdentity(
            name=self.name,
            version=crate_version(),
            profile=self.profile,
            build_sha256=build.build_sha256,
            details={
                "compiler": build.compiler_version,
                "sources_sha256": build.sources_sha256,
                "flags": list(build.flags),
                "platform": sys.platform,
                **(lanes if self.profile == LANES_PROFILE else {}),
            },
        )


def _check_version(host: NativeHost) -> None:
    version = host.call("trlm_abi_version")
    if version != ABI_VERSION:
        log = f" the library has ABI {version}, this package needs {ABI_VERSION}"
        raise NativeBuildError(where="trlm_abi_version", status="none", log=log, command=FIX)
