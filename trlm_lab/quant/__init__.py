"""Floor 1: block formats of matrices; one file a format, registered here by name."""

from dataclasses import replace

from trlm_lab.base.interfaces import BlockFormat
from trlm_lab.base.registry import Registry
from trlm_lab.quant.bf16 import BF16
from trlm_lab.quant.bf16_scales import Bf16Scales
from trlm_lab.quant.clipping import Clipping, Search
from trlm_lab.quant.e8m0_scales import E8m0Scales
from trlm_lab.quant.f16 import F16
from trlm_lab.quant.grouped import ABSMAX, HALF, Grouped
from trlm_lab.quant.q4_g64 import Q4_G64
from trlm_lab.quant.q5_g64 import Q5_G64
from trlm_lab.quant.q6_g64 import Q6_G64
from trlm_lab.quant.q8_r128 import Q8_R128
from trlm_lab.quant.scale_words import ScaleEncoding

FORMATS: Registry[BlockFormat] = Registry("block format")
GROUPED: Registry[Grouped] = Registry("grouped block format")
for _form in (Q8_R128, Q6_G64, Q5_G64, Q4_G64):
    FORMATS.register(_form.name, GROUPED.register(_form.name, _form))
FORMATS.register("f16", F16)
FORMATS.register("bf16", BF16)

SCALES: Registry[ScaleEncoding] = Registry("scale encoding")
for _encoding in (HALF, Bf16Scales(), E8m0Scales()):
    SCALES.register(_encoding.name, _encoding)


def block_format(name: str, encoding: str = "fp16", clipping: Clipping = ABSMAX) -> BlockFormat:
    """A format with its scales in an encoding; f16 and bf16 have none (`none`).

    Raises:
        UnknownNameError: no such format or encoding.
    """
    if name in GROUPED:
        return replace(GROUPED[name], encoding=SCALES[encoding], clipping=clipping)
    return FORMATS[name]


__all__ = ["ABSMAX", "FORMATS", "GROUPED", "SCALES", "Search", "block_format"]
