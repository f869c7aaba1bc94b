"""The margin rule: when another greedy token is a tie, and when it is a contradiction.

With m the reference's gap between its two highest logits and e the bound on the error of a logit,
m <= 2e means that the error alone can swap the two; m > 2e means that it cannot.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Float64, Int64
from numpy.typing import NDArray

from trlm_lab.base.records import Outcome

Array = NDArray[Any]


@dataclass(frozen=True)
class GreedyChange:
    """A position whose greedy tokens differ; `margin` is the reference's gap m."""

    position: int
    reference_token: int
    candidate_token: int
    margin: float
    bound: float

    @property
    def outcome(self) -> Outcome:
        """TIE where m <= 2e, else WRONG."""
        return Outcome.TIE if self.margin <= 2.0 * self.bound else Outcome.WRONG

    @property
    def note(self) -> str:
        """One sentence with the figures."""
        sign = "<=" if self.outcome is Outcome.TIE else ">"
        return (
            f"position {self.position}: greedy token {self.candidate_token} instead of "
            f"{self.reference_token}, margin {self.margin:.6g} {sign} 2 x {self.bound:.6g}"
        )


def top_margins(logits: Float[Array, "T V"]) -> Float64[Array, " T"]:
    """Gap between the highest and the second highest logit of each row (T, V); V is 2 or more."""
    pair = np.partition(logits, logits.shape[-1] - 2, axis=-1)[:, -2:].astype(np.float64)
    gap: NDArray[np.float64] = pair[:, 1] - pair[:, 0]
    return gap


def greedy_changes(
    reference: Float[Array, "T V"], tokens: Int64[Array, " T"], bound: float
) -> list[GreedyChange]:
    """Positions at which `tokens` (T,) are not the reference's (T, V) greedy tokens.

    The greedy token is the lowest id among the highest logits.
    """
    own = np.argmax(reference, axis=-1)
    where = np.flatnonzero(own != tokens)
    if where.size == 0:
        return []
    margins = top_margins(reference[where])
    return [
        GreedyChange(int(t), int(own[t]), int(tokens[t]), float(m), bound)
        for t, m in zip(where, margins, strict=True)
    ]


def gravest_change(changes: list[GreedyChange]) -> GreedyChange | None:
    """The first contradiction, else the first tie, else None."""
    hard = [c for c in changes if c.outcome is Outcome.WRONG]
    return next(iter(hard or changes), None)
