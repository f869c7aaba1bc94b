"""A snapshot copied out of the cache: whole or not at all, and the same one twice is one."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import psutil

from trlm_lab.acquire.snapshot_store import MANIFEST, verify_snapshot
from trlm_lab.base.output_file import written_below
from trlm_lab.base.records import Snapshot
from trlm_lab.errors import DirectoryDiffersError, DirectoryForeignError

_ASIDE = ".exporting-"


def require_export(out: Path) -> None:
    """`out` is new, an empty directory, or holds a snapshot; asked before a download begins.

    Raises:
        DirectoryForeignError: anything else.
    """
    if not os.path.lexists(out):
        return
    if not out.is_dir():
        raise DirectoryForeignError(where=str(out), kind="snapshot", found="no directory")
    names = sorted(path.name for path in out.iterdir())
    if names and MANIFEST not in names:
        raise DirectoryForeignError(where=str(out), kind="snapshot", found=names[0])


def export_snapshot(snapshot: Snapshot, out: Path) -> Snapshot:
    """Copy a snapshot to `out` and verify the copy; one that is there already is verified alone.

    Raises:
        DirectoryForeignError: something else is there.
        DirectoryDiffersError: another snapshot is there.
        SnapshotCorruptError: it is there, and damaged.
    """
    require_export(out)
    if (out / MANIFEST).is_file():
        held = verify_snapshot(out)
        if held.snapshot_id == snapshot.snapshot_id:
            return held
        facts = {"held": held.snapshot_id, "wanted": snapshot.snapshot_id}
        raise DirectoryDiffersError(where=str(out), part="snapshot", **facts)
    out.parent.mkdir(parents=True, exist_ok=True)
    _sweep(out.parent)
    prefix = f"{_ASIDE}{os.getpid()}-"
    with (
        written_below(out),
        tempfile.TemporaryDirectory(prefix=prefix, dir=out.parent) as aside,
    ):
        copy = Path(aside) / "copy"
        _copy(snapshot, copy)
        verify_snapshot(copy)
        copy.rename(out)
    return verify_snapshot(out)


def _copy(snapshot: Snapshot, copy: Path) -> None:
    """The listed files, up to the first that cannot be written."""
    for name in (MANIFEST, *(file.path.decode() for file in snapshot.files)):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        with (snapshot.root / name).open("rb") as source, (copy / name).open("wb") as target:
            shutil.copyfileobj(source, target, 1 << 20)


def _sweep(folder: Path) -> None:
    """Remove what killed exports left; their process numbers stand in the names."""
    for path in folder.glob(f"{_ASIDE}*"):
        owner = path.name.removeprefix(_ASIDE).partition("-")[0]
        if owner.isdigit() and not psutil.pid_exists(int(owner)):
            shutil.rmtree(path, ignore_errors=True)
