"""q8_r128: 8-bit codes in groups of 128, one byte a code, in column order.

Only the last group of a row may be shorter. The profile is data/profiles/quantization/q8_r128.json.
"""

from __future__ import annotations

import numpy as np

from trlm_lab.quant.grouped import Grouped, Packing

Q8_R128 = Grouped(
    "q8_r128", 8, 128, Packing(64, lambda codes: codes.view(np.uint8), lambda b: b.view(np.int8))
)
