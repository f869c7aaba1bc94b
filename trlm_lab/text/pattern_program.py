"""A pattern as a program of steps, and where to begin it: the same steps as the runtime's.

Steps are counted when they run (docs/formats/tok2.md, section 4), so which ones there are is part
of the format: repetitions of anything but one scalar are written out, a run that would gain nothing
by giving back keeps what it took, and a branch is begun only on a scalar that it can begin with.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from trlm_lab.text.pattern_nodes import (
    GREEDY,
    LAZY,
    POSSESSIVE,
    Atomic,
    Choice,
    Concat,
    End,
    Literal,
    Look,
    Node,
    OneOf,
    Repeat,
    lengths,
)
from trlm_lab.text.pattern_steps import (
    AcceptStep,
    AtomicStep,
    EndStep,
    JumpStep,
    LiteralStep,
    LookStep,
    RunStep,
    SetStep,
    SplitStep,
    Step,
)
from trlm_lab.text.scalar_sets import LAST, ScalarSet

#: Branches told apart by their first scalar; a longer list is one branch.
MOST_BRANCHES = 64
_ASCII, _ALL = 0x80, ScalarSet(((0, LAST),))


@dataclass(frozen=True)
class Program:
    """Steps, and the first one of each branch that an ASCII scalar or any other can begin."""

    steps: tuple[Step, ...]
    ascii: tuple[tuple[int, ...], ...]
    beyond: tuple[int, ...]

    @classmethod
    def of(cls, root: Node) -> Program:
        """The program of a tree."""
        whole = isinstance(root, Choice) and len(root.branches) <= MOST_BRANCHES
        branches = root.branches if isinstance(root, Choice) and whole else (root,)
        writer = _Writer()
        begins: list[tuple[int, ScalarSet]] = []
        for branch in branches:
            first, empty = first_of(branch)
            begins.append((len(writer.steps), _ALL if empty else first))
            writer.node(branch)
            writer.push(AcceptStep())
        ascii_rows = tuple(
            tuple(at for at, first in begins if chr(code) in first) for code in range(_ASCII)
        )
        beyond = tuple(at for at, first in begins if first.ranges and first.ranges[-1][1] >= _ASCII)
        return cls(tuple(_settled(writer.steps)), ascii_rows, beyond)

    @property
    def leading(self) -> RunStep | None:
        """The endless run that every match begins with and never gives back.

        Where a match fails behind such a run, it fails from each place within the run.
        """
        first = self.steps[0]
        alone = sum(isinstance(step, AcceptStep) for step in self.steps) == 1
        if alone and isinstance(first, RunStep) and first.manner == POSSESSIVE:
            return first if first.most is None and first.least <= 1 else None
        return None


def first_of(node: Node) -> tuple[ScalarSet, bool]:
    """Scalars that a match can begin with, and whether it can be empty."""
    match node:
        case Literal(text):
            return ScalarSet.chars(text[0]), False
        case OneOf(found):
            return found, False
        case Concat(parts):
            return _first_of_row(parts)
        case Choice(branches):
            rows = [first_of(one) for one in branches]
            ranges = [span for found, _ in rows for span in found.ranges]
            return ScalarSet.of(ranges), any(empty for _, empty in rows)
        case Repeat(body, least, _, _):
            found, empty = first_of(body)
            return found, empty or least == 0
        case Atomic(body):
            return first_of(body)
    return ScalarSet(()), True


def _first_of_row(parts: Sequence[Node]) -> tuple[ScalarSet, bool]:
    found = ScalarSet(())
    for part in parts:
        more, empty = first_of(part)
        found = found | more
        if not empty:
            return found, False
    return found, True


class _Writer:
    """Steps one after the other; a step whose way on is not known yet is written twice."""

    def __init__(self) -> None:
        self.steps: list[Step] = []

    def push(self, step: Step) -> int:
        self.steps.append(step)
        return len(self.steps) - 1

    def node(self, node: Node) -> None:
        match node:
            case Literal(text):
                self.push(LiteralStep(text) if len(text) > 1 else SetStep(ScalarSet.chars(text)))
            case OneOf(found):
                self.push(SetStep(found))
            case Concat(parts):
                for part in parts:
                    self.node(part)
            case Choice(branches):
                self._choice(branches)
            case Repeat():
                self._repeat(node)
            case Look(body, behind, negative):
                width = lengths(body)[0] if behind else None
                self._apart(body, lambda next_step: LookStep(width, negative, next_step))
            case Atomic(body):
                self._apart(body, AtomicStep)
            case End():
                self.push(EndStep())

    def _apart(self, body: Node, step: Callable[[int], Step]) -> None:
        at = self.push(step(0))
        self.node(body)
        self.steps[at] = step(self.push(AcceptStep()) + 1)

    def _choice(self, branches: Sequence[Node]) -> None:
        jumps = []
        for branch in branches[:-1]:
            split = self.push(SplitStep(0, 0))
            self.node(branch)
            jumps.append(self.push(JumpStep(0)))
            self.steps[split] = SplitStep(split + 1, len(self.steps))
        self.node(branches[-1])
        for jump in jumps:
            self.steps[jump] = JumpStep(len(self.steps))

    def _repeat(self, node: Repeat) -> None:
        found = _single(node.body)
        if found is not None:
            self.push(RunStep(found, node.least, node.most, node.manner))
        elif node.manner == POSSESSIVE:
            self._apart(Repeat(node.body, node.least, node.most), AtomicStep)
        else:
            self._written_out(node)

    def _written_out(self, node: Repeat) -> None:
        for _ in range(node.least):
            before = len(self.steps)
            self.node(node.body)
            if len(self.steps) == before:
                # What has no steps need not be repeated.
                break
        splits = []
        for _ in range(1 if node.most is None else node.most - node.least):
            splits.append(self.push(SplitStep(0, 0)))
            self.node(node.body)
        if node.most is None:
            self.push(JumpStep(splits[0]))
        end = len(self.steps)
        for split in splits:
            ways = (split + 1, end)
            self.steps[split] = SplitStep(*(reversed(ways) if node.manner == LAZY else ways))


def _single(node: Node) -> ScalarSet | None:
    """The set of a node that is one scalar."""
    if isinstance(node, OneOf):
        return node.found
    if isinstance(node, Literal) and len(node.text) == 1:
        return ScalarSet.chars(node.text)
    return None


def _settled(steps: list[Step]) -> list[Step]:
    """Greedy runs that would gain nothing by giving back are possessive."""
    out = list(steps)
    for at, (step, after) in enumerate(pairwise(steps)):
        if isinstance(step, RunStep) and step.manner == GREEDY and _pointless(step, after):
            out[at] = RunStep(step.found, step.least, step.most, POSSESSIVE)
    return out


def _pointless(run: RunStep, after: Step) -> bool:
    if isinstance(after, AcceptStep | EndStep):
        return True
    if isinstance(after, SetStep) or (isinstance(after, RunStep) and after.least > 0):
        return not (run.found & after.found).ranges
    return False
