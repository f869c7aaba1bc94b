"""Whether the tensors are those of the configuration: roles, counts and shapes of a decoder.

Written from docs/checkpoints.md and docs/families.md, apart from the lists that the packer reads.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from trlm_lab.base.records.inspection import InspectedTensor
from trlm_lab.inspector.report import Report

Shapes = dict[str, tuple[int, ...]]

#: Norms of a layer, by where they stand.
_NORMS = {
    "pre": ("attn_norm", "mlp_norm"),
    "post": ("post_attn_norm", "post_mlp_norm"),
    "sandwich": ("attn_norm", "post_attn_norm", "mlp_norm", "post_mlp_norm"),
}


def check_model(report: Report, config: dict[str, Any], rows: tuple[InspectedTensor, ...]) -> None:
    """Note every role that occurs too often or too rarely, or with another shape.

    A sparse residual belongs to its base and is no tensor of the model.
    """
    rows = tuple(row for row in rows if row.layout != "sparse_residual")
    if config.get("model_type") != "llama" and "norm_placement" not in config:
        return
    once, layered = _outside(config), _layer(config)
    counts = Counter(row.role for row in rows)
    layers = config["num_hidden_layers"]
    for role, shape in {**once, **layered}.items():
        wanted = layers if role in layered else 1
        if counts[role] != wanted:
            report.add("MODEL", f"role {role}", f"{counts[role]} tensors, {wanted} expected")
        for row in rows:
            if row.role == role and row.dims != shape:
                report.add("MODEL", f"tensor {row.name}", f"{row.dims}, the model has {shape}")
    for role in sorted(counts.keys() - once.keys() - layered.keys()):
        report.add("MODEL", f"role {role}", f"{counts[role]} tensors, the model has none")
    head = next((row for row in rows if row.role == "lm_head"), None)
    tied = config.get("tie_word_embeddings")
    if head is not None and (head.layout == "alias") != bool(tied):
        report.add("MODEL", f"tensor {head.name}", f"{head.layout}, tie_word_embeddings is {tied}")


def _outside(config: dict[str, Any]) -> Shapes:
    """What stands before and behind the layers."""
    d, v = config["hidden_size"], config["vocab_size"]
    shapes: Shapes = {"embedding": (v, d), "final_norm": (d,), "lm_head": (v, d)}
    if config.get("rope_order") == "none":
        shapes["position_embedding"] = (config["max_position_embeddings"], d)
    return shapes | ({"final_norm_bias": (d,)} if _layer_norm(config) else {})


def _layer(config: dict[str, Any]) -> Shapes:
    """What stands once in every layer."""
    d, f = config["hidden_size"], config["intermediate_size"]
    q = config["num_attention_heads"] * config["head_dim"]
    kv = config["num_key_value_heads"] * config["head_dim"]
    attention: Shapes = {"q_proj": (q, d), "k_proj": (kv, d), "v_proj": (kv, d)}
    mlp: Shapes = {"gate_proj": (f, d)} if config.get("mlp_gated", True) else {}
    mlp |= {"up_proj": (f, d), "down_proj": (d, f)}
    norms = _NORMS.get(config.get("norm_placement", "pre"), ())
    shapes: Shapes = {**attention, "o_proj": (d, q), **mlp, **dict.fromkeys(norms, (d,))}
    biased = [*attention] if config.get("attention_bias") else []
    biased += ["o_proj"] if config.get("attention_out_bias") else []
    biased += [*mlp] if config.get("mlp_bias") else []
    biased += norms if _layer_norm(config) else ()
    shapes |= {f"{role}_bias": shapes[role][:1] for role in biased}
    kind, width = config.get("qk_norm", "none"), config["head_dim"]
    if kind != "none":
        widths = (width, width) if kind == "head" else (q, kv)
        shapes |= {"q_norm": (widths[0],), "k_norm": (widths[1],)}
    return shapes


def _layer_norm(config: dict[str, Any]) -> bool:
    """Whether the norms are LayerNorms, each with a bias."""
    return config.get("layer_norm_epsilon") is not None
