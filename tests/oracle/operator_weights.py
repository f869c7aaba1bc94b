"""Weights of a stored model by operator, split and turned by hand, not by the packer's tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file

from trlm_lab.base.records import EffectiveConfig

Weights = dict[str, NDArray[Any]]

_NORMS = {
    "pre": {"attn_norm": "input", "mlp_norm": "post_attention"},
    "post": {"post_attn_norm": "post_attention", "post_mlp_norm": "post_feedforward"},
    "sandwich": {
        "attn_norm": "input",
        "post_attn_norm": "post_attention",
        "mlp_norm": "pre_feedforward",
        "post_mlp_norm": "post_feedforward",
    },
}


def operator_weights(model_dir: Path, config: EffectiveConfig) -> Weights:
    """`q_proj.0` is q_proj of layer 0 as (out, in), `q_proj.0.bias` its bias."""
    stored = load_file(model_dir / "model.safetensors")
    if config.model_type == "gpt2":
        return _gpt2(stored, config)
    head = stored.get("lm_head.weight", stored["model.embed_tokens.weight"])
    found: Weights = {
        "embedding": stored["model.embed_tokens.weight"],
        "final_norm": stored["model.norm.weight"],
        "lm_head": head,
    }
    for layer in range(config.num_hidden_layers):
        prefix = f"model.layers.{layer}"
        for op, module in _NORMS[config.norm_placement].items():
            found[f"{op}.{layer}"] = stored[f"{prefix}.{module}_layernorm.weight"]
        for name, value in stored.items():
            if name.startswith((f"{prefix}.self_attn.", f"{prefix}.mlp.")):
                op, kind = name.split(".")[-2:]
                found[f"{op}.{layer}" + (".bias" if kind == "bias" else "")] = value
        if config.model_type == "phi3":
            _split_phi3(found, layer, config)
    return found


def _split_phi3(found: Weights, layer: int, config: EffectiveConfig) -> None:
    queries = config.num_attention_heads * config.head_dim
    keys = config.num_key_value_heads * config.head_dim
    parts = np.split(found.pop(f"qkv_proj.{layer}"), [queries, queries + keys])
    for op, part in zip(("q_proj", "k_proj", "v_proj"), parts, strict=True):
        found[f"{op}.{layer}"] = part
    gate, up = np.split(found.pop(f"gate_up_proj.{layer}"), 2)
    found[f"gate_proj.{layer}"], found[f"up_proj.{layer}"] = gate, up


def _gpt2(stored: Weights, config: EffectiveConfig) -> Weights:
    found = {
        "embedding": stored["transformer.wte.weight"],
        "positions": stored["transformer.wpe.weight"],
        "final_norm": stored["transformer.ln_f.weight"],
        "final_norm.bias": stored["transformer.ln_f.bias"],
        "lm_head": stored["transformer.wte.weight"],
    }
    modules = {
        "attn_norm": "ln_1", "o_proj": "attn.c_proj", "mlp_norm": "ln_2", "up_proj": "mlp.c_fc",
        "down_proj": "mlp.c_proj",
    }  # fmt: skip
    for layer in range(config.num_hidden_layers):
        prefix = f"transformer.h.{layer}"
        for op, module in modules.items():
            found[f"{op}.{layer}"] = stored[f"{prefix}.{module}.weight"].T
            found[f"{op}.{layer}.bias"] = stored[f"{prefix}.{module}.bias"]
        fused = stored[f"{prefix}.attn.c_attn.weight"].T, stored[f"{prefix}.attn.c_attn.bias"]
        for op, weight, bias in zip(
            ("q_proj", "k_proj", "v_proj"), *(np.split(array, 3) for array in fused), strict=True
        ):
            found[f"{op}.{layer}"], found[f"{op}.{layer}.bias"] = weight, bias
    return found
