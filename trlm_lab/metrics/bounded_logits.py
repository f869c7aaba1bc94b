"""Logits in their bounded form: consecutive chunks of the vocabulary, or the top k of each row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trlm_lab.base.bits import bits_hex
from trlm_lab.base.records import Outcome, PolicyEntry
from trlm_lab.metrics.difference import max_abs_difference
from trlm_lab.metrics.greedy import gravest_change, greedy_changes
from trlm_lab.metrics.judgement import Judgement
from trlm_lab.metrics.own_top_k import disordered

Array = NDArray[Any]


def join_chunks(chunks: list[Array]) -> Array:
    """Logits (T, V) from `logits.chunk0`, `logits.chunk1`, ...: consecutive columns.

    Raises:
        ValueError: the chunks have different numbers of rows, or no rows at all.
    """
    return np.concatenate(chunks, axis=-1)


def top_k_problem(reference: Array, ids: Array, values: Array) -> str | None:
    """Why ids and values (T, k) do not belong to logits (T, V), or None."""
    if reference.dtype != np.float32 or values.dtype != np.float32 or ids.dtype != np.int64:
        return "logits and top-k values are float32, top-k ids int64"
    if reference.ndim != 2 or ids.shape != values.shape or ids.ndim != 2 or not ids.size:
        return f"top-k ids {list(ids.shape)} and values {list(values.shape)} are no T k arrays"
    if ids.shape[0] != reference.shape[0]:
        return f"top-k has {ids.shape[0]} positions, the reference has {reference.shape[0]}"
    if ids.min() < 0 or ids.max() >= reference.shape[1]:
        return "a top-k id is outside the vocabulary"
    if (np.diff(np.sort(ids, axis=-1), axis=-1) == 0).any():
        return "a top-k id occurs twice at one position"
    return None


def judge_top_k(
    reference: Array, ids: Array, values: Array, entry: PolicyEntry | None, *, exact: bool = False
) -> Judgement:
    """Judge a candidate that shows only its top k against the reference's full logits (T, V).

    Four things can fail: a listed value beyond the limit; an id left out although the reference
    has it above the candidate's lowest listed value by more than the limit; the order of the list;
    the greedy token by the margin rule. `exact` means a floor and a limit of zero.
    """
    problem = top_k_problem(reference, ids, values)
    if problem:
        return Judgement(Outcome.INFRA, note=problem)
    rows = _Rows(reference, ids, values)
    if not np.isfinite(values).all():
        return rows.listed(Outcome.NONFINITE, ~np.isfinite(values), None)
    if not np.isfinite(reference).all():
        note = "the reference itself is not finite here"
        return rows.dense(Outcome.UNSTABLE_ORACLE, ~np.isfinite(reference), None, note)
    error = max_abs_difference(rows.reference_listed(), values)
    if entry is None and not exact:
        note = "the policy has no entry for logits"
        return Judgement(Outcome.NOT_SUPPORTED, max_abs=error, note=note)
    floor, limit = (0.0, 0.0) if entry is None or exact else (entry.floor, entry.limit)
    if floor > limit:
        note = f"the noise floor {floor:.6g} is above the limit {limit:.6g}"
        return Judgement(Outcome.UNSTABLE_ORACLE, max_abs=error, note=note)
    sound = Judgement(Outcome.MATCH if error <= floor else Outcome.DRIFT, max_abs=error)
    return rows.fault(limit, error) or disordered(ids, values) or rows.greedy(limit, error) or sound


@dataclass(frozen=True)
class _Rows:
    """Full logits (T, V) beside the top k of another run (T, k), both finite where compared."""

    reference: Array
    ids: Array
    values: Array

    def reference_listed(self) -> Array:
        return np.take_along_axis(self.reference, self.ids, axis=-1)

    def fault(self, limit: float, error: float) -> Judgement | None:
        beyond = np.abs(self.values.astype(np.float64) - self.reference_listed()) > limit
        if beyond.any():
            return self.listed(Outcome.WRONG, beyond, error)
        unlisted = np.ones(self.reference.shape, dtype=bool)
        np.put_along_axis(unlisted, self.ids, False, axis=-1)
        bar = self.values.min(axis=-1, keepdims=True).astype(np.float64) + limit
        left_out = unlisted & (self.reference > bar)
        if left_out.any():
            note = "an id that belongs to the top k is left out"
            return self.dense(Outcome.WRONG, left_out, error, note)
        return None

    def greedy(self, limit: float, error: float) -> Judgement | None:
        highest = np.argmax(self.values, axis=-1)
        tokens = self.ids[np.arange(highest.size), highest]
        change = gravest_change(greedy_changes(self.reference, tokens, limit))
        if change is None:
            return None
        place = np.zeros(self.values.shape, dtype=bool)
        place[change.position, highest[change.position]] = True
        found = self.listed(change.outcome, place, error)
        return replace(found, failing=0, flat=None, note=change.note)

    def listed(self, outcome: Outcome, bad: Array, error: float | None) -> Judgement:
        t, column = (int(i) for i in np.argwhere(bad)[0])
        token = int(self.ids[t, column])
        found = self._at(outcome, bad, error, (t, token))
        return replace(found, candidate_bits=bits_hex(self.values[t, column]))

    def dense(self, outcome: Outcome, bad: Array, error: float | None, note: str) -> Judgement:
        t, token = (int(i) for i in np.argwhere(bad)[0])
        return replace(self._at(outcome, bad, error, (t, token)), note=note)

    def _at(
        self, outcome: Outcome, bad: Array, error: float | None, place: tuple[int, int]
    ) -> Judgement:
        return Judgement(
            outcome,
            max_abs=error,
            failing=int(np.count_nonzero(bad)),
            flat=place[0] * self.reference.shape[1] + place[1],
            index=place,
            reference_bits=bits_hex(self.reference[place]),
        )
