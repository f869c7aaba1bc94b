"""Identity of this package's own code, so that a changed program never reuses an old result."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent
_SUFFIXES = (".py", ".wasm", ".json", ".rs", ".toml", ".js", ".html")


@cache
def package_sha256() -> str:
    """SHA-256 over every source file of the package, the crate and the browser page."""
    digest = hashlib.sha256()
    for folder in (
        PACKAGE,
        PACKAGE.parent / "kernels_ref" / "src",
        PACKAGE.parent / "browser_runner",
    ):
        for path in sorted(p for p in folder.rglob("*") if p.suffix in _SUFFIXES):
            digest.update(path.relative_to(folder).as_posix().encode() + b"\0")
            digest.update(path.read_bytes())
    return digest.hexdigest()
