"""Resolution files of a run: copied into its directory, so that it stands without the originals."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from trlm_lab.base.blobs import write_atomically
from trlm_lab.base.plain_file import read_plain
from trlm_lab.describe import Resolution, load_resolution
from trlm_lab.errors import NoRunError

FOLDER = "resolutions"


def load_resolutions(paths: Sequence[Path] | None) -> tuple[Resolution, ...]:
    """The resolution files that a user names. Raises as `load_resolution`."""
    return tuple(map(load_resolution, paths or ()))


def keep_resolutions(paths: Sequence[Path], out: Path) -> None:
    """Copy sound files into a run's directory, each under its SHA-256."""
    for path in paths:
        name = f"{load_resolution(path).file_sha256}.json"
        write_atomically(out / FOLDER / name, read_plain(path))


def kept_resolutions(names: Sequence[str], out: Path) -> tuple[Resolution, ...]:
    """The resolutions of a run by their SHA-256.

    Raises:
        NoRunError: a file is not there any more, or has changed.
    """
    found = []
    for name in names:
        path = out / FOLDER / f"{name}.json"
        if not path.is_file():
            raise NoRunError(where=str(path), detail="the resolution is missing")
        found.append(load_resolution(path))
        if found[-1].file_sha256 != name:
            raise NoRunError(where=str(path), detail="the resolution has changed")
    return tuple(found)
