"""The conditions under which the oracle runs a case again."""

from __future__ import annotations

from dataclasses import dataclass

from trlm_lab.oracle.runner import THREADS


@dataclass(frozen=True)
class Condition:
    """One setting changed. `capability` is a value of ATEN_CPU_CAPABILITY, which a process reads
    once, so that such a condition runs in a process of its own; so does one without oneDNN.
    """

    name: str
    what: str
    threads: int = THREADS
    attention: str = "eager"
    onednn: bool = True
    capability: str | None = None
    batched: bool = False

    @property
    def needs_process(self) -> bool:
        """Whether the setting is one of a whole process."""
        return self.capability is not None or not self.onednn


BASELINE = Condition("baseline", "the pinned settings of the oracle")

CONDITIONS: tuple[Condition, ...] = (
    Condition("again", "the same run a second time; not one bit may differ"),
    Condition("threads-1", "one thread in place of two", threads=1),
    Condition(
        "sdpa", "torch's fused attention in place of the eager one; logits", attention="sdpa"
    ),
    Condition("batched", "in a batch, padded beside a longer case", batched=True),
    Condition("capability-default", "torch's kernels without vectors", capability="default"),
    Condition("capability-avx2", "torch's kernels for AVX2", capability="avx2"),
    Condition("capability-avx512", "torch's kernels for AVX-512", capability="avx512"),
    Condition("onednn-off", "without oneDNN", onednn=False),
)
