"""What a llama implies in an effective configuration, for tests that build one by hand."""

from typing import Any


def plain_llama(layers: int) -> dict[str, Any]:
    """The fields that have one value in every plain llama."""
    return {
        "model_type": "llama",
        "layer_norm_epsilon": None,
        "norm_unit_offset": False,
        "norm_placement": "pre",
        "qk_norm": "none",
        "rope_order": "half_split",
        "rope_attention_factor": 1.0,
        "rope_local_base_freq": None,
        "rope_local_inv_freq": (),
        "attn_logit_softcapping": None,
        "final_logit_softcapping": None,
        "sliding_window": None,
        "layer_types": ("full_attention",) * layers,
        "hidden_act": "silu",
        "mlp_gated": True,
        "embedding_scale": 1.0,
        "attention_bias": False,
        "attention_out_bias": False,
        "mlp_bias": False,
    }
