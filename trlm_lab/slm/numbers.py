"""The numbers of SLM2: dtypes, layouts, scale encodings, codecs, shard kinds, flags and roles."""

from __future__ import annotations

from enum import IntEnum, IntFlag


class DType(IntEnum):
    """Storage form of a tensor's elements."""

    f32 = 1
    f16 = 2
    bf16 = 3
    q8_r128 = 4
    q6_g64 = 5
    q5_g64 = 6
    q4_g64 = 7


class Layout(IntEnum):
    """How a descriptor refers to its payload."""

    dense = 0
    alias = 1
    sparse_residual = 2
    external_piece_map = 3


class ScaleEncoding(IntEnum):
    """Storage form of a quantized tensor's scales."""

    none = 0
    fp16 = 1
    bf16 = 2
    e8m0 = 3


class Codec(IntEnum):
    """Compression of stored pieces."""

    none = 0
    zstd = 1
    brotli = 2


class ShardKind(IntEnum):
    """Where a shard's bytes come from."""

    local_file = 0
    http = 1
    p2p = 2


class TensorFlag(IntFlag):
    """Bits of a descriptor's flags; `tied` marks a head that aliases the embedding."""

    tied = 1
    optional = 2
    entropy_compressed_piecewise = 4


class Role(IntEnum):
    """What a tensor does in the model."""

    other = 0
    embedding = 1
    q_proj = 2
    k_proj = 3
    v_proj = 4
    o_proj = 5
    gate_proj = 6
    up_proj = 7
    down_proj = 8
    attn_norm = 9
    mlp_norm = 10
    final_norm = 11
    lm_head = 12
    q_norm = 13
    k_norm = 14
    post_attn_norm = 15
    post_mlp_norm = 16
    position_embedding = 17
    q_proj_bias = 18
    k_proj_bias = 19
    v_proj_bias = 20
    o_proj_bias = 21
    gate_proj_bias = 22
    up_proj_bias = 23
    down_proj_bias = 24
    attn_norm_bias = 25
    mlp_norm_bias = 26
    final_norm_bias = 27
