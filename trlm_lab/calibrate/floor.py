"""The noise floor: how far the float32 oracle itself stands from a float64 reference.

Two streams of arrays are read in lock-step, so that no trace of the reference needs to be stored.
Masked entries of `attn_masked` are marks and not values; they must agree and are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from trlm_lab.base.bits import first_nonfinite
from trlm_lab.base.interfaces import TraceView
from trlm_lab.base.names import in_ladder_order, is_checkpoint, ladder_rank, parse_checkpoint
from trlm_lab.base.records import Case, Observation
from trlm_lab.errors import CalibrationEmptyError, CalibrationPairError, NonFiniteError
from trlm_lab.metrics import MASKED_OPERATORS, masked_entries

Array = NDArray[Any]


@runtime_checkable
class Named(Protocol):
    """A named array; an `Observation`, or the same with float64 values."""

    @property
    def name(self) -> str:
        """Checkpoint name."""
        ...

    @property
    def values(self) -> Array:
        """The array."""
        ...


@dataclass(frozen=True)
class Floor:
    """The largest |oracle - reference| at one checkpoint, and the case that shows it.

    `algorithm` is the same for the intended algorithm: the reference engine in the float32
    profile that candidates are held to, against float64; 0 where none was measured.
    """

    checkpoint: str
    floor: float
    case_id: str
    elements: int
    algorithm: float = 0.0
    algorithm_case: str = ""


@dataclass(frozen=True)
class NoiseFloors:
    """Floors by checkpoint, in ladder order, with the cases that were measured."""

    cases: tuple[Case, ...]
    floors: tuple[Floor, ...]


def checkpoint_floor(checkpoint: str, oracle: Array, reference: Array, where: str) -> float:
    """max |oracle - reference| in float64; the shapes and the sets of masked entries agree.

    Raises:
        CalibrationPairError: another shape, or another set of masked entries.
        NonFiniteError: a value of either side is not finite.
    """
    if oracle.shape != reference.shape:
        detail = f"shape {list(oracle.shape)} against {list(reference.shape)}"
        raise CalibrationPairError(where=where, detail=detail)
    if parse_checkpoint(checkpoint).op in MASKED_OPERATORS:
        ours, theirs = _masked(oracle), _masked(reference)
        if not np.array_equal(ours, theirs):
            raise CalibrationPairError(where=where, detail="the sets of masked entries differ")
        oracle, reference = oracle[~ours], reference[~ours]
    for side in (oracle, reference):
        index = first_nonfinite(side)
        if index is not None:
            bits = side.reshape(-1)[index : index + 1].tobytes()[::-1].hex()
            raise NonFiniteError(where=where, index=index, bits=bits)
    gap = np.abs(np.subtract(oracle, reference, dtype=np.float64))
    return float(gap.max(initial=0.0))


def _masked(values: Array) -> NDArray[np.bool_]:
    # A float64 reference may hold the most negative float64 as its mark; float32 has only -inf.
    lowest: NDArray[np.bool_] = values == np.finfo(values.dtype).min
    return masked_entries(values) | lowest


def _lock_step(streams: Sequence[Iterable[Named]], where: str) -> Iterator[tuple[Named, ...]]:
    """Arrays of one checkpoint from every stream; all are in ladder order and show the same."""
    left = [(item for item in stream if is_checkpoint(item.name)) for stream in streams]
    while True:
        heads = [next(stream, None) for stream in left]
        shown = {None if item is None else item.name for item in heads}
        if shown == {None}:
            return
        if len(shown) > 1:
            names = [None if item is None else item.name for item in heads]
            detail = f"the oracle shows {names[0]} where the reference shows {names[1:]}"
            raise CalibrationPairError(where=where, detail=detail)
        yield tuple(item for item in heads if item is not None)


@dataclass
class FloorMeter:
    """Gathers floors case by case.

    A case counts whole or not at all: an error in its streams leaves the meter as it was.
    """

    _cases: dict[str, Case] = field(default_factory=dict)
    _floors: dict[str, Floor] = field(default_factory=dict)

    def add(
        self,
        case: Case,
        oracle: Iterable[Named],
        reference: Iterable[Named],
        algorithm: Iterable[Named] | None = None,
    ) -> None:
        """Measure one case; the streams are consumed once, one set of arrays at a time.

        `reference` is the float64 one; `algorithm`, where given, is the reference engine in the
        float32 profile of the candidates.

        Raises:
            CalibrationPairError: the streams differ in names, shapes or masks; the case occurs
                twice; or the checkpoints are not those of the earlier cases.
            NonFiniteError: a value of either side is not finite.
        """
        where = f"case {case.case_id}"
        if case.case_id in self._cases:
            raise CalibrationPairError(where=where, detail="the case was measured before")
        streams = [oracle, reference] if algorithm is None else [oracle, reference, algorithm]
        measured: dict[str, Floor] = {}
        for ours, exact, *twin in _lock_step(streams, where):
            name, place = ours.name, f"{where}, {ours.name}"
            noise = checkpoint_floor(name, ours.values, exact.values, place)
            own = max((checkpoint_floor(name, t.values, exact.values, place) for t in twin),
                      default=0.0)  # fmt: skip
            size = int(ours.values.size)
            measured[name] = Floor(name, noise, case.case_id, size, own, case.case_id)
        self._admit(where, measured)
        self._cases[case.case_id] = case

    def _admit(self, where: str, measured: dict[str, Floor]) -> None:
        if not measured:
            raise CalibrationPairError(where=where, detail="the streams show no checkpoint")
        if self._floors and set(measured) != set(self._floors):
            odd = in_ladder_order(set(measured) ^ set(self._floors))[0]
            raise CalibrationPairError(where=where, detail=f"{odd} is not shown by every case")
        for name, new in measured.items():
            old = self._floors.get(name, Floor(name, -1.0, "", 0, -1.0))
            noisy = new if new.floor > old.floor else old
            rough = new if new.algorithm > old.algorithm else old
            self._floors[name] = Floor(
                name,
                noisy.floor,
                noisy.case_id,
                new.elements + old.elements,
                rough.algorithm,
                rough.algorithm_case,
            )

    def result(self) -> NoiseFloors:
        """The floors. Raises CalibrationEmptyError where no case was measured."""
        if not self._cases:
            raise CalibrationEmptyError()
        floors = sorted(self._floors.values(), key=lambda floor: ladder_rank(floor.checkpoint))
        return NoiseFloors(tuple(self._cases.values()), tuple(floors))


def trace_stream(trace: TraceView, case_id: str) -> Iterator[Observation]:
    """The checkpoints of a stored case as a stream in ladder order."""
    shown = [name for name in trace.names(case_id) if is_checkpoint(name)]
    for name in in_ladder_order(shown):
        yield Observation(name, trace.read(case_id, name))
