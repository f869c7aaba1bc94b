"""The crate's own command `trlm-ref`: built as the library is, run as a program of its own.

It reads golden containers without Python. Its sources and the library's are hashed apart, so that
neither rebuilds the other.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

from trlm_lab.backends.build_native import NativeBuild, built, required_compiler
from trlm_lab.backends.runtime_source import command_sha256, compiler_version
from trlm_lab.errors import NativeCommandError

COMMAND: Final = "trlm-ref.exe" if sys.platform == "win32" else "trlm-ref"
FLAGS: Final = (
    "--edition", "2021", "--crate-name", "trlm_ref_command", "--crate-type", "bin",
    "-C", "opt-level=3", "-C", "panic=abort", "-C", "codegen-units=1", "-C", "lto=fat",
    "-C", "strip=symbols",
)  # fmt: skip
#: Hashing the largest container on a slow disk takes minutes, never an hour.
LIMIT_S: Final = 3600.0
ACCEPTED, REFUSED = 0, 3


def wanted_command() -> NativeBuild:
    """The command of the present sources with the compiler at hand.

    Raises:
        CompilerMissingError: there is no Rust compiler.
        RuntimeSourceMissingError: there is no checkout.
    """
    compiler = required_compiler()
    version, sources = compiler_version(compiler), command_sha256()
    return NativeBuild(compiler, version, sources, FLAGS, "src/bin/trlm-ref.rs", COMMAND)


def golden_verify(directory: Path) -> dict[str, Any]:
    """`{"verdict", "observations", "findings"}` of the Rust reader.

    Raises:
        NativeCommandError: the command did not answer.
        InfrastructureError: it cannot be built.
    """
    done = _run("verify", directory)
    try:
        document: dict[str, Any] = json.loads(done.stdout)
    except ValueError as error:
        raise _no_answer(done) from error
    return document


def golden_reserialize(directory: Path) -> bytes:
    """The document of a case, decoded and encoded again by the Rust reader.

    Raises:
        NativeCommandError: it refuses the document, or did not answer.
    """
    done = _run("reserialize", directory)
    if done.returncode != ACCEPTED:
        raise _no_answer(done)
    return done.stdout


def _run(action: str, directory: Path) -> subprocess.CompletedProcess[bytes]:
    command = [str(built(wanted_command())), "golden", action, str(directory)]
    try:
        done = subprocess.run(command, capture_output=True, check=False, timeout=LIMIT_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NativeCommandError(where=command[0], detail=f"did not run: {error}") from error
    if done.returncode not in (ACCEPTED, REFUSED):
        raise _no_answer(done)
    return done


def _no_answer(done: subprocess.CompletedProcess[bytes]) -> NativeCommandError:
    words = done.stderr.decode(errors="replace").strip() or "nothing"
    detail = f"ended with status {done.returncode} and said {words}"
    return NativeCommandError(where=COMMAND, detail=detail)


if __name__ == "__main__":
    print(built(wanted_command()))
