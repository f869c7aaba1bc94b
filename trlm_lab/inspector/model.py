"""Whether the tensors are those of the configuration: a llama model's roles, counts and shapes."""

from __future__ import annotations

from collections import Counter
from typing import Any

from trlm_lab.base.records.inspection import InspectedTensor
from trlm_lab.inspector.report import Report


def check_model(report: Report, config: dict[str, Any], rows: tuple[InspectedTensor, ...]) -> None:
    """Note every role that occurs too often or too rarely, or with another shape."""
    if config.get("model_type") != "llama":
        return
    shapes = _shapes(config)
    counts = Counter(row.role for row in rows)
    layers = config["num_hidden_layers"]
    for role, shape in shapes.items():
        wanted = 1 if role in ("embedding", "final_norm", "lm_head") else layers
        if counts[role] != wanted:
            report.add("MODEL", f"role {role}", f"{counts[role]} tensors, {wanted} expected")
        for row in rows:
            if row.role == role and row.dims != shape:
                report.add("MODEL", f"tensor {row.name}", f"{row.dims}, the model has {shape}")
    head = next((row for row in rows if row.role == "lm_head"), None)
    tied = config.get("tie_word_embeddings")
    if head is not None and (head.layout == "alias") != bool(tied):
        report.add("MODEL", f"tensor {head.name}", f"{head.layout}, tie_word_embeddings is {tied}")


def _shapes(config: dict[str, Any]) -> dict[str, tuple[int, ...]]:
    d, f, v = config["hidden_size"], config["intermediate_size"], config["vocab_size"]
    q = config["num_attention_heads"] * config["head_dim"]
    kv = config["num_key_value_heads"] * config["head_dim"]
    return {
        "embedding": (v, d),
        "attn_norm": (d,),
        "q_proj": (q, d),
        "k_proj": (kv, d),
        "v_proj": (kv, d),
        "o_proj": (d, q),
        "mlp_norm": (d,),
        "gate_proj": (f, d),
        "up_proj": (f, d),
        "down_proj": (d, f),
        "final_norm": (d,),
        "lm_head": (v, d),
    }
