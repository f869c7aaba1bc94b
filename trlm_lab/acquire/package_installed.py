"""Members of a pinned package that is installed here: read as files, never imported.

Of what an installer records, the name of the folder `NAME-VERSION.dist-info` is looked at and
nothing in it: metadata say nothing about the bytes, which are hashed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from importlib.metadata import distributions
from pathlib import Path

from trlm_lab.acquire.package_member import CHUNK, write_member
from trlm_lab.acquire.pins import PinnedArchive, PinnedFile
from trlm_lab.acquire.progress import Progress, silent
from trlm_lab.base.plain_file import open_plain
from trlm_lab.errors import InstalledMemberError, NotPlainFileError, PackageNotInstalledError


def copy_installed(
    pin: PinnedArchive, member: PinnedFile, out: Path, progress: Progress = silent
) -> None:
    """Write one pinned member of the installed package to `out`.

    Raises:
        PackageNotInstalledError: the package is not installed, or in another version.
        InstalledMemberError: no such regular file, or one of another size.
        SourceHashError: the bytes are not the pinned ones.
    """
    path = _site(pin) / member.name
    write_member(_chunks(pin, member, path), member, out, str(path), progress)


def _chunks(pin: PinnedArchive, member: PinnedFile, path: Path) -> Iterator[bytes]:
    def refused(detail: str) -> InstalledMemberError:
        facts = {"package": pin.package, "version": pin.version}
        return InstalledMemberError(where=str(path), detail=detail, **facts)

    try:
        with open_plain(path) as opened:
            size = os.fstat(opened.fileno()).st_size
            if size != member.size:
                raise refused(f"it has {size} bytes, the pin says {member.size}")
            left = size
            while chunk := opened.read(min(CHUNK, left)):
                left -= len(chunk)
                yield chunk
    except NotPlainFileError as error:
        raise refused(error.detail) from error
    except OSError as error:
        raise refused(f"it cannot be read: {error.strerror}") from error


def _site(pin: PinnedArchive) -> Path:
    """The folder that this version of the package is installed in; the first on the search path."""
    stem = re.sub(r"[-_.]+", "_", pin.package).lower()
    sites = [Path(str(found.locate_file(""))) for found in distributions(name=pin.package)]
    for site in sites:
        if (site / f"{stem}-{pin.version}.dist-info").is_dir():
            return site
    others = sorted({p.name for site in sites for p in site.glob(f"{stem}-*.dist-info")})
    detail = "it is not installed here"
    if sites:
        detail = f"another version is installed ({', '.join(others) or 'without a dist-info'})"
    raise PackageNotInstalledError(package=pin.package, version=pin.version, detail=detail)
