"""Floor 1: block formats of quantized matrices; one file a format, registered here by name."""

from trlm_lab.base.interfaces import BlockFormat
from trlm_lab.base.registry import Registry
from trlm_lab.quant.q8_r128 import Q8R128

FORMATS: Registry[BlockFormat] = Registry("block format")
FORMATS.register("q8_r128", Q8R128())

__all__ = ["FORMATS"]
