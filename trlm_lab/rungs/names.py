"""The quantization ladder: its ground, and the twelve rungs above it, in order.

Source: the conformance standard, "Quantization and packing conformance". Each rung follows from the
one below by one step, and each step is tested by itself.
"""

from __future__ import annotations

from typing import Final

#: The ground: the source's own words.
GROUND: Final = "source"
TWELVE: Final = (
    "semantic",
    "parameters",
    "codes",
    "packed",
    "unpacked",
    "dequantized",
    "scalar_dot",
    "kernel_dot",
    "operator",
    "layer",
    "logits",
    "token",
)
#: Name by number, the ground being number 0.
RUNGS: Final = (GROUND, *TWELVE)
