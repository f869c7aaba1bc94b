"""Members of a package archive, opened as data: named, bounded and hashed while streaming."""

from __future__ import annotations

import hashlib
import zipfile
import zlib
from pathlib import Path

from trlm_lab.acquire.pins import PinnedFile
from trlm_lab.acquire.progress import Progress, silent
from trlm_lab.errors import ArchiveMemberError, SourceHashError

_CHUNK = 1 << 20


def extract_member(
    archive: Path, member: PinnedFile, out: Path, progress: Progress = silent
) -> None:
    """Write one pinned member of a zip archive to `out`; no other member is touched.

    Raises:
        ArchiveMemberError: no such member, another size, or a broken archive.
        SourceHashError: the bytes are not the pinned ones.
    """
    where = f"{archive.name}:{member.name}"
    try:
        with zipfile.ZipFile(archive) as opened:
            info = opened.getinfo(member.name)
            if info.file_size != member.size:
                detail = f"{info.file_size} bytes, the pin says {member.size}"
                raise ArchiveMemberError(where=where, detail=detail)
            got = _stream(opened, info, member, out, progress)
    except (KeyError, OSError, zipfile.BadZipFile, zlib.error, NotImplementedError) as error:
        raise ArchiveMemberError(where=where, detail=f"unreadable: {error}") from error
    if got != member.sha256:
        out.unlink()
        raise SourceHashError(where=where, got=got, expected=member.sha256)


def _stream(
    opened: zipfile.ZipFile,
    info: zipfile.ZipInfo,
    member: PinnedFile,
    out: Path,
    progress: Progress,
) -> str:
    digest, done = hashlib.sha256(), 0
    with opened.open(info) as source, out.open("wb") as target:
        # A zip member never yields more than its declared size, which was compared with the pin.
        while chunk := source.read(_CHUNK):
            target.write(chunk)
            digest.update(chunk)
            done += len(chunk)
            progress(f"unpack {member.name.rsplit('/', 1)[-1]}", done, member.size)
    return digest.hexdigest()
