"""Tiny random models of every family, by the same integer bits as the small llama.

Each has what makes its family differ: fewer key heads than query heads, windows that a case of a
dozen tokens outgrows, soft caps that bend, norms and biases that are not all one or nought. What
stands in `config.json` are facts of the families' configuration classes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from trlm_lab.base.model_parts import HEAD
from trlm_lab.base.source_tensors import source_tensors

_SIZES: Final[dict[str, int]] = {
    "vocab_size": 512, "hidden_size": 48, "intermediate_size": 80, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16,
    "max_position_embeddings": 256,
}  # fmt: skip
#: Sizes by the names that GPT-2 has for them; what is left out follows from the others.
_GPT2_SIZES: Final[dict[str, str]] = {
    "n_embd": "hidden_size", "n_inner": "intermediate_size", "n_layer": "num_hidden_layers",
    "n_head": "num_attention_heads", "n_positions": "max_position_embeddings",
    "vocab_size": "vocab_size",
}  # fmt: skip
_EPS = 1e-5
_WINDOW = 6
_DEFAULT_ROPE: dict[str, Any] = {"rope_type": "default", "rope_theta": 1e4}
_SLIDES, _FULL = "sliding_attention", "full_attention"


@dataclass(frozen=True)
class TinyFamily:
    """Sizes and parts of a tiny model (a `base.model_shape.ModelShape`), and the fields of its
    configuration class that are its family's own.
    """

    model_type: str
    architecture: str
    own: Mapping[str, Any]
    vocab_size: int = _SIZES["vocab_size"]
    hidden_size: int = _SIZES["hidden_size"]
    intermediate_size: int = _SIZES["intermediate_size"]
    num_hidden_layers: int = _SIZES["num_hidden_layers"]
    num_attention_heads: int = _SIZES["num_attention_heads"]
    num_key_value_heads: int = _SIZES["num_key_value_heads"]
    head_dim: int = _SIZES["head_dim"]
    max_position_embeddings: int = _SIZES["max_position_embeddings"]
    layer_norm_epsilon: float | None = None
    norm_placement: str = "pre"
    qk_norm: str = "none"
    rope_order: str = "half_split"
    mlp_gated: bool = True
    attention_bias: bool = False
    attention_out_bias: bool = False
    mlp_bias: bool = False
    tie_word_embeddings: bool = True
    seed: int = 20261130

    @property
    def norm_centre(self) -> float:
        """What the stored norm weights lie around: the Gemma models store the factor less one."""
        return 0.0 if self.model_type.startswith("gemma") else 1.0

    def config(self) -> dict[str, Any]:
        """The fields of `config.json`."""
        special = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 2}
        named = {"architectures": [self.architecture], "model_type": self.model_type}
        shared = {"tie_word_embeddings": self.tie_word_embeddings, "dtype": "float32"}
        return {**named, **self._sizes(), **shared, **special, **self.own}

    def _sizes(self) -> dict[str, Any]:
        if self.model_type == "gpt2":
            return {name: getattr(self, field) for name, field in _GPT2_SIZES.items()}
        return {**{name: getattr(self, name) for name in _SIZES}, "rms_norm_eps": _EPS}

    def tensors(self) -> dict[str, tuple[int, ...]]:
        """Name and shape of every stored tensor, in the order of the forward pass."""
        rows = [t for t in source_tensors(self) if t.name != HEAD or not self.tie_word_embeddings]
        return {tensor.name: tensor.shape for tensor in rows}

    def root_of_inputs(self, name: str, shape: tuple[int, ...]) -> float:
        """The root of the number of inputs of a matrix; GPT-2 stores its layers' (in, out)."""
        return math.sqrt(shape[0] if name.startswith("transformer.h.") else shape[1])

    def facts(self) -> dict[str, Any]:
        """Everything that decides the bytes."""
        return {"config": self.config(), "seed": self.seed}


def _llama_like(**own: Any) -> dict[str, Any]:
    return {"hidden_act": "silu", "rope_parameters": _DEFAULT_ROPE, **own}


def _windowed(*layers: str) -> dict[str, Any]:
    """Fields of the Qwen classes, of which the first layers see everything."""
    first = layers.index(_SLIDES)
    return {
        "use_sliding_window": True, "sliding_window": _WINDOW, "max_window_layers": first,
        "layer_types": list(layers),
    }  # fmt: skip


def _gemma(*layers: str, **own: Any) -> dict[str, Any]:
    # The number that queries are scaled by is not the head width, so that a mix-up shows.
    return {
        "hidden_activation": "gelu_pytorch_tanh", "attention_bias": False,
        "query_pre_attn_scalar": 24, "sliding_window": _WINDOW, "layer_types": list(layers), **own,
    }  # fmt: skip


_ROPE_BY_LAYER: dict[str, Any] = {
    _FULL: {"rope_type": "linear", "factor": 8.0, "rope_theta": 1e6},
    _SLIDES: _DEFAULT_ROPE,
}
_QWEN_LAYERS = (_FULL, _SLIDES, _SLIDES)
_GEMMA2_LAYERS = (_SLIDES, _FULL) * 2
_GEMMA3_LAYERS = (*(_SLIDES,) * 5, _FULL)

#: By the name of the source: `synthetic:NAME`.
TINY: Final[Mapping[str, TinyFamily]] = MappingProxyType({
    "llama-tiny": TinyFamily(
        "llama", "LlamaForCausalLM", _llama_like(attention_bias=False, mlp_bias=False)
    ),
    "mistral-tiny": TinyFamily(
        "mistral", "MistralForCausalLM", _llama_like(sliding_window=_WINDOW),
        tie_word_embeddings=False,
    ),
    "qwen2-tiny": TinyFamily(
        "qwen2", "Qwen2ForCausalLM", _llama_like(**_windowed(*_QWEN_LAYERS)),
        num_hidden_layers=len(_QWEN_LAYERS), attention_bias=True,
    ),
    "qwen3-tiny": TinyFamily(
        "qwen3", "Qwen3ForCausalLM",
        _llama_like(attention_bias=False, **_windowed(*_QWEN_LAYERS)),
        num_hidden_layers=len(_QWEN_LAYERS), qk_norm="head", tie_word_embeddings=False,
    ),
    "gemma2-tiny": TinyFamily(
        "gemma2", "Gemma2ForCausalLM",
        _gemma(*_GEMMA2_LAYERS, rope_parameters=_DEFAULT_ROPE,
               attn_logit_softcapping=4.0, final_logit_softcapping=5.0),
        num_hidden_layers=len(_GEMMA2_LAYERS), norm_placement="sandwich",
    ),
    "gemma3-tiny": TinyFamily(
        "gemma3_text", "Gemma3ForCausalLM",
        _gemma(*_GEMMA3_LAYERS, rope_parameters=_ROPE_BY_LAYER),
        num_hidden_layers=len(_GEMMA3_LAYERS), norm_placement="sandwich", qk_norm="head",
    ),
    "gpt2-tiny": TinyFamily(
        "gpt2", "GPT2LMHeadModel",
        {"activation_function": "gelu_new", "layer_norm_epsilon": _EPS},
        head_dim=12, num_key_value_heads=4, layer_norm_epsilon=_EPS, rope_order="none",
        mlp_gated=False, attention_bias=True, attention_out_bias=True, mlp_bias=True,
    ),
    "olmo2-tiny": TinyFamily(
        "olmo2", "Olmo2ForCausalLM", _llama_like(attention_bias=False),
        norm_placement="post", qk_norm="joined", tie_word_embeddings=False,
    ),
    "phi3-tiny": TinyFamily(
        "phi3", "Phi3ForCausalLM",
        _llama_like(sliding_window=_WINDOW,
                    rope_parameters={**_DEFAULT_ROPE, "partial_rotary_factor": 0.75}),
        tie_word_embeddings=False,
    ),
})  # fmt: skip
