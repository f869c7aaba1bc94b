"""Stage: name the first boundary at which a candidate departs from the oracle."""

from trlm_lab.bisection.find import find_first_mismatch
from trlm_lab.bisection.scoreboard import (
    Expectation,
    Scoreboard,
    Standing,
    Trial,
    scoreboard,
)

__all__ = [
    "Expectation",
    "Scoreboard",
    "Standing",
    "Trial",
    "find_first_mismatch",
    "scoreboard",
]
