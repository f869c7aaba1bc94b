"""The catalogue of planted faults: what can go wrong in an engine, one operator a file."""

from trlm_lab.backends.faults.catalogue import (
    CATALOGUE,
    Expected,
    Planting,
    default_layers,
    expected_boundaries,
    planting,
    plantings,
    refusal,
)
from trlm_lab.backends.faults.fault import Fault

__all__ = [
    "CATALOGUE",
    "Expected",
    "Fault",
    "Planting",
    "default_layers",
    "expected_boundaries",
    "planting",
    "plantings",
    "refusal",
]
