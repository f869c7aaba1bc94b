"""The runtime's Rust sources: their place, their hash, and the compiler's options."""

from __future__ import annotations

import hashlib
import re
import subprocess
from functools import cache
from pathlib import Path

from trlm_lab.errors import CompilerMissingError, RuntimeSourceMissingError

#: The crate lies beside the package in a checkout; an installed wheel has none.
CRATE = Path(__file__).resolve().parents[2] / "kernels_ref"
CRATE_NAME = "trlm_ref"
#: Evaluation profiles of the runtime, and its number for the order of additions of each.
PROFILE, LANES_PROFILE = "scalar-f32-v1", "lanes16-f32-v1"
ORDERS = {PROFILE: 0, LANES_PROFILE: 1}
#: How an engine of the runtime is named after its profile.
FORMS = {PROFILE: "scalar", LANES_PROFILE: "simd"}

#: Options of every build. No option lets the compiler reorder or fuse floating-point operations.
COMMON_FLAGS = (
    "--edition", "2021", "--crate-name", CRATE_NAME, "--crate-type", "cdylib",
    "-C", "opt-level=3", "-C", "panic=abort", "-C", "codegen-units=1", "-C", "lto=fat",
    "-C", "strip=symbols",
)  # fmt: skip


#: Sources of the crate's command alone; the library does not know them, nor they the library.
_COMMAND_PARTS = ("bin", "golden", "golden.rs")
#: What the command takes from the library.
_SHARED_PARTS = ("sha256.rs",)


def _all_files(crate: Path) -> list[Path]:
    files = sorted((crate / "src").rglob("*.rs"))
    if not files:
        raise RuntimeSourceMissingError(where=str(crate / "src"))
    return files


def _part(path: Path, crate: Path) -> str:
    return path.relative_to(crate / "src").parts[0]


def source_files(crate: Path = CRATE) -> list[Path]:
    """Every file of the library that the compiler reads, sorted.

    Raises:
        RuntimeSourceMissingError: there is no checkout.
    """
    return [path for path in _all_files(crate) if _part(path, crate) not in _COMMAND_PARTS]


def command_files(crate: Path = CRATE) -> list[Path]:
    """Every file of the command `trlm-ref` that the compiler reads, sorted.

    Raises:
        RuntimeSourceMissingError: there is no checkout.
    """
    parts = (*_COMMAND_PARTS, *_SHARED_PARTS)
    return [path for path in _all_files(crate) if _part(path, crate) in parts]


def sources_sha256(crate: Path = CRATE) -> str:
    """One hash over the names and bytes of the library's source files."""
    return _files_sha256(crate, source_files(crate))


def command_sha256(crate: Path = CRATE) -> str:
    """One hash over the names and bytes of the command's source files."""
    return _files_sha256(crate, command_files(crate))


def _files_sha256(crate: Path, files: list[Path]) -> str:
    digest = hashlib.sha256()
    for path in files:
        name = path.relative_to(crate).as_posix().encode()
        digest.update(name + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def crate_version(crate: Path = CRATE) -> str:
    """The version in Cargo.toml; empty where there is no checkout."""
    manifest = crate / "Cargo.toml"
    if not manifest.is_file():
        return ""
    match = re.search(r'^version = "([^"]+)"', manifest.read_text(encoding="utf-8"), re.MULTILINE)
    return match[1] if match else ""


@cache
def compiler_version(compiler: str) -> str:
    """What `COMPILER -V` prints.

    Raises:
        CompilerMissingError: it is there and does not run, as a shim without a toolchain.
    """
    try:
        done = subprocess.run([compiler, "-V"], check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError) as error:
        command = f"`{compiler} -V` must work; https://rustup.rs brings a toolchain"
        raise CompilerMissingError(where=compiler, command=command) from error
    return done.stdout.strip()
