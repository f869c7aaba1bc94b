"""The transformation ledger: which source tensor became which destination tensor, and how."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from trlm_lab.base import canon

SCHEMA = "trlm.ledger.v2"
#: What a step `rows` always has.
_ROWS = ("first", "count")


@dataclass(frozen=True)
class Transform:
    """One ordered step, with parameters.

    `transpose`, `rows`, `widen`, `copy`, `quantize`, `pad`, `alias`, `residual`;
    docs/formats/ledger.md says what each does, how it is undone, and what its parameters are.
    """

    kind: str
    parameters: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Probes:
    """Verification vectors of one entry.

    `source` and `destination` are the SHA-256 of one integer vector's product with the tensor,
    through the stored source and its steps, and through the destination as it is read; of a
    lossless entry they are equal. `elements` are (flat index in the destination, bits of the
    source's float32, bits of the destination's). docs/formats/ledger.md has the vector.
    """

    source: str
    destination: str
    elements: tuple[tuple[int, int, int], ...]


@dataclass(frozen=True)
class LedgerEntry:
    """One source tensor to one destination tensor; ranges are absolute byte ranges in the files.

    Range, shape, strides (in bytes) and hash of the source are those of the whole stored tensor;
    the steps say which part of it. `destination_shape` is the logical shape; what is stored beyond
    it is a `pad` step.
    """

    source_name: str
    source_file: str
    source_range: tuple[int, int]
    source_shape: tuple[int, ...]
    source_strides: tuple[int, ...]
    source_dtype: str
    source_sha256: str
    role: str
    transforms: tuple[Transform, ...]
    destination_name: str
    destination_shape: tuple[int, ...]
    destination_layout: str
    destination_dtype: str
    destination_range: tuple[int, int]
    destination_sha256: str
    probes: Probes

    @property
    def lossless(self) -> bool:
        """Whether the source's bytes follow from the destination's."""
        return all(step.kind not in ("quantize", "residual") for step in self.transforms)


@dataclass(frozen=True)
class Omission:
    """A source tensor of which nothing was made, and why."""

    source_name: str
    source_file: str
    source_range: tuple[int, int]
    source_shape: tuple[int, ...]
    source_dtype: str
    source_sha256: str
    reason: str


@dataclass(frozen=True)
class Ledger:
    """All entries in destination order; `exceptions` records every departure from a bijection."""

    entries: tuple[LedgerEntry, ...]
    exceptions: tuple[str, ...] = ()
    omissions: tuple[Omission, ...] = ()

    def to_map(self) -> dict[str, Any]:
        """Canonical map."""
        return {
            "schema": SCHEMA,
            "entries": [_entry_map(entry) for entry in self.entries],
            "exceptions": list(self.exceptions),
            "omissions": [_listed(vars(one)) for one in self.omissions],
        }

    @classmethod
    def from_map(cls, row: Mapping[str, Any]) -> Ledger:
        """Inverse of `to_map`.

        Raises:
            KeyError, TypeError, ValueError: a record of another form.
        """
        if row["schema"] != SCHEMA:
            raise ValueError(f"schema {row['schema']!r}, not {SCHEMA!r}")
        return cls(
            tuple(_entry(entry) for entry in row["entries"]),
            tuple(row["exceptions"]),
            tuple(Omission(**_tupled(one)) for one in row["omissions"]),
        )

    @property
    def ledger_id(self) -> str:
        """Content id."""
        return canon.content_id(self.to_map())


def _listed(row: Mapping[str, Any]) -> dict[str, Any]:
    return {k: list(v) if isinstance(v, tuple) else v for k, v in row.items()}


def _tupled(row: Mapping[str, Any]) -> dict[str, Any]:
    return {k: tuple(v) if isinstance(v, list) else v for k, v in row.items()}


def _entry_map(entry: LedgerEntry) -> dict[str, Any]:
    row = _listed(vars(entry))
    row["transforms"] = [[step.kind, step.parameters] for step in entry.transforms]
    probes = {f.name: getattr(entry.probes, f.name) for f in fields(Probes)}
    row["probes"] = probes | {"elements": [list(one) for one in entry.probes.elements]}
    return row


def _entry(row: Mapping[str, Any]) -> LedgerEntry:
    made = _tupled(row)
    made["transforms"] = tuple(Transform(kind, dict(given)) for kind, given in row["transforms"])
    whole = [made[name] for name in ("source_range", "destination_range")]
    whole += [made[name] for name in ("source_shape", "source_strides", "destination_shape")]
    ranges = [s.parameters[k] for s in made["transforms"] if s.kind == "rows" for k in _ROWS]
    if not all(type(one) is int for one in (*ranges, *(n for row in whole for n in row))):
        raise ValueError(f"a shape or range of {made['destination_name']!r} is no list of integers")
    elements = tuple((int(at), int(a), int(b)) for at, a, b in row["probes"]["elements"])
    made["probes"] = Probes(**{**row["probes"], "elements": elements})
    return LedgerEntry(**made)
