"""Nine small configurations made by hand, each with what its family implies, for engines' tests.

They are no models of the source: sizes are small and unlike one another, windows and caps are small
enough to bite in a case of five tokens, and what a family may have it has.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.plain_llama import plain_llama

FAMILIES = ("llama", "mistral", "qwen2", "qwen3", "gemma2", "gemma3", "gpt2", "olmo2", "phi3")
EPS = float(np.float32(1e-5))
SLIDES, FULL = "sliding_attention", "full_attention"


def frequencies(theta: float, rotated: int) -> tuple[float, ...]:
    """theta^(-2i/rotated) as a source forms it in float32, `rotated` coordinates of a head."""
    exponents = np.arange(0, rotated, 2, dtype=np.float32) / np.float32(rotated)
    values = np.float32(1) / np.power(np.float32(theta), exponents, dtype=np.float32)
    return tuple(float(f) for f in values)


def _layers(*types: str) -> dict[str, Any]:
    return {"num_hidden_layers": len(types), "layer_types": types}


def _gemma(hidden: int, head_dim: int) -> dict[str, Any]:
    return {
        "hidden_size": hidden,
        "head_dim": head_dim,
        "norm_unit_offset": True,
        "norm_placement": "sandwich",
        "hidden_act": "gelu_tanh",
        "embedding_scale": float(np.float32(hidden**0.5)),
        "attention_scale": float(np.float32((head_dim + 3) ** -0.5)),
        "sliding_window": 3,
    }


#: What each family changes in the plain llama.
CHANGES: dict[str, dict[str, Any]] = {
    "llama": {},
    "mistral": {**_layers(SLIDES, SLIDES), "sliding_window": 3, "tie_word_embeddings": False},
    "qwen2": {"attention_bias": True},
    "qwen3": {"qk_norm": "head", "rope_attention_factor": float(np.float32(1.1386294))},
    "gemma2": {
        **_gemma(44, 14),
        **_layers(SLIDES, FULL, SLIDES),
        "attn_logit_softcapping": 1.5,
        "final_logit_softcapping": 2.5,
    },
    "gemma3": {
        **_gemma(40, 12),
        **_layers(SLIDES, SLIDES, FULL),
        "qk_norm": "head",
        "rope_theta": 1e6,
        "rope_local_base_freq": 1e4,
    },
    "gpt2": {
        "hidden_size": 42,
        "head_dim": 7,
        "num_key_value_heads": 6,
        "rms_norm_eps": None,
        "layer_norm_epsilon": EPS,
        "rope_order": "none",
        "rope_theta": 0.0,
        "hidden_act": "gelu_tanh",
        "mlp_gated": False,
        "attention_bias": True,
        "attention_out_bias": True,
        "mlp_bias": True,
    },
    "olmo2": {"norm_placement": "post", "qk_norm": "joined", "tie_word_embeddings": False},
    "phi3": {
        **_layers(SLIDES, SLIDES),
        "sliding_window": 4,
        "head_dim": 14,
        "tie_word_embeddings": False,
    },
}
#: Coordinates of a head that turn, where these are not all.
ROTATED = {"phi3": 6}

SIZES: dict[str, Any] = {
    "vocab_size": 67,
    "hidden_size": 36,
    "intermediate_size": 90,
    "num_hidden_layers": 2,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "head_dim": 10,
    "max_position_embeddings": 64,
    "rms_norm_eps": EPS,
    "rope_theta": 10000.0,
    "tie_word_embeddings": True,
    "bos_token_id": 1,
    "eos_token_id": (2,),
    "pad_token_id": None,
    "unk_token_id": 0,
}


def family_fields(family: str, **changes: Any) -> dict[str, Any]:
    """Every field of a family's small configuration; what follows from a change follows it."""
    row = {**plain_llama(2), **SIZES, "model_type": family, **CHANGES[family], **changes}
    row["model_type"] = {"gemma3": "gemma3_text"}.get(row["model_type"], row["model_type"])
    if "num_hidden_layers" in changes and "layer_types" not in changes:
        row["layer_types"] = (row["layer_types"] * row["num_hidden_layers"])[
            : row["num_hidden_layers"]
        ]
    row.setdefault("attention_scale", float(np.float32(row["head_dim"] ** -0.5)))
    rotated = ROTATED.get(family, row["head_dim"])
    local = row["rope_local_base_freq"]
    if "rope_inv_freq" not in row:
        row["rope_inv_freq"] = frequencies(row["rope_theta"], rotated) if row["rope_theta"] else ()
    if local is not None and not row["rope_local_inv_freq"]:
        row["rope_local_inv_freq"] = frequencies(local, rotated)
    return row
