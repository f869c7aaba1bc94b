"""Random tiny models of every family in the Hugging Face layout; the same bytes on every machine.

Each has what makes its family differ: fewer key heads than query heads, a head width of its own
where the family allows one, windows that a case of a dozen tokens outgrows, caps that bend.
"""

from __future__ import annotations

import contextlib
import io
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trlm_lab.base import canon

#: What the families share: a case of a dozen tokens is longer than every window.
_SHARED: dict[str, Any] = {
    "vocab_size": 97, "hidden_size": 48, "intermediate_size": 80, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16,
    "max_position_embeddings": 64, "rms_norm_eps": 1e-5, "tie_word_embeddings": True,
    "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0,
    "rope_parameters": {"rope_type": "default", "rope_theta": 1e4},
}  # fmt: skip
_WINDOW: dict[str, Any] = {
    "num_hidden_layers": 3, "use_sliding_window": True, "sliding_window": 5, "max_window_layers": 1
}  # fmt: skip
#: Configuration class, causal model class, and what differs from the shared fields.
_FAMILIES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "llama": ("LlamaConfig", "LlamaForCausalLM", {}),
    "mistral": ("MistralConfig", "MistralForCausalLM",
                {"sliding_window": 5, "tie_word_embeddings": False}),
    "qwen2": ("Qwen2Config", "Qwen2ForCausalLM", _WINDOW),
    "qwen3": ("Qwen3Config", "Qwen3ForCausalLM", {**_WINDOW, "tie_word_embeddings": False}),
    "gemma2": ("Gemma2Config", "Gemma2ForCausalLM",
               {"num_hidden_layers": 4, "sliding_window": 5, "query_pre_attn_scalar": 24,
                "attn_logit_softcapping": 4.0, "final_logit_softcapping": 5.0}),
    "gemma3": ("Gemma3TextConfig", "Gemma3ForCausalLM",
               {"num_hidden_layers": 6, "sliding_window": 5, "query_pre_attn_scalar": 24,
                "rope_parameters": {
                    "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1e6},
                    "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
                }}),
    "gpt2": ("GPT2Config", "GPT2LMHeadModel", {}),
    "olmo2": ("Olmo2Config", "Olmo2ForCausalLM", {"tie_word_embeddings": False}),
    "phi3": ("Phi3Config", "Phi3ForCausalLM",
             {"sliding_window": 5, "tie_word_embeddings": False,
              "rope_parameters": {"rope_type": "default", "rope_theta": 1e4,
                                  "partial_rotary_factor": 0.75}}),
}  # fmt: skip
_GPT2: dict[str, Any] = {
    "vocab_size": 97, "n_positions": 64, "n_embd": 48, "n_layer": 2, "n_head": 4, "n_inner": 80,
    "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0,
}  # fmt: skip

FAMILIES: tuple[str, ...] = tuple(_FAMILIES)


def write_tiny(family: str, out: Path, **changes: Any) -> Path:
    """Write a model directory (config, generation_config, float32 safetensors) and name it.

    `changes` are fields of the family's configuration class; the seed of a tensor is its name.
    """
    from trlm_lab.oracle.loading import quiet_framework

    config_class, model_class, own = _FAMILIES[family]
    fields = {**(_GPT2 if family == "gpt2" else {**_SHARED, **own}), **changes}
    # The saver draws its progress bar whatever the logging settings say.
    with quiet_framework() as transformers, contextlib.redirect_stderr(io.StringIO()):
        import torch

        config = getattr(transformers, config_class)(**fields)
        model = getattr(transformers, model_class)(config)
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                shape = tuple(parameter.shape)
                parameter.copy_(torch.from_numpy(_values(family, name, shape)))
        model.save_pretrained(out)
    return out


def _values(family: str, name: str, shape: tuple[int, ...]) -> NDArray[np.float32]:
    """Uniform values of a size that keeps activations near one; norms are perturbed around one."""
    seed = int(canon.content_id([family, name])[:16], 16)
    bits = np.random.Generator(np.random.PCG64(seed)).integers(-(2**23), 2**23, shape)
    unit = bits.astype(np.float32) * np.float32(2.0**-23)
    if len(shape) == 2:
        # GPT-2 stores the matrices of its layers the other way round, (in, out).
        inputs = shape[0] if name.startswith("transformer.h.") else shape[1]
        return unit * np.float32(3.5 / np.sqrt(inputs))
    if name.endswith("bias"):
        return unit * np.float32(0.3)
    # The norms of the Gemma models store the factor less one.
    centre = np.float32(0 if family.startswith("gemma") else 1)
    return centre + unit * np.float32(0.4)
