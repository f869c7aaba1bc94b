"""Planted faults of the quantization ladder, one side of the road a file."""

from trlm_lab.flows.quant_ladder.faults.catalogue import (
    LADDER_FAULTS,
    expected_rungs,
    fault_refusal,
    planted_route,
)
from trlm_lab.flows.quant_ladder.faults.fault import LadderFault

__all__ = ["LADDER_FAULTS", "LadderFault", "expected_rungs", "fault_refusal", "planted_route"]
