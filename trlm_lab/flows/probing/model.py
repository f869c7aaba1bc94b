"""The model that asks the questions: a llama whose layer does nothing and whose head is the rows.

All embeddings are 1 and all projections 0, so the hidden values stay 1, their mean square is
exactly 1, epsilon vanishes beside it, and the last norm yields its own weights.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from trlm_lab.acquire.safetensors_writer import F32, PlannedTensor, write_safetensors
from trlm_lab.base import strict_json
from trlm_lab.base.interfaces import Subject
from trlm_lab.base.records import EffectiveConfig
from trlm_lab.flows.probing import experiments
from trlm_lab.pack import pack_snapshot

#: The last token has no experiment; the cases consist of it.
VOCAB: Final = 64
HEADS, KV_HEADS, HEAD_DIM, FFN, CONTEXT = 4, 2, 16, 64, 32
THETA: Final = 10000.0
#: Above 0, as a norm must have it, and nothing beside 1 in float64.
EPSILON: Final = 2.0**-100

_PROJECTIONS: Final = {
    "self_attn.q_proj": (HEADS * HEAD_DIM, experiments.LENGTH),
    "self_attn.k_proj": (KV_HEADS * HEAD_DIM, experiments.LENGTH),
    "self_attn.v_proj": (KV_HEADS * HEAD_DIM, experiments.LENGTH),
    "self_attn.o_proj": (experiments.LENGTH, HEADS * HEAD_DIM),
    "mlp.gate_proj": (FFN, experiments.LENGTH),
    "mlp.up_proj": (FFN, experiments.LENGTH),
    "mlp.down_proj": (experiments.LENGTH, FFN),
}


@dataclass(frozen=True)
class ProbeModel:
    """The model as a directory and as a container."""

    directory: Path
    artifact: Path

    @property
    def subject(self) -> Subject:
        """What an engine opens."""
        return Subject(artifact=self.artifact, model_dir=self.directory, ids={})


def write_probe_model(room: Path) -> ProbeModel:
    """Write both forms below `room`; the same bytes every time."""
    directory = room / "model"
    directory.mkdir()
    (directory / "config.json").write_bytes(strict_json.pretty(_source_config()))
    write_safetensors(directory / "model.safetensors", _tensors())
    pack_snapshot(directory, _config(), "f32", room / "model.slm")
    return ProbeModel(directory, room / "model.slm")


def _tensors() -> dict[str, PlannedTensor]:
    head = np.zeros((VOCAB, experiments.LENGTH), np.float32)
    rows = experiments.weights()
    head[: len(rows)] = rows
    ones = np.ones(experiments.LENGTH, np.float32)
    planned = {
        "model.embed_tokens.weight": _planned(np.ones_like(head)),
        "model.norm.weight": _planned(experiments.operand()),
        "lm_head.weight": _planned(head),
    }
    for norm in ("input_layernorm", "post_attention_layernorm"):
        planned[f"model.layers.0.{norm}.weight"] = _planned(ones)
    for name, shape in _PROJECTIONS.items():
        planned[f"model.layers.0.{name}.weight"] = _planned(np.zeros(shape, np.float32))
    return planned


def _planned(values: F32) -> PlannedTensor:
    chunks: Callable[[], Iterator[F32]] = lambda: iter((values,))  # noqa: E731
    return PlannedTensor(values.shape, chunks)


def _source_config() -> dict[str, Any]:
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": VOCAB,
        "hidden_size": experiments.LENGTH,
        "intermediate_size": FFN,
        "num_hidden_layers": 1,
        "num_attention_heads": HEADS,
        "num_key_value_heads": KV_HEADS,
        "head_dim": HEAD_DIM,
        "max_position_embeddings": CONTEXT,
        "rms_norm_eps": EPSILON,
        "rope_theta": THETA,
        "hidden_act": "silu",
        "attention_bias": False,
        "mlp_bias": False,
        "tie_word_embeddings": False,
        "dtype": "float32",
        "bos_token_id": 1,
        "eos_token_id": 2,
        "pad_token_id": 2,
    }


def _config() -> EffectiveConfig:
    source = _source_config()
    same = ("model_type", "vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers",
            "num_attention_heads", "num_key_value_heads", "head_dim", "max_position_embeddings",
            "rms_norm_eps", "rope_theta", "hidden_act", "attention_bias", "mlp_bias",
            "tie_word_embeddings", "bos_token_id", "pad_token_id")  # fmt: skip
    powers = np.arange(0, HEAD_DIM, 2, dtype=np.float64) / HEAD_DIM
    return EffectiveConfig(
        **{name: source[name] for name in same},
        layer_norm_epsilon=None,
        norm_unit_offset=False,
        norm_placement="pre",
        qk_norm="none",
        rope_inv_freq=tuple(float(np.float32(THETA**-p)) for p in powers),
        rope_order="half_split",
        rope_attention_factor=1.0,
        rope_local_base_freq=None,
        rope_local_inv_freq=(),
        attention_scale=1.0 / math.sqrt(HEAD_DIM),
        attn_logit_softcapping=None,
        final_logit_softcapping=None,
        sliding_window=None,
        layer_types=("full_attention",),
        mlp_gated=True,
        embedding_scale=1.0,
        attention_out_bias=False,
        eos_token_id=(2,),
        unk_token_id=None,
    )
