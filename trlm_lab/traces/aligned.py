"""Two traces as far as they can be compared: picked rows of a square meet those of the whole."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from trlm_lab.base.interfaces import TraceView
from trlm_lab.traces.picks import Pick
from trlm_lab.traces.store import TraceStore


def pick_of(view: TraceView, case_id: str, name: str) -> Pick | None:
    """The heads and rows that a trace holds of a square; None where it holds the whole."""
    return view.pick(case_id, name) if isinstance(view, TraceStore) else None


def aligned(left: TraceView, right: TraceView) -> tuple[TraceView, TraceView]:
    """Both, each cut down to what the other has picked; squares picked otherwise have no name."""
    return _Aligned(left, right), _Aligned(right, left)


class _Aligned:
    """A `TraceView` of one trace beside another."""

    def __init__(self, view: TraceView, other: TraceView) -> None:
        self._view, self._other = view, other

    @property
    def trace_id(self) -> str:
        """Content id of the run."""
        return self._view.trace_id

    def case_ids(self) -> tuple[str, ...]:
        """Cases, in order."""
        return self._view.case_ids()

    def names(self, case_id: str) -> tuple[str, ...]:
        """Names of the arrays that both can show alike, and of those that only this one has."""
        return tuple(n for n in self._view.names(case_id) if self._comparable(case_id, n))

    def read(self, case_id: str, name: str) -> NDArray[Any]:
        """One array, cut down where the other side has picked."""
        values = self._view.read(case_id, name)
        theirs = self._their_pick(case_id, name)
        whole = pick_of(self._view, case_id, name) is None
        # What is no square of that size is left to the judge.
        return theirs.of(values) if theirs and whole and theirs.fits(values.shape) else values

    def _comparable(self, case_id: str, name: str) -> bool:
        ours, theirs = pick_of(self._view, case_id, name), self._their_pick(case_id, name)
        return ours is None or theirs is None or ours == theirs

    def _their_pick(self, case_id: str, name: str) -> Pick | None:
        if not isinstance(self._other, TraceStore) or case_id not in self._other.case_ids():
            return None
        held = name in self._other.names(case_id)
        return self._other.pick(case_id, name) if held else None
