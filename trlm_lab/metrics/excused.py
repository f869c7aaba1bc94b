"""Where a frozen limit cannot judge: inputs on which float32 itself is noisier than calibrated.

Some inputs are ill-conditioned: at one token a gate stands where a rounding error grows a
hundredfold, and no calibration on other inputs shows it. There the source framework and a sound
engine part by more than the frozen limit, and neither is at fault.
"""

from __future__ import annotations

from dataclasses import replace

from trlm_lab.base.records import Outcome, PolicyEntry
from trlm_lab.metrics.judgement import Judgement


def excused(found: Judgement, entry: PolicyEntry, noise: float, factor: float) -> Judgement:
    """WRONG becomes UNSTABLE_ORACLE where the case's own noise explains it, and only there.

    `noise` is the larger of |oracle - float64| and |profile - float64| on this very case. It
    excuses an error beyond the limit if it is above everything that calibration measured at the
    checkpoint, and the error is at most `factor` times it. An excuse is no pass: the outcome is
    neither sound nor a fault, and a fault that exceeds the noise stays WRONG.
    """
    error = found.max_abs
    if found.outcome is not Outcome.WRONG or error is None or error <= entry.limit:
        return found
    calibrated = max(entry.floor, entry.algorithm)
    if noise <= calibrated or error > factor * noise:
        return found
    note = (
        f"float32 noise on this case is {noise:.3g}, calibration saw at most {calibrated:.3g}; "
        f"the error {error:.3g} is within {factor:g} times that noise"
    )
    return replace(found, outcome=Outcome.UNSTABLE_ORACLE, note=note)
