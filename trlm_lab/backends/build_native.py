"""Build the native library on first use, once for each state of the sources and each compiler.

The library (or the command `trlm-ref` of `native_command`) lies under the cache root in a directory
named by the hash of sources, options and compiler. A build happens in a scratch directory that is
then renamed, so a kill leaves nothing half done and two processes that build at once both end with
one whole file.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path

from trlm_lab.backends.runtime_source import (
    COMMON_FLAGS,
    CRATE,
    compiler_version,
    crate_version,
    sources_sha256,
)
from trlm_lab.base.home import trlm_home
from trlm_lab.errors import CompilerMissingError, NativeBuildError

FIX = "install Rust 1.63 or newer and a C linker: apt-get install rustc gcc, or https://rustup.rs"
LIBRARY = {"darwin": "libtrlm_ref.dylib", "win32": "trlm_ref.dll"}.get(
    sys.platform, "libtrlm_ref.so"
)
LOG_LINES = 15


@dataclass(frozen=True)
class NativeBuild:
    """A library or command that is wanted: which sources, which options, which compiler."""

    compiler: str
    compiler_version: str
    sources_sha256: str
    flags: tuple[str, ...]
    root: str = "src/lib.rs"
    file: str = LIBRARY

    @property
    def build_sha256(self) -> str:
        """Hash of everything that decides the file."""
        parts = (self.sources_sha256, self.compiler_version, sys.platform, *self.flags)
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    @property
    def path(self) -> Path:
        """Where the file lies or would lie."""
        return trlm_home() / "native" / self.build_sha256[:32] / self.file


def find_compiler() -> str | None:
    """`RUSTC`, or the `rustc` on the path."""
    return os.environ.get("RUSTC") or shutil.which("rustc")


def required_compiler() -> str:
    """The compiler. Raises CompilerMissingError."""
    compiler = find_compiler()
    if compiler is None or shutil.which(compiler) is None:
        raise CompilerMissingError(where=compiler or "PATH", command=FIX)
    return compiler


def wanted_build(features: tuple[str, ...] = ()) -> NativeBuild:
    """The build of the present sources with the compiler at hand.

    Raises:
        CompilerMissingError: there is no Rust compiler.
        RuntimeSourceMissingError: there is no checkout.
    """
    compiler = required_compiler()
    chosen = [part for name in features for part in ("--cfg", f'feature="{name}"')]
    version = compiler_version(compiler)
    flags = (*COMMON_FLAGS, *_registers(version), *chosen)
    return NativeBuild(compiler, version, sources_sha256(), flags)


def _registers(version: str) -> tuple[str, ...]:
    """Functions for registers of 512 bits are stable from rustc 1.89 on."""
    found = re.match(r"rustc 1\.(\d+)\.", version)
    return ("--cfg", "trlm_avx512") if found and int(found[1]) >= 89 else ()


#: Two engines of one process would compile the same library twice.
_ONE_AT_A_TIME = threading.Lock()


def built(build: NativeBuild) -> Path:
    """The file of `build`, compiled where it is not there yet.

    Raises:
        NativeBuildError: the compiler or the linker failed.
    """
    with _ONE_AT_A_TIME:
        if not build.path.is_file():
            room = build.path.parent
            room.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(prefix=".tmp-", dir=room.parent) as scratch:
                made = Path(scratch) / room.name
                made.mkdir()
                _compile(build, made / build.file)
                _publish(made, build.path)
    return build.path


def _compile(build: NativeBuild, out: Path) -> None:
    print(f"compiling the native runtime {crate_version()} (once) ...", file=sys.stderr, flush=True)
    command = [build.compiler, *build.flags, build.root, "-o", str(out)]
    done = subprocess.run(command, cwd=CRATE, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        log = "".join(f"\n  {line}" for line in done.stderr.splitlines()[-LOG_LINES:])
        raise NativeBuildError(where=build.compiler, status=done.returncode, log=log, command=FIX)


def _publish(made: Path, path: Path) -> None:
    """Give the finished directory its name; another process may have been first."""
    try:
        made.rename(path.parent)
    except OSError:
        if not path.is_file():
            raise


if __name__ == "__main__":
    print(built(wanted_build()))
