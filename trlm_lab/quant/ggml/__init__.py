"""Block formats of ggml, decoded: profiles pinned to a version, one file a format.

Each record holds `elements` consecutive columns of one row. The order of the float32 operations is
part of a profile; every product and every difference is rounded once. Source of the layouts: ggml
of llama.cpp as llama-cpp-python 0.3.36 holds it; the `gguf` package gives the same bits.
"""

from trlm_lab.base.registry import Registry
from trlm_lab.quant.ggml.decoder import GgmlDecoder
from trlm_lab.quant.ggml.q4_1 import Q4_1
from trlm_lab.quant.ggml.q4_k import Q4_K
from trlm_lab.quant.ggml.q6_k import Q6_K
from trlm_lab.quant.ggml.q8_0 import Q8_0

DECODERS: Registry[GgmlDecoder] = Registry("ggml block format")
for _decoder in (Q4_1, Q8_0, Q4_K, Q6_K):
    DECODERS.register(_decoder.name, _decoder)

__all__ = ["DECODERS", "GgmlDecoder"]
