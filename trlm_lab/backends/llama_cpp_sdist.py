"""The pinned source distribution of llama-cpp-python, and llama.cpp's converter out of it.

The converter is a peer of the developers, no dependency of the library: it is taken out of the
archive into the cache as it is, and runs in a process of its own (`llama_cpp_converter`).
"""

from __future__ import annotations

import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

from trlm_lab.backends.llama_cpp import VERSION
from trlm_lab.backends.peer_steps import pip
from trlm_lab.base.home import trlm_home

REQUIREMENT = f"llama-cpp-python=={VERSION}"
#: SHA-256 of llama_cpp_python-0.3.36.tar.gz on PyPI.
SDIST_SHA256 = "832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e"
_ROOT = f"llama_cpp_python-{VERSION}/vendor/llama.cpp/"
#: What the converter is made of, below `_ROOT`, with its licence.
_PARTS = ("LICENSE", "conversion/", "gguf-py/gguf/")


def fetch_sdist(scratch: Path) -> Path:
    """Fetch the archive into `scratch`; pip checks its hash.

    Raises:
        PeerBuildError: pip failed.
    """
    pinned = scratch / "requirement.txt"
    pinned.write_text(f"{REQUIREMENT} --hash=sha256:{SDIST_SHA256}\n", encoding="utf-8")
    # pip's own cache of wheels knows no processors.
    arguments = ["download", "--no-deps", "--no-cache-dir", "--no-binary", "llama-cpp-python"]
    arguments += ["--require-hashes", "-d", str(scratch), "-r", str(pinned)]
    pip("fetching the sources of llama.cpp (77 MB)", arguments)
    return next(scratch.glob("llama_cpp_python-*.tar.gz"))


def converter_room() -> Path:
    """Where the converter lies or would lie: under a name of the archive's hash."""
    return trlm_home() / "converter" / SDIST_SHA256[:16]


def cached_converter() -> Path | None:
    """The folder with the converter's packages, or None; it gets its name when it is whole."""
    return converter_room() if converter_room().is_dir() else None


def keep_converter(sdist: Path) -> Path:
    """Take the converter out of the archive into the cache, where it is not there yet."""
    room = converter_room()
    if room.is_dir():
        return room
    room.parent.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(prefix=".tmp-", dir=room.parent) as scratch,
        tarfile.open(sdist) as archive,
    ):
        archive.extractall(scratch, list(_members(archive)), filter="data")
        (Path(scratch) / _ROOT).rename(room)
    return room


def _members(archive: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    wanted = tuple(_ROOT + part for part in _PARTS)
    return (member for member in archive if member.name.startswith(wanted))
