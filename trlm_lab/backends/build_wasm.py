"""Rebuild the committed WebAssembly modules: `python -m trlm_lab.backends.build_wasm [--check]`.

With `--check` nothing is written: each module is built in a scratch directory and compared. Paths
on the compiler's command line are relative, so that every checkout gives the same bytes.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from trlm_lab.backends.runtime_source import (
    COMMON_FLAGS,
    CRATE,
    compiler_version,
    crate_version,
    sources_sha256,
)
from trlm_lab.backends.wasm_module import MODULE, SIMD_MODULE, WasmRecord, read_record
from trlm_lab.errors import CompilerMissingError, NativeBuildError, TrlmError, WasmModuleError

TARGET = "wasm32-unknown-unknown"
FLAGS = (*COMMON_FLAGS, "--target", TARGET, "-C", "linker=wasm-ld")
#: Options of each module beside those.
VARIANTS = {MODULE: (), SIMD_MODULE: ("-C", "target-feature=+simd128")}
FIX = "apt-get install --no-install-recommends rustc libstd-rust-dev-wasm32 lld"


def wasm_compiler() -> str | None:
    """A compiler with the target: `TRLM_WASM_RUSTC`, Debian's, or the one on the path."""
    candidates = (os.environ.get("TRLM_WASM_RUSTC"), "/usr/bin/rustc", shutil.which("rustc"))
    return next((c for c in candidates if c and shutil.which(c) and _has_target(c)), None)


def _has_target(compiler: str) -> bool:
    command = [compiler, "--print", "target-libdir", "--target", TARGET]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode == 0 and Path(done.stdout.strip()).is_dir()


def linker_version() -> str | None:
    """What the linker says of itself, or None where there is none."""
    linker = shutil.which("wasm-ld")
    if linker is None:
        return None
    done = subprocess.run([linker, "--version"], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def toolchain() -> tuple[str, str]:
    """Path of the compiler and version of the linker.

    Raises:
        CompilerMissingError: one of them is not here.
    """
    compiler, linker = wasm_compiler(), linker_version()
    if compiler is None or linker is None:
        missing = "wasm-ld" if compiler else f"a rustc with {TARGET}"
        raise CompilerMissingError(where=missing, command=FIX)
    return compiler, linker


def build(features: tuple[str, ...] = (), module: Path = MODULE) -> tuple[bytes, WasmRecord]:
    """Compile the present sources; the module's bytes and their record.

    `features` are those of the crate; the committed modules have none.

    Raises:
        CompilerMissingError, NativeBuildError.
    """
    compiler, linker = toolchain()
    # Before the compiler reads them: an edit meanwhile then shows as a record of other sources.
    sources = sources_sha256()
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / module.name
        chosen = [part for name in features for part in ("--cfg", f'feature="{name}"')]
        flags = (*FLAGS, *VARIANTS[module], *chosen)
        command = [compiler, *flags, "src/lib.rs", "-o", str(out)]
        done = subprocess.run(command, cwd=CRATE, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise NativeBuildError(
                where=compiler, status=done.returncode, log="\n" + done.stderr, command=FIX
            )
        data = out.read_bytes()
    record = WasmRecord(
        module=module.name,
        sha256=hashlib.sha256(data).hexdigest(),
        version=crate_version(),
        compiler=compiler_version(compiler),
        linker=linker,
        flags=flags,
        sources_sha256=sources,
    )
    return data, record


def why_not_comparable() -> str | None:
    """Why a rebuild here need not give the committed bytes; None where it must."""
    # Both modules are made together, by one compiler and one linker.
    record = read_record()
    try:
        compiler, linker = toolchain()
    except CompilerMissingError as error:
        return error.text
    for kind, here, made in (
        ("compiler", compiler_version(compiler), record.compiler),
        ("linker", linker, record.linker),
    ):
        if here != made:
            return f"the {kind} here is {here!r}, the module was made by {made!r}"
    return None


def check() -> str:
    """Rebuild and compare; a line for each module that says what was found.

    Raises:
        WasmModuleError: the rebuilt module has other bytes.
    """
    reason = why_not_comparable()
    if reason is not None:
        return f"not compared: {reason}"
    return "\n".join(_checked(module) for module in VARIANTS)


def _checked(module: Path) -> str:
    _, rebuilt = build(module=module)
    committed = read_record(module.with_suffix(".json"))
    if rebuilt != committed:
        detail = f"a rebuild hashes to {rebuilt.sha256}, the record says {committed.sha256}"
        raise WasmModuleError(where=module.name, detail=detail)
    return f"{module.name}: rebuilt to the same bytes, SHA-256 {rebuilt.sha256}"


def write() -> str:
    """Rebuild and replace the committed modules and their records."""
    return "\n".join(_written(module) for module in VARIANTS)


def _written(module: Path) -> str:
    data, record = build(module=module)
    module.parent.mkdir(parents=True, exist_ok=True)
    module.write_bytes(data)
    text = json.dumps(record.to_map(), indent=2) + "\n"
    module.with_suffix(".json").write_text(text, encoding="utf-8")
    return f"{module.name}: {len(data)} bytes, SHA-256 {record.sha256}"


def main(arguments: list[str] | None = None) -> int:
    """Returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare only, write nothing")
    chosen = parser.parse_args(arguments)
    try:
        print(check() if chosen.check else write())
    except TrlmError as error:
        print(error.text, file=sys.stderr)
        return error.exit_status
    return 0


if __name__ == "__main__":
    sys.exit(main())
