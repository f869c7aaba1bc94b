"""One case on the bench: every checkpoint judged at most once, and what that proves."""

from __future__ import annotations

from trlm_lab.base.records import FAULTS, SOUND, Outcome, TolerancePolicy
from trlm_lab.bisection.dataflow import last_proof
from trlm_lab.metrics import CasePair, Judgement

PROMPT_IDS = "prompt_ids"


class Probe:
    """Judges the boundaries of one case and remembers."""

    def __init__(self, pair: CasePair, policy: TolerancePolicy | None) -> None:
        self.pair, self.policy = pair, policy
        self.judged: dict[str, Judgement] = {}

    @property
    def case_id(self) -> str:
        """The case."""
        return self.pair.case_id

    @property
    def boundaries(self) -> tuple[str, ...]:
        """What can be judged, in ladder order; `prompt_ids` first."""
        return (PROMPT_IDS, *self.pair.exposed)

    def judge(self, name: str) -> Judgement:
        """The judgement of one of the boundaries."""
        if name not in self.judged:
            inputs = name == PROMPT_IDS
            self.judged[name] = (
                self.pair.judge_inputs() if inputs else self.pair.judge(name, self.policy)
            )
        return self.judged[name]

    def fails(self, name: str) -> bool:
        """Whether the boundary is WRONG or NONFINITE."""
        return self.judge(name).outcome in FAULTS

    def limit(self, name: str) -> float | None:
        """The policy's limit at a checkpoint, or None."""
        entry = None if self.policy is None else self.policy.entry(name)
        return None if entry is None else entry.limit

    def after(self, boundary: str) -> str | None:
        """The last boundary before a failing one up to which everything is proved sound.

        None for `prompt_ids`: what stands before it is not examined here.
        """
        if boundary == PROMPT_IDS:
            return None
        sound = [name for name in self.pair.known if self._is_sound(name)]
        unproved = [name for name in self.pair.known if not self._is_sound(name)]
        return last_proof(sound, unproved, boundary) or PROMPT_IDS

    def _is_sound(self, name: str) -> bool:
        return name in self.judged and self.judged[name].outcome in SOUND

    def having(self, outcome: Outcome) -> list[str]:
        """The judged boundaries of one outcome, in ladder order."""
        found = self.judged
        return [n for n in self.boundaries if n in found and found[n].outcome is outcome]
