"""The tensors of a llama-family model by Hugging Face names: role and shape, in file order."""

from __future__ import annotations

from dataclasses import dataclass

from trlm_lab.base.records import EffectiveConfig
from trlm_lab.errors import PackUnsupportedError
from trlm_lab.slm.numbers import Role

EMBEDDING = "model.embed_tokens.weight"
HEAD = "lm_head.weight"
FINAL_NORM = "model.norm.weight"


@dataclass(frozen=True)
class ExpectedTensor:
    """A tensor that the configuration asks for; matrices are (out, in)."""

    name: str
    role: Role
    shape: tuple[int, ...]


def llama_tensors(config: EffectiveConfig) -> list[ExpectedTensor]:
    """Every tensor of the model: embedding, layers in the order of the forward pass, norm, head.

    Raises:
        PackUnsupportedError: projection biases, which have no roles yet.
    """
    for name in ("attention_bias", "mlp_bias"):
        if getattr(config, name):
            raise PackUnsupportedError(where=f"config.{name}", detail="biases are not packed yet")
    v, d = config.vocab_size, config.hidden_size
    layers = [t for i in range(config.num_hidden_layers) for t in _layer(config, i)]
    return [
        ExpectedTensor(EMBEDDING, Role.embedding, (v, d)),
        *layers,
        ExpectedTensor(FINAL_NORM, Role.final_norm, (d,)),
        ExpectedTensor(HEAD, Role.lm_head, (v, d)),
    ]


def _layer(config: EffectiveConfig, index: int) -> list[ExpectedTensor]:
    d, f = config.hidden_size, config.intermediate_size
    he = config.num_attention_heads * config.head_dim
    ke = config.num_key_value_heads * config.head_dim
    rows: list[tuple[str, Role, tuple[int, ...]]] = [
        ("input_layernorm", Role.attn_norm, (d,)),
        ("self_attn.q_proj", Role.q_proj, (he, d)),
        ("self_attn.k_proj", Role.k_proj, (ke, d)),
        ("self_attn.v_proj", Role.v_proj, (ke, d)),
        ("self_attn.o_proj", Role.o_proj, (d, he)),
        ("post_attention_layernorm", Role.mlp_norm, (d,)),
        ("mlp.gate_proj", Role.gate_proj, (f, d)),
        ("mlp.up_proj", Role.up_proj, (f, d)),
        ("mlp.down_proj", Role.down_proj, (d, f)),
    ]
    prefix = f"model.layers.{index}."
    return [ExpectedTensor(f"{prefix}{name}.weight", role, shape) for name, role, shape in rows]
