"""Snapshots on disk: built aside under a lock, published by one rename, verified on every use.

A snapshot directory holds its files and `manifest.cbor`, which lists them with their hashes and
seals itself. A killed run leaves at most a directory named `.building-*`, which the next builder of
the same snapshot removes; a published directory is always whole.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from trlm_lab.acquire.hub_endpoint import endpoint_identity
from trlm_lab.acquire.progress import Progress, silent
from trlm_lab.base import canon
from trlm_lab.base.blobs import file_sha256, write_atomically
from trlm_lab.base.file_lock import locked
from trlm_lab.base.home import trlm_home
from trlm_lab.base.output_file import written_below
from trlm_lab.base.records import Pin, Snapshot, SourceFile
from trlm_lab.errors import (
    NotAcquiredError,
    NotCanonicalError,
    RecordError,
    SnapshotCorruptError,
    SnapshotMissingError,
)

MANIFEST = "manifest.cbor"
PROVENANCE = "provenance.cbor"
_SCHEMA = "trlm.snapshot.v1"


def snapshots_root() -> Path:
    """Where converted snapshots are cached."""
    return trlm_home() / "snapshots"


def snapshot_key(kind: str, version: int, parts: Any) -> str:
    """The name of a snapshot in the cache: kind of source, version of its converter, its parts."""
    return canon.content_id({"kind": kind, "version": version, "source": parts})


def cached_snapshot(
    key: str, pin: Pin, build: Callable[[Path], dict[str, Any]], progress: Progress = silent
) -> Snapshot:
    """The verified snapshot under `key`; `build` fills an empty directory where there is none.

    `build` returns the provenance. Nothing is published when it raises.

    Raises:
        SnapshotCorruptError: the cached files are not those of the manifest.
    """
    root = snapshots_root() / key
    if not root.exists():
        with locked(root.with_name(f".lock-{key}")):
            if not root.exists():
                _build(root, pin, build)
    return verify_snapshot(root, progress)


def _build(root: Path, pin: Pin, build: Callable[[Path], dict[str, Any]]) -> None:
    aside = root.with_name(f".building-{root.name}")
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir(parents=True)
    try:
        with written_below(root.parent):
            provenance = build(aside)
            seal_snapshot(aside, pin, provenance)
            aside.rename(root)
    except BaseException:
        shutil.rmtree(aside, ignore_errors=True)
        raise


def seal_snapshot(root: Path, pin: Pin, provenance: dict[str, Any]) -> None:
    """Write `provenance.cbor` and `manifest.cbor` over the files that lie in `root`."""
    write_atomically(root / PROVENANCE, canon.encode(provenance))
    files = [[f.path, f.size, f.sha256] for f in _listed(root)]
    body = {
        "schema": _SCHEMA,
        "pin": {
            "scheme": pin.scheme,
            "locator": pin.locator,
            "expected_sha256": pin.expected_sha256,
        },
        "files": files,
    }
    data = canon.encode({**body, "seal": canon.content_id(body)})
    write_atomically(root / MANIFEST, data)


def _names(root: Path) -> list[str]:
    found = (p for p in root.rglob("*") if p.is_symlink() or not p.is_dir())
    return sorted(p.relative_to(root).as_posix() for p in found if p != root / MANIFEST)


def _listed(root: Path) -> list[SourceFile]:
    return [
        SourceFile(name.encode(), (root / name).stat().st_size, file_sha256(root / name))
        for name in _names(root)
    ]


def verify_snapshot(root: Path, progress: Progress = silent) -> Snapshot:
    """Re-hash every file of a snapshot directory, streaming, and return its record.

    Raises:
        SnapshotMissingError: no manifest there.
        SnapshotCorruptError: a file is missing, added or changed, or the manifest is.
    """
    if not (root / MANIFEST).is_file():
        raise SnapshotMissingError(where=str(root))
    pin, files = _read_manifest(root)
    _require_same_names(root, files)
    total, done = sum(f.size for f in files), 0
    for file in files:
        progress("verify snapshot", done, total)
        _require_file(root, file)
        done += file.size
    progress("verify snapshot", total, total)
    provenance = canon.decode((root / PROVENANCE).read_bytes(), where=PROVENANCE)
    return Snapshot(pin, root, files, provenance)


def newest_snapshot(pin: Pin) -> Snapshot:
    """The snapshot of a pin that was made last, every hash checked.

    Of a Hub's repository it is one that came from the server which is named now.

    Raises:
        NotAcquiredError: none is in the cache.
        SnapshotCorruptError: its files are not those of the manifest.
    """
    found = [
        manifest.parent
        for manifest in snapshots_root().glob(f"[!.]*/{MANIFEST}")
        if _read_manifest(manifest.parent)[0].spelled == pin.spelled
        and (pin.scheme != "hf" or _server(manifest.parent) == endpoint_identity())
    ]
    if not found:
        raise NotAcquiredError(where=str(snapshots_root()), pin=pin.spelled)
    return verify_snapshot(max(found, key=lambda root: root.stat().st_mtime_ns))


def _server(root: Path) -> str:
    """The server that a snapshot of a Hub's repository came from."""
    path = root / PROVENANCE
    try:
        record: Any = canon.decode(path.read_bytes(), where=PROVENANCE)
        return str(record["hub"].get("endpoint", ""))
    except (OSError, NotCanonicalError, KeyError, TypeError, AttributeError) as error:
        raise SnapshotCorruptError(where=str(path), detail="no provenance of a Hub") from error


def _read_manifest(root: Path) -> tuple[Pin, tuple[SourceFile, ...]]:
    where = str(root / MANIFEST)
    try:
        row = canon.decode((root / MANIFEST).read_bytes(), where=where)
        seal = row.pop("seal")
        pin, files = Pin(**row["pin"]), tuple(SourceFile(*file) for file in row["files"])
        sound = seal == canon.content_id(row) and row["schema"] == _SCHEMA
    except (NotCanonicalError, RecordError, KeyError, TypeError, AttributeError) as error:
        raise SnapshotCorruptError(where=where, detail=f"no manifest: {error}") from error
    if not sound or PROVENANCE.encode() not in {file.path for file in files}:
        raise SnapshotCorruptError(where=where, detail="the manifest does not match its seal")
    return pin, files


def _require_same_names(root: Path, files: tuple[SourceFile, ...]) -> None:
    wanted, got = {f.path for f in files}, {n.encode() for n in _names(root)}
    for problem, names in (("is missing", wanted - got), ("is not listed", got - wanted)):
        if names:
            name = min(names).decode("utf-8", "backslashreplace")
            raise SnapshotCorruptError(where=f"{root}/{name}", detail=f"the file {problem}")


def _require_file(root: Path, file: SourceFile) -> None:
    path = root / file.path.decode()
    if path.is_symlink() or not path.is_file():
        raise SnapshotCorruptError(where=str(path), detail="this is no plain file")
    size = path.stat().st_size
    if size != file.size:
        detail = f"{size} bytes, the manifest says {file.size}"
        raise SnapshotCorruptError(where=str(path), detail=detail)
    got = file_sha256(path)
    if got != file.sha256:
        detail = f"its SHA-256 is {got}, the manifest says {file.sha256}"
        raise SnapshotCorruptError(where=str(path), detail=detail)
