"""The answer of a bisection: the first failing boundary, and the first failing element."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from trlm_lab.base.records.outcome import Outcome


@dataclass(frozen=True)
class Mismatch:
    """Where a candidate first departs; `boundary` is None when it is sound.

    The fault lies in (`after`, `boundary`]: `after` is the last sound exposed boundary. `layer`
    repeats the number in the name. `index` is the first failing logical index of `checkpoint`.
    `examined` lists what the binary search looked at, in its order; `verified` counts the
    boundaries judged in the end, over all cases: those and the ones swept to prove that nothing
    earlier fails.
    """

    verdict: Outcome
    case_id: str | None = None
    boundary: str | None = None
    after: str | None = None
    layer: int | None = None
    checkpoint: str | None = None
    index: tuple[int, ...] | None = None
    reference_bits: str | None = None
    candidate_bits: str | None = None
    max_abs: float | None = None
    limit: float | None = None
    examined: tuple[str, ...] = ()
    verified: int = 0
    note: str = ""

    def to_map(self) -> dict[str, Any]:
        """The JSON document that `trlm bisect --json` prints."""
        row = dict(vars(self))
        row["verdict"] = self.verdict.value
        row["index"] = None if self.index is None else list(self.index)
        row["examined"] = list(self.examined)
        return row

    @classmethod
    def from_map(cls, row: dict[str, Any]) -> Mismatch:
        """Inverse of `to_map`."""
        made = dict(row, verdict=Outcome(row["verdict"]), examined=tuple(row["examined"]))
        made["index"] = None if row["index"] is None else tuple(row["index"])
        return cls(**made)
