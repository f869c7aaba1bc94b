"""q4_g64: 4-bit codes in groups of 64; 32 bytes a group, byte j holds code j low, j + 32 high."""

from __future__ import annotations

from trlm_lab.quant.grouped import Grouped, Packing
from trlm_lab.quant.nibbles import pack_nibbles, signed, unpack_nibbles

Q4_G64 = Grouped(
    "q4_g64", 4, 64, Packing(32, pack_nibbles, lambda stored: signed(unpack_nibbles(stored), 4))
)
