"""Whether the tensors are those of the configuration: names, roles and shapes of a decoder.

Written from docs/formats/slm2-configuration.md, apart from the lists that the packer reads.
"""

from __future__ import annotations

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
    """Note every tensor that is missing or not asked for, or has another role or shape.

    A sparse residual belongs to its base and is no tensor of the model.
    """
    rows = tuple(row for row in rows if row.layout != "sparse_residual")
    wanted = model_of(config)
    for row in rows:
        role, shape = wanted.pop(row.name, ("", ()))
        if (row.role, row.dims) != (role, shape):
            detail = f"{row.role} of {row.dims}, the model has {role or 'no such tensor'} {shape}"
            report.add("SLM_MODEL", f"tensor {row.name}", detail)
        tied = role == "lm_head" and config["tie_word_embeddings"]
        if (row.layout == "alias") != tied:
            detail = f"{row.layout}, tie_word_embeddings is {config['tie_word_embeddings']}"
            report.add("SLM_MODEL", f"tensor {row.name}", detail)
    if wanted:
        some = ", ".join(sorted(wanted)[:3])
        report.add("SLM_MODEL", "the directory", f"{len(wanted)} tensors are missing: {some}")


def model_of(config: dict[str, Any]) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Role and shape of every tensor by its name."""
    found = {_name(role, config): (role, shape) for role, shape in _outside(config).items()}
    inner = _layer(config)
    for layer in range(config["num_hidden_layers"]):
        for role, shape in inner.items():
            found[f"model.layers.{layer}.{_name(role, config)}"] = (role, shape)
    return found


#: Modules whose names depend on nothing; projections of a layer are named by their roles.
_MODULES = {
    "embedding": "model.embed_tokens",
    "position_embedding": "model.embed_positions",
    "final_norm": "model.norm",
    "lm_head": "lm_head",
    "attn_norm": "input_layernorm",
    "post_attn_norm": "post_attention_layernorm",
    "post_mlp_norm": "post_feedforward_layernorm",
}


def _name(role: str, config: dict[str, Any]) -> str:
    """The name of a role's tensor, without a layer's prefix."""
    plain = role.removesuffix("_bias")
    if plain == "mlp_norm":
        sandwich = config["norm_placement"] == "sandwich"
        module = "pre_feedforward_layernorm" if sandwich else "post_attention_layernorm"
    else:
        inner = "mlp" if plain in ("gate_proj", "up_proj", "down_proj") else "self_attn"
        module = _MODULES.get(plain, f"{inner}.{plain}")
    return f"{module}.bias" if role.endswith("_bias") else f"{module}.weight"


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
