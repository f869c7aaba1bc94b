"""Bounds of compiling and rendering; they are part of the compiled template's version."""

from __future__ import annotations

MAX_SOURCE_BYTES = 1 << 20
MAX_NODES = 1 << 16
#: Longest path from the root of a compiled template to a leaf.
MAX_NODE_DEPTH = 96
#: Nodes under evaluation at one time, macros included; keeps the interpreter's own stack bounded.
MAX_LIVE_DEPTH = 192
MAX_MACRO_DEPTH = 16
#: One step a node evaluated, one an item made or walked, one for each started 256 characters built.
MAX_STEPS = 1_000_000
CHARACTERS_A_STEP = 256
MAX_OUTPUT_BYTES = 8 << 20
MAX_TEXT_CHARACTERS = 8 << 20
MAX_RANGE = 100_000
#: Results of integer arithmetic.
MAX_INTEGER = 2**63 - 1
#: Integers of the caller lie between -MAX_DATA_INTEGER - 1 and MAX_DATA_INTEGER.
MAX_DATA_INTEGER = 2**64 - 1
MAX_DATA_DEPTH = 64
#: Lists within lists that a name may hold; deeper ones cannot be printed on a bounded stack.
MAX_VALUE_DEPTH = 80
