"""What an engine computed: observations as they stream, and their digests as they stay."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trlm_lab.base import canon
from trlm_lab.base.records.checks import require, require_sha256
from trlm_lab.base.records.engine import EngineIdentity


@dataclass(frozen=True)
class Observation:
    """One named array, in ladder order; float32 (or int64 for ids)."""

    name: str
    values: NDArray[Any]

    def __post_init__(self) -> None:
        ok = self.values.dtype in (np.dtype(np.float32), np.dtype(np.int64))
        require(ok, self.name, f"dtype {self.values.dtype} is neither float32 nor int64")


@dataclass(frozen=True)
class ArrayDigest:
    """Identity of one observed array: SHA-256 of its raw little-endian bytes, dtype, shape."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    sha256: str

    def __post_init__(self) -> None:
        require_sha256(self.sha256, f"digest of {self.name}")

    @classmethod
    def of(cls, observation: Observation) -> ArrayDigest:
        """Hash an observation."""
        values = observation.values
        return cls(observation.name, values.dtype.name, values.shape, canon.array_sha256(values))


@dataclass(frozen=True)
class CaseTrace:
    """Digests of one case, in ladder order."""

    case_id: str
    case_digest: str
    arrays: tuple[ArrayDigest, ...]

    def __getitem__(self, name: str) -> ArrayDigest:
        for digest in self.arrays:
            if digest.name == name:
                return digest
        raise KeyError(name)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the arrays."""
        return tuple(a.name for a in self.arrays)


@dataclass(frozen=True)
class TraceRecord:
    """Identity of a whole run; `subject` binds what was run: artifact, configuration, source."""

    engine: EngineIdentity
    subject: dict[str, Any]
    cases: tuple[CaseTrace, ...]

    def case(self, case_id: str) -> CaseTrace:
        """The digests of one case. Raises KeyError."""
        for trace in self.cases:
            if trace.case_id == case_id:
                return trace
        raise KeyError(case_id)

    def to_map(self) -> dict[str, Any]:
        """Canonical map."""
        return {
            "engine": self.engine.to_map(),
            "subject": dict(self.subject),
            "cases": [
                {
                    "case_id": c.case_id,
                    "case_digest": c.case_digest,
                    "arrays": [[a.name, a.dtype, list(a.shape), a.sha256] for a in c.arrays],
                }
                for c in self.cases
            ],
        }

    @classmethod
    def from_map(cls, row: dict[str, Any]) -> TraceRecord:
        """Inverse of `to_map`."""
        cases = tuple(
            CaseTrace(
                c["case_id"],
                c["case_digest"],
                tuple(ArrayDigest(n, d, tuple(s), h) for n, d, s, h in c["arrays"]),
            )
            for c in row["cases"]
        )
        return cls(EngineIdentity(**row["engine"]), dict(row["subject"]), cases)

    @property
    def trace_id(self) -> str:
        """Content id of the run."""
        return canon.content_id(self.to_map())
