"""Searching a text with a program, within a number of steps that the text's length settles.

Every engine counts the same steps at the same places, so that one refuses a text where the others
do. Alternatives wait on a stack; only looks and atomic groups recurse.
"""

from __future__ import annotations

from trlm_lab.errors import PatternStepsError
from trlm_lab.text.coordinates import Span
from trlm_lab.text.pattern_program import Program
from trlm_lab.text.pattern_steps import AcceptStep, Waiting

#: Steps of one search: so many, and so many for each byte of the text in UTF-8.
STEPS, STEPS_A_BYTE = 4_096, 256


class Matching:
    """One search over one text; `left` are the steps that it may still take."""

    def __init__(self, program: Program, text: str) -> None:
        self._program, self.text = program, text
        size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
        self.left = STEPS + STEPS_A_BYTE * size
        self._waiting: list[Waiting] = []

    def spans(self) -> list[Span]:
        """Matches from left to right, each at or behind the end of the one before.

        Raises:
            PatternStepsError: the steps do not suffice.
        """
        out: list[Span] = []
        leading = self._program.leading
        at = 0
        while at < len(self.text):
            end = self._match_at(at)
            if end is not None:
                out.append((at, end))
                at = end
            else:
                at = max(at + 1, leading.end(self.text, at) if leading else 0)
        return out

    def count(self, steps: int) -> None:
        """So many steps more.

        Raises:
            PatternStepsError: more than there were left.
        """
        self.left -= steps
        if self.left < 0:
            raise PatternStepsError(steps=STEPS, steps_a_byte=STEPS_A_BYTE)

    def wait(self, later: Waiting) -> None:
        """Ways for later."""
        self._waiting.append(later)

    def _match_at(self, at: int) -> int | None:
        code = ord(self.text[at])
        branches = self._program.ascii[code] if code < 0x80 else self._program.beyond
        for branch in branches:
            end = self.end_from(branch, at)
            if end is not None:
                return end
        return None

    def end_from(self, step: int, at: int) -> int | None:
        """The end of the match that begins at a step and a place."""
        steps, outer = self._program.steps, self._waiting
        self._waiting = []
        try:
            while True:
                self.count(1)
                one = steps[step]
                if isinstance(one, AcceptStep):
                    return at
                way = one.run(self, step, at) or self._back()
                if way is None:
                    return None
                step, at = way
        finally:
            self._waiting = outer

    def _back(self) -> tuple[int, int] | None:
        """The latest way that waits."""
        while self._waiting:
            way, behind = self._waiting.pop().next(self)
            if behind is not None:
                self._waiting.append(behind)
            if way is not None:
                return way
        return None
