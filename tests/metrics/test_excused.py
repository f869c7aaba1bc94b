"""Only noise that calibration never saw excuses an error, and only up to the factor."""

import numpy as np
import pytest

from trlm_lab.base.records import Outcome, PolicyEntry, TolerancePolicy
from trlm_lab.metrics import ArrayPair

ENTRY = PolicyEntry("layers.0.output", 0.25, 2.0, "test", 0.5)
MASKED = PolicyEntry("layers.0.attn_masked", 0.25, 2.0, "test", 0.5)
POLICY = TolerancePolicy("p", 1, 4.0, "o", "r", "s", ("c",), (ENTRY, MASKED))
LOWEST = np.finfo(np.float32).min


def outcome(error: float, noise: float | None, name: str = "layers.0.output") -> Outcome:
    reference = np.zeros((1, 2, 2), np.float32)
    candidate = reference.copy()
    candidate[0, 1, 0] = error
    if name.endswith("masked"):
        reference[0, 0, 1] = LOWEST
        candidate[0, 0, 0] = LOWEST
    return ArrayPair(name, reference, candidate, noise=noise).judge(POLICY).outcome


@pytest.mark.parametrize(
    ("error", "noise", "expected"),
    [
        (0.25, 9.0, Outcome.MATCH),
        (2.0, 9.0, Outcome.DRIFT),
        (3.0, None, Outcome.WRONG),
        (3.0, 0.5, Outcome.WRONG),  # no noisier than what calibration saw
        (3.0, 0.75, Outcome.UNSTABLE_ORACLE),  # 4 x 0.75
        (3.5, 0.75, Outcome.WRONG),
        (np.nan, 9.0, Outcome.NONFINITE),
    ],
)
def test_the_rule(error: float, noise: float | None, expected: Outcome) -> None:
    assert outcome(error, noise) is expected


def test_a_wrong_mask_is_never_excused() -> None:
    assert outcome(3.0, 9.0, "layers.0.attn_masked") is Outcome.WRONG


def test_equal_bits_are_asked_for_without_a_policy() -> None:
    pair = ArrayPair("layers.0.output", np.zeros(2, np.float32), np.ones(2, np.float32), noise=9.0)
    assert pair.judge(None).outcome is Outcome.WRONG
