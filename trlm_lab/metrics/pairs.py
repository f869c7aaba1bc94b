"""One case seen in two traces: which checkpoints both show, and their arrays one pair at a time.

Compare and bisection judge through this, so that they cannot disagree about an array.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from numpy.typing import NDArray

from trlm_lab.base.interfaces import TraceView
from trlm_lab.base.names import in_ladder_order, is_checkpoint, parse_checkpoint
from trlm_lab.base.records import FAULTS, Outcome, TolerancePolicy
from trlm_lab.errors import NothingToCompareError, TrlmError, UnknownNameError
from trlm_lab.metrics.bounded_logits import join_chunks, judge_top_k
from trlm_lab.metrics.excused import excused
from trlm_lab.metrics.inputs import INPUTS, default_input, judge_input
from trlm_lab.metrics.judge import judge, judge_alone
from trlm_lab.metrics.judgement import Judgement
from trlm_lab.metrics.masks import MASKED_OPERATORS, masked_entries
from trlm_lab.metrics.own_top_k import TOP_IDS, TOP_VALUES, judge_own_top_k

Array = NDArray[Any]

#: Measured float32 noise by case and checkpoint.
Noise = Mapping[str, Mapping[str, float]]

TOP_K: Final = (TOP_IDS, TOP_VALUES)
_CHUNK: Final = re.compile(r"logits\.chunk(0|[1-9][0-9]*)\Z")


def chosen_cases(reference: TraceView, cases: Iterable[str] | None) -> tuple[str, ...]:
    """The cases to judge, in the reference's order or the caller's.

    Raises:
        UnknownNameError: the reference trace holds no such case.
        NothingToCompareError: there is no case at all.
    """
    held = reference.case_ids()
    wanted = held if cases is None else tuple(cases)
    for case_id in wanted:
        if case_id not in held:
            raise UnknownNameError(kind="case", name=case_id, known=", ".join(held))
    if not wanted:
        raise NothingToCompareError(where=reference.trace_id)
    return wanted


@dataclass(frozen=True)
class ArrayPair:
    """A checkpoint's arrays; with `ids` the candidate's are its top k of the logits, (T, k)."""

    checkpoint: str
    reference: Array
    candidate: Array
    ids: Array | None = None

    noise: float | None = None

    def judge(self, policy: TolerancePolicy | None) -> Judgement:
        """Judge under a policy, or for equal bits without one."""
        entry = None if policy is None else policy.entry(self.checkpoint)
        exact = policy is None
        if self.ids is not None:
            return judge_top_k(self.reference, self.ids, self.candidate, entry, exact=exact)
        found = judge(self.checkpoint, self.reference, self.candidate, entry, exact=exact)
        if policy is None or entry is None or self.noise is None or self._masks_differ():
            return found
        return excused(found, entry, self.noise, policy.factor)

    def _masks_differ(self) -> bool:
        """A wrong mask is wrong whatever the noise."""
        if parse_checkpoint(self.checkpoint).op not in MASKED_OPERATORS:
            return False
        return bool((masked_entries(self.reference) != masked_entries(self.candidate)).any())


def _chunk_names(names: Iterable[str]) -> list[str]:
    found = [(int(match[1]), name) for name in names if (match := _CHUNK.match(name))]
    complete = [number for number, _ in sorted(found)] == list(range(len(found)))
    return [name for _, name in sorted(found)] if complete else []


def _logit_form(names: frozenset[str]) -> str | None:
    if "logits" in names:
        return "full"
    if _chunk_names(names):
        return "chunks"
    # Half a pair counts, and fails when it is read.
    return None if names.isdisjoint(TOP_K) else "top_k"


def _checkpoints(names: frozenset[str]) -> frozenset[str]:
    shown = {name for name in names if is_checkpoint(name)}
    return frozenset(shown | {"logits"} if _logit_form(names) else shown)


def _read_dense(view: TraceView, case_id: str, names: frozenset[str], checkpoint: str) -> Array:
    if checkpoint != "logits" or "logits" in names:
        return view.read(case_id, checkpoint)
    return join_chunks([view.read(case_id, name) for name in _chunk_names(names)])


class CasePair:
    """One case of a reference and a candidate trace; `hidden` names count as not exposed.

    `noise` is the measured float32 noise of this case by checkpoint, where it was measured
    (`excused` says what it is for). Arrays are read when they are judged and not kept.
    """

    def __init__(
        self,
        reference: TraceView,
        candidate: TraceView,
        case_id: str,
        hidden: Callable[[str], bool] | None = None,
        noise: Mapping[str, float] | None = None,
    ) -> None:
        self.noise = noise or {}
        self.reference, self.candidate, self.case_id = reference, candidate, case_id
        self._hidden = hidden or (lambda name: False)
        self._reference_names = frozenset(reference.names(case_id))
        present = case_id in candidate.case_ids()
        self._candidate_names = frozenset(candidate.names(case_id) if present else ())

    @cached_property
    def known(self) -> tuple[str, ...]:
        """Checkpoints that either trace shows, hidden ones among them, in ladder order."""
        both = _checkpoints(self._reference_names) | _checkpoints(self._candidate_names)
        return tuple(in_ladder_order(both))

    @cached_property
    def exposed(self) -> tuple[str, ...]:
        """Checkpoints that the candidate shows and that are not hidden, in ladder order."""
        shown = _checkpoints(self._candidate_names)
        return tuple(n for n in self.known if n in shown and not self._hidden(n))

    @cached_property
    def shared(self) -> tuple[str, ...]:
        """The exposed checkpoints that the reference shows too."""
        held = _checkpoints(self._reference_names)
        return tuple(n for n in self.exposed if n in held)

    def judge(self, checkpoint: str, policy: TolerancePolicy | None) -> Judgement:
        """Judge an exposed checkpoint; one that the reference lacks is judged alone.

        Sound logits beside a top k that is not theirs are WRONG.
        """
        found = self._judge(checkpoint, policy)
        return self.judge_own_top_k(checkpoint, found) or found

    def _judge(self, checkpoint: str, policy: TolerancePolicy | None) -> Judgement:
        if checkpoint in self.shared:
            pair = self.read(checkpoint)
            return pair if isinstance(pair, Judgement) else pair.judge(policy)
        if _logit_form(self._candidate_names) == "top_k" and checkpoint == "logits":
            return Judgement(Outcome.NOT_SUPPORTED, note="the reference lacks this checkpoint")
        values = self._candidate_array(checkpoint)
        return values if isinstance(values, Judgement) else judge_alone(checkpoint, values)

    def read(self, checkpoint: str) -> ArrayPair | Judgement:
        """The arrays of a shared checkpoint, or an INFRA or NOT_SUPPORTED judgement.

        Errors of the reference trace are raised; those of the candidate are its own outcome.
        """
        names = self._reference_names
        if checkpoint == "logits" and _logit_form(names) == "top_k":
            note = "the reference shows only its top k logits, which cannot judge"
            return Judgement(Outcome.NOT_SUPPORTED, note=note)
        reference = _read_dense(self.reference, self.case_id, names, checkpoint)
        if checkpoint == "logits" and _logit_form(self._candidate_names) == "top_k":
            return self._read_top_k(reference)
        candidate = self._candidate_array(checkpoint)
        if isinstance(candidate, Judgement):
            return candidate
        return ArrayPair(checkpoint, reference, candidate, noise=self.noise.get(checkpoint))

    def _read_top_k(self, reference: Array) -> ArrayPair | Judgement:
        try:
            ids, values = (self.candidate.read(self.case_id, name) for name in TOP_K)
        except TrlmError as error:
            return Judgement(Outcome.INFRA, note=error.text)
        return ArrayPair("logits", reference, values, ids)

    def _candidate_array(self, checkpoint: str) -> Array | Judgement:
        names = self._candidate_names
        try:
            return _read_dense(self.candidate, self.case_id, names, checkpoint)
        except TrlmError as error:
            return Judgement(Outcome.INFRA, note=error.text)
        except ValueError as error:
            # Chunks of unequal heights cannot be joined; nothing else here raises ValueError.
            return Judgement(Outcome.INFRA, note=f"the chunks of the logits do not fit: {error}")

    def judge_own_top_k(self, checkpoint: str, found: Judgement) -> Judgement | None:
        """What is wrong with a top k beside logits that were `found` to be no fault, or None."""
        shown = [name for name in TOP_K if name in self._candidate_names]
        undecided = checkpoint == "logits" and found.outcome not in {*FAULTS, Outcome.INFRA}
        if not (shown and undecided) or _logit_form(self._candidate_names) == "top_k":
            return None
        logits = self._candidate_array("logits")
        if isinstance(logits, Judgement) or logits.ndim != 2:
            return None
        try:
            held = {name: self.candidate.read(self.case_id, name) for name in shown}
        except TrlmError as error:
            return Judgement(Outcome.INFRA, note=error.text, array=shown[0])
        return judge_own_top_k(logits, held.get(TOP_IDS), held.get(TOP_VALUES))

    def judge_inputs(self) -> Judgement:
        """Whether both traces were run on the same ids, positions and mask (`prompt_ids`).

        A reference that leaves out positions or mask was run on their defaults; a candidate that
        leaves one out says nothing of it.
        """
        for name in INPUTS:
            if name in self._candidate_names:
                found = self._judge_input(name)
                if found.outcome is not Outcome.MATCH:
                    return found
        return Judgement(Outcome.MATCH)

    def _judge_input(self, name: str) -> Judgement:
        try:
            theirs = self.candidate.read(self.case_id, name)
        except TrlmError as error:
            return Judgement(Outcome.INFRA, note=error.text)
        if name in self._reference_names:
            return judge_input(name, self.reference.read(self.case_id, name), theirs)
        if "token_ids" not in self._reference_names:
            return Judgement(Outcome.MATCH)
        tokens = len(self.reference.read(self.case_id, "token_ids"))
        return judge_input(name, default_input(name, tokens), theirs)
