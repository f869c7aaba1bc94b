"""Files that a person reviewed and a run rests on: kept in its directory under their SHA-256."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from trlm_lab.base.blobs import write_atomically
from trlm_lab.base.canon import sha256_hex
from trlm_lab.base.plain_file import read_plain
from trlm_lab.errors import NoRunError

FOLDER = "reviewed"


@dataclass(frozen=True)
class Reviewed:
    """The reviewed files that a user names; docs/acquisition.md and docs/conflicts.md have forms.

    `resolutions` settle conflicts, `licence_decision` lets a source in, `tree_profile` leaves
    files of a repository out, `secret_exceptions` say which findings of the scan are none.
    """

    resolutions: tuple[Path, ...] = ()
    licence_decision: Path | None = None
    tree_profile: Path | None = None
    secret_exceptions: Path | None = None

    def __iter__(self) -> Iterator[Path]:
        yield from self.resolutions
        for path in (self.licence_decision, self.tree_profile, self.secret_exceptions):
            if path is not None:
                yield path


NOTHING = Reviewed()


def file_id(path: Path | None) -> str:
    """The SHA-256 by which a plan names a reviewed file; empty where there is none.

    Raises:
        NotPlainFileError, OSError: no such file.
    """
    return sha256_hex(read_plain(path)) if path is not None else ""


def keep_reviewed(reviewed: Reviewed, out: Path) -> None:
    """Copy the files into a run's directory, so that it stands without the originals."""
    for path in reviewed:
        data = read_plain(path)
        write_atomically(out / FOLDER / f"{sha256_hex(data)}.json", data)


def kept_file(name: str, out: Path) -> Path | None:
    """A reviewed file of a run by its SHA-256; None where the plan names none.

    Raises:
        NoRunError: it is not there any more, or has changed.
    """
    if not name:
        return None
    path = out / FOLDER / f"{name}.json"
    if not path.is_file():
        raise NoRunError(where=str(path), detail="a reviewed file is missing")
    if sha256_hex(read_plain(path)) != name:
        raise NoRunError(where=str(path), detail="a reviewed file has changed")
    return path
