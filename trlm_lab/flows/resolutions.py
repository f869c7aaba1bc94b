"""Resolution files of a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from trlm_lab.describe import Resolution, load_resolution
from trlm_lab.flows.reviewed_files import kept_file


def load_resolutions(paths: Sequence[Path] | None) -> tuple[Resolution, ...]:
    """The resolution files that a user names. Raises as `load_resolution`."""
    return tuple(map(load_resolution, paths or ()))


def kept_resolutions(names: Sequence[str], out: Path) -> tuple[Resolution, ...]:
    """The resolutions of a run by their SHA-256. Raises NoRunError as `kept_file`."""
    paths = [kept_file(name, out) for name in names]
    return tuple(load_resolution(path) for path in paths if path is not None)
