"""Containers ready to judge: the case that an engine runs, and the parts of arrays to compare."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from trlm_lab.base.records import (
    ArrayDigest,
    Case,
    CaseTrace,
    EngineIdentity,
    Mismatch,
    Observation,
    TraceRecord,
)
from trlm_lab.errors import GoldenJudgeError, TraceMissingError
from trlm_lab.golden import Golden, GoldenObservation, Slice, parse_slice, read_golden

#: Item types that traces hold; arrays of others are not judged.
_JUDGED: Final[dict[str, np.dtype[Any]]] = {"f32": np.dtype("<f4"), "i64": np.dtype("<i8")}


@dataclass(frozen=True)
class Held:
    """The arrays of one case: a container's, or the same parts of an engine's. A `TraceView`."""

    case_id: str
    arrays: dict[str, NDArray[Any]]
    identity: EngineIdentity

    @property
    def trace_id(self) -> str:
        """Content id over the digests."""
        return self.record().trace_id

    def record(self) -> TraceRecord:
        """Digests of the parts, and who computed."""
        digests = tuple(ArrayDigest.of(Observation(n, v)) for n, v in self.arrays.items())
        return TraceRecord(self.identity, {}, (CaseTrace(self.case_id, "", digests),))

    def case_ids(self) -> tuple[str, ...]:
        """The one case."""
        return (self.case_id,)

    def names(self, case_id: str) -> tuple[str, ...]:
        """Names of the arrays."""
        return tuple(self.arrays)

    def read(self, case_id: str, name: str) -> NDArray[Any]:
        """One array. Raises TraceMissingError."""
        if name not in self.arrays:
            raise TraceMissingError(where=case_id, kind="array", name=name)
        return self.arrays[name]


@dataclass(frozen=True)
class Vectors:
    """A container ready to judge: its case, and by name the part of each array that it holds."""

    golden: Golden
    case: Case
    rows: dict[str, tuple[GoldenObservation, Slice | None]]

    @property
    def tolerance(self) -> bytes:
        """The one tolerance of the container."""
        return next(iter(self.rows.values()))[0].tolerance_profile

    def held(self) -> Held:
        """The container's arrays, every blob checked. Raises GoldenError."""
        arrays = {}
        for name, (row, _) in self.rows.items():
            flat = np.frombuffer(self.golden.blob(row), dtype=_JUDGED[row.dtype])
            arrays[name] = flat.reshape(row.shape).astype(flat.dtype.newbyteorder("="))
        digest = self.golden.case.oracle_generator_identity.hex()
        name = str(self.golden.case.extras.get("x_engine", "golden"))
        return Held(self.case.case_id, arrays, EngineIdentity(name, "", "", digest))

    def part(self, observation: Observation) -> NDArray[Any]:
        """The same part of an engine's array; one of another shape stays whole and so fails."""
        _, cut = self.rows[observation.name]
        values = observation.values
        return values if cut is None or values.shape != cut.whole else cut.cut(values)

    def placed(self, found: Mismatch) -> Mismatch:
        """The mismatch with its index counted in the whole array."""
        row = self.rows.get(found.checkpoint or "")
        if row is None or row[1] is None or found.index is None:
            return found
        starts = row[1].starts
        return replace(found, index=tuple(map(sum, zip(found.index, starts, strict=True))))


def vectors_of(path: Path) -> Vectors:
    """Read a container for judging.

    Raises:
        GoldenError: the container breaks a rule of its format.
        GoldenJudgeError: it holds no token ids, or nothing that can be judged.
    """
    golden = read_golden(path)
    rows: dict[str, tuple[GoldenObservation, Slice | None]] = {}
    for row in golden.case.observations:
        cut = None if row.slice_description is None else parse_slice(row.slice_description)
        fits = row.slice_description is None or (cut is not None and cut.shape == row.shape)
        if row.dtype in _JUDGED and fits and row.name not in rows:
            rows[row.name] = (row, cut)
    where = str(golden.root)
    if not rows:
        raise GoldenJudgeError(where=where, detail="it holds no array that can be judged")
    if len({row.tolerance_profile for row, _ in rows.values()}) > 1:
        raise GoldenJudgeError(where=where, detail="its arrays name several tolerances")
    return Vectors(golden, _case(golden), rows)


def _case(golden: Golden) -> Case:
    given, name = golden.case.input, golden.case.extras.get("x_case")
    raw = given.data_or_commitment
    if given.kind != "token_ids" or not raw or len(raw) % 4:
        detail = "its input is no list of token ids, u32 little-endian"
        raise GoldenJudgeError(where=str(golden.root), detail=detail)
    ids = tuple(np.frombuffer(raw, dtype="<u4").tolist())
    case_id = name if isinstance(name, str) else golden.case.case_id.hex()
    return Case(case_id, ids, None, given.position_ids, given.attention_mask)
