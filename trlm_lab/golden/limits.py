"""The numbers of the format page: limits, item sizes, the schema's name."""

from __future__ import annotations

from typing import Final

SCHEMA: Final = "tinyrustlm.golden.v1"
FAMILY: Final = "tinyrustlm.golden.v"

FILE_BYTES: Final = 1 << 24
ITEMS: Final = 1_000_000
DEPTH: Final = 16
OBSERVATIONS: Final = 10_000
RANK: Final = 8
DIMENSION: Final = 1 << 31
ARRAY_BYTES: Final = 1 << 32

#: Bytes of one element, by dtype.
ITEM_SIZES: Final = {"f32": 4, "f16": 2, "bf16": 2, "f64": 8, "i32": 4, "i64": 8, "u8": 1}

PUBLIC: Final = "public_mechanical"
PRIVATE: Final = "private_behavior_commitment"
KINDS: Final = ("utf8", "bytes", "token_ids")
