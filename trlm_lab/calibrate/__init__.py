"""Stage: measure the oracle's noise and set limits from it, before anything is judged."""

from trlm_lab.calibrate.disjoint import calibration_key, check_disjoint, input_id
from trlm_lab.calibrate.floor import (
    Floor,
    FloorMeter,
    NoiseFloors,
    checkpoint_floor,
    trace_stream,
)
from trlm_lab.calibrate.freeze import freeze, load_policy
from trlm_lab.calibrate.policy import SAFETY_FACTOR, OwnDrift, make_policy

__all__ = [
    "SAFETY_FACTOR",
    "Floor",
    "FloorMeter",
    "NoiseFloors",
    "OwnDrift",
    "calibration_key",
    "check_disjoint",
    "checkpoint_floor",
    "freeze",
    "input_id",
    "load_policy",
    "make_policy",
    "trace_stream",
]
