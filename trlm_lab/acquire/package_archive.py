"""Members of a package archive, opened as data: named, bounded and hashed while streaming."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from trlm_lab.acquire.package_member import CHUNK, write_member
from trlm_lab.acquire.pins import PinnedFile
from trlm_lab.acquire.progress import Progress, silent
from trlm_lab.errors import ArchiveMemberError


def extract_member(
    archive: Path, member: PinnedFile, out: Path, progress: Progress = silent
) -> None:
    """Write one pinned member of a zip archive to `out`; no other member is touched.

    Raises:
        ArchiveMemberError: no such member, another size, or a broken archive.
        SourceHashError: the bytes are not the pinned ones.
    """
    where = f"{archive.name}:{member.name}"
    write_member(_chunks(archive, member, where), member, out, where, progress)


def _chunks(archive: Path, member: PinnedFile, where: str) -> Iterator[bytes]:
    try:
        with zipfile.ZipFile(archive) as opened:
            info = opened.getinfo(member.name)
            if info.file_size != member.size:
                detail = f"{info.file_size} bytes, the pin says {member.size}"
                raise ArchiveMemberError(where=where, detail=detail)
            # A zip member never yields more than its declared size.
            with opened.open(info) as source:
                while chunk := source.read(CHUNK):
                    yield chunk
    except (KeyError, OSError, zipfile.BadZipFile, zlib.error, NotImplementedError) as error:
        raise ArchiveMemberError(where=where, detail=f"unreadable: {error}") from error
