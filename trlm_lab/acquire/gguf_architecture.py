"""The architectures of GGUF files that are converted: their keys, tensors and what they imply.

Sources: the key and tensor tables of the ggml project's gguf package; its runtime for values that
no key gives; Gemma 3's published configuration for the period of its sliding layers and the base
of their rotation. A runtime that reads the same file is the check.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from trlm_lab.acquire.gguf_file import GgufFile
from trlm_lab.errors import GgufArchitectureError


@dataclass(frozen=True)
class GgufArchitecture:
    """One architecture: `name` is the word in the file and the prefix of its keys.

    Attributes:
        sizes: key without prefix -> `config.json` key, for integers that must be there.
        blocks: part of a tensor's name -> module of a layer in the source framework.
        implied: `config.json` keys that the architecture settles and no key gives.
        interleaved: query and key rows of a head lie interleaved, since the runtime of the format
            rotates neighbours; Hugging Face rotates coordinate i with i + E/2.
        unit_offset: norm weights are stored as 1 + w.
        layer_period: every so many layers one attends to all keys, the others slide; 0 for none.
        head_scale: `config.json` names the width of a head as the number that scales queries.
    """

    name: str
    model_class: str
    model_type: str
    sizes: Mapping[str, str]
    blocks: Mapping[str, str]
    implied: Mapping[str, Any]
    interleaved: bool = False
    unit_offset: bool = False
    layer_period: int = 0
    head_scale: bool = False
    top: Mapping[str, str] = field(
        default_factory=lambda: {
            "token_embd": "model.embed_tokens",
            "output_norm": "model.norm",
            "output": "lm_head",
        }
    )

    @property
    def prefix(self) -> str:
        """Of every key that the architecture has."""
        return f"{self.name}."

    def tensors(self, layers: int, tied: bool) -> int:
        """How many tensors a whole model of so many layers has."""
        return len(self.blocks) * layers + len(self.top) - tied


_SIZES = {
    "vocab_size": "vocab_size",
    "embedding_length": "hidden_size",
    "feed_forward_length": "intermediate_size",
    "block_count": "num_hidden_layers",
    "attention.head_count": "num_attention_heads",
    "attention.head_count_kv": "num_key_value_heads",
    "context_length": "max_position_embeddings",
}
_BLOCKS = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}

LLAMA = GgufArchitecture(
    name="llama",
    model_class="LlamaForCausalLM",
    model_type="llama",
    sizes=_SIZES,
    blocks=_BLOCKS,
    implied={"hidden_act": "silu", "attention_bias": False, "mlp_bias": False},
    interleaved=True,
)
GEMMA3 = GgufArchitecture(
    name="gemma3",
    model_class="Gemma3ForCausalLM",
    model_type="gemma3_text",
    sizes={**_SIZES, "attention.sliding_window": "sliding_window"},
    blocks={
        **_BLOCKS,
        "attn_q_norm": "self_attn.q_norm",
        "attn_k_norm": "self_attn.k_norm",
        "post_attention_norm": "post_attention_layernorm",
        "ffn_norm": "pre_feedforward_layernorm",
        "post_ffw_norm": "post_feedforward_layernorm",
    },
    implied={
        "hidden_activation": "gelu_pytorch_tanh",
        "attention_bias": False,
        "attn_logit_softcapping": None,
        "final_logit_softcapping": None,
        "rope_local_base_freq": 10000.0,
    },
    unit_offset=True,
    layer_period=6,
    head_scale=True,
)
ARCHITECTURES = {a.name: a for a in (LLAMA, GEMMA3)}


def architecture_of(file: GgufFile) -> GgufArchitecture:
    """The architecture that a file names.

    Raises:
        GgufArchitectureError: none, or one that is not converted.
    """
    found = file.fields.get("general.architecture")
    name = "" if found is None else found.value
    if not isinstance(name, str) or name not in ARCHITECTURES:
        known = ", ".join(ARCHITECTURES)
        shown = str(name)[:80] or "(none)"
        raise GgufArchitectureError(where=file.path.name, architecture=shown, known=known)
    return ARCHITECTURES[name]
