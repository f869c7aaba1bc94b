"""Files that a person reviewed and a run rests on: kept in its directory under their SHA-256."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trlm_lab.base.blobs import write_atomically
from trlm_lab.base.plain_file import read_plain
from trlm_lab.base.reviewed_file import ReviewedFile
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


NOTHING = Reviewed()


@dataclass(frozen=True)
class ReviewedFiles:
    """The same files, each as it was read."""

    resolutions: tuple[ReviewedFile, ...] = ()
    licence_decision: ReviewedFile | None = None
    tree_profile: ReviewedFile | None = None
    secret_exceptions: ReviewedFile | None = None

    def __iter__(self) -> Iterator[ReviewedFile]:
        yield from self.resolutions
        for file in (self.licence_decision, self.tree_profile, self.secret_exceptions):
            if file is not None:
                yield file

    def ids(self) -> dict[str, Any]:
        """The SHA-256 by which a plan names them; empty where there is no file."""
        single = ("licence_decision", "tree_profile", "secret_exceptions")
        files = {name: getattr(self, name) for name in single}
        ids = {name: file.sha256 if file else "" for name, file in files.items()}
        return {"resolutions": tuple(file.sha256 for file in self.resolutions), **ids}

    def keep(self, out: Path) -> None:
        """Write them into a run's directory, so that it stands without the originals."""
        for file in self:
            write_atomically(out / FOLDER / f"{file.sha256}.json", file.data)


def kept_file(name: str, out: Path) -> ReviewedFile | None:
    """A reviewed file of a run by its SHA-256; None where the plan names none.

    Raises:
        NoRunError: it is not there any more, or has changed.
    """
    if not name:
        return None
    path = out / FOLDER / f"{name}.json"
    if not path.is_file():
        raise NoRunError(where=str(path), detail="a reviewed file is missing")
    file = ReviewedFile(path, read_plain(path))
    if file.sha256 != name:
        raise NoRunError(where=str(path), detail="a reviewed file has changed")
    return file
