"""Identity of this package's own code, so that a changed program never reuses an old result."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent
_SUFFIXES = (".py", ".wasm", ".json", ".rs", ".toml", ".js", ".html")


def _sources_sha256(folders: tuple[Path, ...]) -> str:
    digest = hashlib.sha256()
    for folder in folders:
        for path in sorted(p for p in folder.rglob("*") if p.suffix in _SUFFIXES):
            digest.update(path.relative_to(folder).as_posix().encode() + b"\0")
            digest.update(path.read_bytes())
    return digest.hexdigest()


@cache
def package_sha256() -> str:
    """SHA-256 over every source file of the package, the crate and the browser page."""
    beside = PACKAGE.parent
    return _sources_sha256((PACKAGE, beside / "kernels_ref" / "src", beside / "browser_runner"))


@cache
def packer_sha256() -> str:
    """SHA-256 over what decides the bytes of an artifact."""
    rooms = ("base", "quant", "slm", "text", "chat", "pack")
    return _sources_sha256(tuple(PACKAGE / room for room in rooms))
