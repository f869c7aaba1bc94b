"""bf16: the upper half of a float32, nearest, ties to even; subnormals are kept."""

from __future__ import annotations

from trlm_lab.quant.bf16_scales import BF16_MAX, Bf16Scales, bf16_words
from trlm_lab.quant.narrow_floats import NarrowFloats

BF16 = NarrowFloats("bf16", BF16_MAX, bf16_words, Bf16Scales().values)
