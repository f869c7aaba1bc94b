"""Which checkpoints and tensors a model has, by its effective configuration alone.

Tensors have one set of names for all families, those of the source's llama, so that an engine needs
no table of families; where a family's own names or shapes differ (GPT-2, the fused projections of
Phi-3), the packer's ledger says which source tensor became which. `post_attention_layernorm` is, as
in the source, the norm before the MLP in a `pre` model and the norm behind attention in the others.
"""

from __future__ import annotations

from dataclasses import dataclass

from trlm_lab.base.model_shape import ModelShape
from trlm_lab.base.names import LAYER_CHECKPOINTS, layer_checkpoint

EMBEDDING = "model.embed_tokens.weight"
POSITIONS = "model.embed_positions.weight"
FINAL_NORM = "model.norm.weight"
FINAL_NORM_BIAS = "model.norm.bias"
HEAD = "lm_head.weight"

#: Module of each norm of a layer, by placement.
_NORMS: dict[str, dict[str, str]] = {
    "pre": {"attn_norm": "input_layernorm", "mlp_norm": "post_attention_layernorm"},
    "post": {
        "post_attn_norm": "post_attention_layernorm",
        "post_mlp_norm": "post_feedforward_layernorm",
    },
    "sandwich": {
        "attn_norm": "input_layernorm",
        "post_attn_norm": "post_attention_layernorm",
        "mlp_norm": "pre_feedforward_layernorm",
        "post_mlp_norm": "post_feedforward_layernorm",
    },
}
_ATTENTION = ("q_proj", "k_proj", "v_proj", "o_proj")
_MLP = ("gate_proj", "up_proj", "down_proj")


@dataclass(frozen=True)
class ModelTensor:
    """A tensor of the model: its name, its role and its shape; matrices are (out, in)."""

    name: str
    role: str
    shape: tuple[int, ...]


def layer_ops(config: ModelShape) -> tuple[str, ...]:
    """The checkpoints of one layer that the model has, in ladder order."""
    absent = {op for norms in _NORMS.values() for op in norms} - set(_NORMS[config.norm_placement])
    if config.qk_norm == "none":
        absent |= {"q_norm", "k_norm"}
    if config.rope_order == "none":
        absent |= {"q_rope", "k_rope"}
    if not config.mlp_gated:
        absent.add("gate_proj")
    return tuple(op for op in LAYER_CHECKPOINTS if op not in absent)


def ladder_of(config: ModelShape) -> list[str]:
    """Every checkpoint of the model, in order."""
    ops = layer_ops(config)
    inner = [layer_checkpoint(i, op) for i in range(config.num_hidden_layers) for op in ops]
    return ["embedding", *inner, "final_norm", "logits"]


def tensor_name(config: ModelShape, op: str, layer: int) -> str:
    """The weight of operator `op` of a layer; its bias has `.bias` in place of `.weight`."""
    return f"model.layers.{layer}.{_modules(config)[op]}.weight"


def has_bias(config: ModelShape, op: str) -> bool:
    """Whether operator `op` (a projection, or a norm's checkpoint) adds a bias."""
    if op in ("q_proj", "k_proj", "v_proj"):
        return config.attention_bias
    if op == "o_proj":
        return config.attention_out_bias
    if op in _MLP:
        return config.mlp_bias
    return config.layer_norm_epsilon is not None and op.endswith("norm")


def layer_tensors(config: ModelShape, layer: int) -> list[ModelTensor]:
    """The tensors of one layer in the order of the forward pass, a bias behind its weight.

    Roles are the operator's checkpoint, with `_bias` added for its bias.
    """
    rows: list[ModelTensor] = []
    for op, module in _modules(config).items():
        name = f"model.layers.{layer}.{module}"
        shape = _shape(config, op)
        rows.append(ModelTensor(f"{name}.weight", op, shape))
        if has_bias(config, op):
            rows.append(ModelTensor(f"{name}.bias", f"{op}_bias", shape[:1]))
    return rows


def model_tensors(config: ModelShape) -> list[ModelTensor]:
    """Every tensor: embedding, learned positions, layers, final norm, head."""
    hidden, vocab = config.hidden_size, config.vocab_size
    rows = [ModelTensor(EMBEDDING, "embedding", (vocab, hidden))]
    if config.rope_order == "none":
        length = config.max_position_embeddings
        rows.append(ModelTensor(POSITIONS, "position_embedding", (length, hidden)))
    for layer in range(config.num_hidden_layers):
        rows += layer_tensors(config, layer)
    rows.append(ModelTensor(FINAL_NORM, "final_norm", (hidden,)))
    if has_bias(config, "final_norm"):
        rows.append(ModelTensor(FINAL_NORM_BIAS, "final_norm_bias", (hidden,)))
    return [*rows, ModelTensor(HEAD, "lm_head", (vocab, hidden))]


def _modules(config: ModelShape) -> dict[str, str]:
    """Operator to module, in the order of the forward pass."""
    norms = _NORMS[config.norm_placement]
    inner = {} if config.qk_norm == "none" else {"q_norm": "q_norm", "k_norm": "k_norm"}
    mlp = _MLP if config.mlp_gated else _MLP[1:]
    modules = {op: norms[op] for op in ("attn_norm",) if op in norms}
    modules |= {op: f"self_attn.{op}" for op in (*_ATTENTION[:3], *inner, _ATTENTION[3])}
    modules |= {op: norms[op] for op in ("post_attn_norm", "mlp_norm") if op in norms}
    modules |= {op: f"mlp.{op}" for op in mlp}
    return modules | {op: norms[op] for op in ("post_mlp_norm",) if op in norms}


def _shape(config: ModelShape, op: str) -> tuple[int, ...]:
    D, F, E = config.hidden_size, config.intermediate_size, config.head_dim
    queries, keys = config.num_attention_heads * E, config.num_key_value_heads * E
    joined = config.qk_norm == "joined"
    shapes: dict[str, tuple[int, ...]] = {
        "q_proj": (queries, D),
        "k_proj": (keys, D),
        "v_proj": (keys, D),
        "q_norm": (queries if joined else E,),
        "k_norm": (keys if joined else E,),
        "o_proj": (D, queries),
        "gate_proj": (F, D),
        "up_proj": (F, D),
        "down_proj": (D, F),
    }
    return shapes.get(op, (D,))
