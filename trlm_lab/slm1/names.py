"""Which tensors an SLM1 file holds, by its header; the directory has hashes of their names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from trlm_lab.base.model_parts import EMBEDDING, FINAL_NORM, HEAD
from trlm_lab.slm1.header import Header

TOK_EMBEDDINGS: Final = "tok_embeddings.weight"
OUTPUT: Final = "output.weight"
_FNV_OFFSET: Final = 0xCBF29CE484222325
_FNV_PRIME: Final = 0x100000001B3

#: A layer's names in the order of the forward pass, each beside the source's module.
_LAYER: Final = (
    ("attn_norm", "input_layernorm"),
    ("wq", "self_attn.q_proj"),
    ("wk", "self_attn.k_proj"),
    ("wv", "self_attn.v_proj"),
    ("wo", "self_attn.o_proj"),
    ("ffn_norm", "post_attention_layernorm"),
    ("w1", "mlp.gate_proj"),
    ("w2", "mlp.down_proj"),
    ("w3", "mlp.up_proj"),
)


def fnv1a64(name: str) -> int:
    """FNV-1a with 64 bits over the UTF-8 bytes of a name."""
    value = _FNV_OFFSET
    for byte in name.encode():
        value = (value ^ byte) * _FNV_PRIME & (1 << 64) - 1
    return value


@dataclass(frozen=True)
class NamedTensor:
    """A tensor of the model: SLM1's name, the source's name, dimensions (matrices are out x in).

    `rotary_heads` are the heads of a matrix whose rows are stored in interleaved pairs, else 0.
    """

    name: str
    source_name: str
    dims: tuple[int, ...]
    rotary_heads: int = 0


def tensors_of(header: Header) -> list[NamedTensor]:
    """Every tensor of the model, `output.weight` last."""
    vocab, hidden = header.vocab, header.hidden
    rows = [NamedTensor(TOK_EMBEDDINGS, EMBEDDING, (vocab, hidden))]
    for layer in range(header.layers):
        rows += _layer(header, layer)
    rows.append(NamedTensor("norm.weight", FINAL_NORM, (hidden,)))
    return [*rows, NamedTensor(OUTPUT, HEAD, (vocab, hidden))]


def _layer(header: Header, layer: int) -> list[NamedTensor]:
    hidden, ffn = header.hidden, header.ffn
    queries, keys = header.heads * header.head_dim, header.kv_heads * header.head_dim
    dims: dict[str, tuple[int, ...]] = {
        "attn_norm": (hidden,),
        "wq": (queries, hidden),
        "wk": (keys, hidden),
        "wv": (keys, hidden),
        "wo": (hidden, queries),
        "ffn_norm": (hidden,),
        "w1": (ffn, hidden),
        "w2": (hidden, ffn),
        "w3": (ffn, hidden),
    }
    heads = {"wq": header.heads, "wk": header.kv_heads}
    return [
        NamedTensor(
            f"layers.{layer}.{name}.weight",
            f"model.layers.{layer}.{module}.weight",
            dims[name],
            heads.get(name, 0),
        )
        for name, module in _LAYER
    ]
