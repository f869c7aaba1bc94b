"""Pinned packages as data: one JSON file a package, with sizes and hashes of what is used."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from typing import Any

from trlm_lab.base import strict_json
from trlm_lab.base.records.checks import require, require_sha256
from trlm_lab.errors import PinUnknownError


@dataclass(frozen=True)
class PinnedFile:
    """One file: its name (of the archive, or inside it), size in bytes and SHA-256."""

    name: str
    size: int
    sha256: str

    def __post_init__(self) -> None:
        require(bool(self.name) and self.size > 0, "pin", f"{self.name!r} has no size")
        require_sha256(self.sha256, f"pin of {self.name}")

    def to_map(self) -> dict[str, Any]:
        """Canonical map."""
        return {"name": self.name, "size": self.size, "sha256": self.sha256}


@dataclass(frozen=True)
class PinnedArchive:
    """The archive of one released package."""

    package: str
    version: str
    file: PinnedFile


@dataclass(frozen=True)
class PinnedPart:
    """A member of a package's archive that holds a piece of a longer file."""

    package: str
    file: PinnedFile


@dataclass(frozen=True)
class PackagePin:
    """A released package that carries a model: the archive, and the members that are read.

    Some indexes take no large archive, so a model may lie in pieces in packages beside the first:
    `gguf_parts` names them in order, and `companions` their archives. Then `gguf` is the whole.
    """

    package: str
    version: str
    archive: PinnedFile
    gguf: PinnedFile
    licence_text: PinnedFile
    licence: dict[str, str]
    gguf_parts: tuple[PinnedPart, ...] = ()
    companions: tuple[PinnedArchive, ...] = ()

    def __post_init__(self) -> None:
        where = f"pin {self.package}"
        if self.gguf_parts:
            whole = sum(part.file.size for part in self.gguf_parts)
            require(whole == self.gguf.size, where, f"the parts have {whole} bytes together")
        known = {archive.package for archive in self.archives}
        strange = sorted({part.package for part in self.gguf_parts} - known)
        require(not strange, where, f"parts lie in {strange}, which have no archive")

    @property
    def archives(self) -> tuple[PinnedArchive, ...]:
        """Every archive that is fetched, the package's own first."""
        return (PinnedArchive(self.package, self.version, self.archive), *self.companions)

    @property
    def gguf_members(self) -> tuple[PinnedPart, ...]:
        """Where the bytes of the GGUF lie, in order."""
        return self.gguf_parts or (PinnedPart(self.package, self.gguf),)


def _directory() -> Any:
    return resources.files("trlm_lab") / "data" / "pins"


def known_pins() -> list[str]:
    """Names of the pinned packages."""
    names = [p.name for p in _directory().iterdir() if p.name.endswith(".json")]
    return sorted(name.removesuffix(".json") for name in names)


def load_pin(package: str) -> PackagePin:
    """The pin of a package.

    Raises:
        PinUnknownError: the package is not pinned.
    """
    if package not in known_pins():
        raise PinUnknownError(package=package, known=", ".join(known_pins()))
    data = (_directory() / f"{package}.json").read_bytes()
    row = strict_json.loads(data, where=f"pin {package}")
    require(row["schema"] == "trlm.pin.v1", f"pin {package}", "unknown schema")
    members = {role: PinnedFile(**file) for role, file in row["members"].items()}
    return PackagePin(
        row["package"],
        row["version"],
        PinnedFile(**row["archive"]),
        members["gguf"],
        members["licence"],
        row["licence"],
        tuple(PinnedPart(part.pop("package"), PinnedFile(**part)) for part in row.get("parts", [])),
        tuple(
            PinnedArchive(one.pop("package"), one.pop("version"), PinnedFile(**one))
            for one in row.get("companions", [])
        ),
    )
