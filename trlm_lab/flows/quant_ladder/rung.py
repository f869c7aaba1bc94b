"""What a rung says: who claimed what, what follows from the rung below, and whether they agree."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trlm_lab.base.records import Outcome
from trlm_lab.errors import TrlmError
from trlm_lab.rungs import RUNGS

Array = NDArray[Any]


@dataclass(frozen=True)
class Claim:
    """What somebody says a rung holds: an array whose first axis are rows, or why there is none.

    `part` is the index of the second axis that it speaks of, where it does not speak of all.
    """

    by: str
    values: Array | None
    refused: str = ""
    part: int | None = None


def claimed(by: str, make: Callable[[], Array], part: int | None = None) -> Claim:
    """The claim of whoever computes; a refusal by the strict reader or the runtime is one, too."""
    try:
        with np.errstate(all="ignore"):
            return Claim(by, make(), part=part)
    except TrlmError as error:
        return Claim(by, None, f"{error.code}: {error.detail}")


@dataclass(frozen=True)
class Step:
    """One rung over one block of rows."""

    name: str
    claims: tuple[Claim, ...]
    check: Array
    #: What the source's own weights give in its place, where that is asked.
    exact: Array | None = None

    @property
    def flow(self) -> Array:
        """What the next rung starts from: the first claim, or the check where it was refused."""
        values = self.claims[0].values
        return self.check if values is None or self.claims[0].part is not None else values


def little(values: Array) -> bytes:
    """The bytes that are hashed: little-endian, C order, integers as int64."""
    whole = values.dtype.kind in "iu" and values.dtype != np.uint8
    kind = np.dtype("<i8") if whole else values.dtype.newbyteorder("<")
    return np.ascontiguousarray(values, dtype=kind).tobytes()


def _bits(values: Array) -> Array:
    """Floats as their bits, so that zeros of both signs and NaN are told apart."""
    if values.dtype.kind != "f":
        return values.astype(np.int64)
    return np.ascontiguousarray(values, np.float32).view(np.uint32).astype(np.int64)


@dataclass
class Cost:
    """How far a rung is from what the source's own weights give, in float64."""

    largest: float = 0.0
    squares: float = 0.0
    of_source: float = 0.0

    def add(self, values: Array, exact: Array) -> None:
        """Another block."""
        gap = values.astype(np.float64) - exact
        self.largest = max(self.largest, float(np.abs(gap).max(initial=0)))
        self.squares += float(np.square(gap).sum())
        self.of_source += float(np.square(exact.astype(np.float64)).sum())

    @property
    def relative(self) -> float:
        """Root of the squared differences over the squares of the source's."""
        return float(np.sqrt(self.squares / self.of_source)) if self.of_source else 0.0


@dataclass
class Rung:
    """A rung over all blocks; `first` is the first place at which a claim differs."""

    name: str
    checked_by: str
    elements: int = 0
    differing: dict[str, int] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    first: dict[str, Any] | None = None
    #: Of a rung that was climbed in one block: its first claim, for receipts and elements.
    kept: Array | None = None
    note: str = ""
    unchecked: str = ""
    unreached: str = ""
    cost: Cost | None = None
    #: Who spoke of a part of the rung only.
    partial: set[str] = field(default_factory=set)
    _claims: dict[str, Any] = field(default_factory=dict)
    _check: Any = field(default_factory=hashlib.sha256)

    @property
    def number(self) -> int:
        """0 for the ground, 1 to 12 above it."""
        return RUNGS.index(self.name)

    @property
    def outcome(self) -> Outcome:
        """WRONG where a claim differs or was refused; INFRA where nobody could check it.

        NOT_SUPPORTED where a rung below kept everybody from it.
        """
        if self.unreached:
            return Outcome.NOT_SUPPORTED
        if any(self.differing.values()) or self.refused:
            return Outcome.WRONG
        return Outcome.INFRA if self.unchecked else Outcome.MATCH

    @property
    def claimed(self) -> dict[str, str]:
        """SHA-256 of what each said, over all blocks."""
        return {by: digest.hexdigest() for by, digest in self._claims.items()}

    @property
    def checked(self) -> str:
        """SHA-256 of what follows from the rung below."""
        return str(self._check.hexdigest())

    def add(self, step: Step, first_row: int, *, keep: bool) -> None:
        """Another block of rows."""
        self._check.update(little(step.check))
        self.elements += step.check.size
        for claim in step.claims:
            self._add_claim(claim, step.check, first_row)
        if keep:
            self.kept = step.flow
        if step.exact is not None and step.exact.shape == step.flow.shape:
            self.cost = self.cost or Cost()
            self.cost.add(step.flow, step.exact)

    def _add_claim(self, claim: Claim, check: Array, first_row: int) -> None:
        digest = self._claims.setdefault(claim.by, hashlib.sha256())
        self.differing.setdefault(claim.by, 0)
        if claim.part is not None:
            self.partial.add(claim.by)
        if claim.values is None:
            self.refused.setdefault(claim.by, claim.refused)
            return
        digest.update(little(claim.values))
        check = check if claim.part is None else np.ascontiguousarray(check[:, claim.part])
        if claim.values.shape != check.shape:
            detail = f"shape {claim.values.shape}, needed is {check.shape}"
            self.refused.setdefault(claim.by, detail)
            return
        said, own = _bits(claim.values), _bits(check)
        wrong = said != own
        self.differing[claim.by] += int(np.count_nonzero(wrong))
        if wrong.any() and self.first is None:
            at = tuple(int(i) for i in np.argwhere(wrong)[0])
            self.first = _place(claim, check, at, first_row, (int(said[at]), int(own[at])))


def _place(
    claim: Claim, check: Array, at: tuple[int, ...], first_row: int, bits: tuple[int, int]
) -> dict[str, Any]:
    assert claim.values is not None
    digits = {1: 2, 4: 8}.get(check.dtype.itemsize, 0)
    spelled = [f"{b:0{digits}x}" if digits else str(b) for b in bits]
    return {
        "by": claim.by,
        "index": [first_row + at[0], *at[1:]],
        "claimed": repr(claim.values[at].item()),
        "follows": repr(check[at].item()),
        "claimed_bits": spelled[0],
        "follows_bits": spelled[1],
    }
