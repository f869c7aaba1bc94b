"""Random models whose bytes are the same on every machine: weights from integer bits.

A small llama, and a tiny model of every family (`synthetic_families`).

Philox words give 24-bit integers; those are exact in float32, and each value takes one rounded
multiplication. No float distribution of a library is used, whose algorithm might change.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from trlm_lab.acquire.gguf_snapshot import quantized_grid
from trlm_lab.acquire.progress import Progress, silent
from trlm_lab.acquire.safetensors_writer import F32, PlannedTensor, write_safetensors
from trlm_lab.acquire.synthetic_families import TINY, TinyFamily
from trlm_lab.base import strict_json
from trlm_lab.errors import UnknownNameError

GENERATOR_VERSION = 2

#: Root mean square of the embedding: logits of a few units, and a first norm that sees epsilon.
_EMBEDDING_RMS = 0.25
#: Norm weights lie within 1 +- this, so that a forgotten or swapped norm weight shows.
_NORM_SPREAD = 0.25
#: Half the width of a tiny model's uniform matrices, of one input: an RMS of two.
_MATRIX = 2 * math.sqrt(3.0)


@dataclass(frozen=True)
class SyntheticModel:
    """The shape of a synthetic llama; letters as everywhere (see `base.axes`)."""

    vocab: int = 512
    layers: int = 4
    hidden: int = 96
    heads: int = 6
    kv_heads: int = 2
    head_dim: int = 16
    ffn: int = 256
    context: int = 256
    rope_theta: float = 10000.0
    seed: int = 20260801

    def facts(self) -> dict[str, Any]:
        """Everything that decides the bytes."""
        return vars(self)


Model = SyntheticModel | TinyFamily
MODELS: dict[str, Model] = {"llama-small": SyntheticModel(), **TINY}


def synthetic_model(name: str) -> Model:
    """The shape by name. Raises UnknownNameError."""
    if name not in MODELS:
        raise UnknownNameError(kind="synthetic model", name=name, known=", ".join(MODELS))
    return MODELS[name]


def write_synthetic(
    model: Model, name: str, out: Path, progress: Progress = silent
) -> dict[str, Any]:
    """Write the snapshot of a synthetic model into `out` and return its provenance."""
    config, tensors = _content(model)
    (out / "config.json").write_bytes(strict_json.pretty(config))
    special = {key: config[key] for key in ("bos_token_id", "eos_token_id", "pad_token_id")}
    (out / "generation_config.json").write_bytes(strict_json.pretty(special))
    digests = write_safetensors(out / "model.safetensors", tensors, progress)
    return {
        "schema": "trlm.provenance.v1",
        "converter": {"name": "trlm_lab.acquire.synthetic", "version": GENERATOR_VERSION},
        "synthetic": {"name": name, **model.facts()},
        "materials": [],
        "tensors": [{"name": key, "sha256": digests[key]} for key in sorted(digests)],
        "licence": {"spdx": "CC0-1.0", "decision": "random numbers, free of rights"},
        **quantized_grid([]),
        "note": "Seeded random float32 weights, never trained.",
    }


def _content(model: Model) -> tuple[dict[str, Any], dict[str, PlannedTensor]]:
    if isinstance(model, TinyFamily):
        return model.config(), _tiny(model)
    return _config(model), _tensors(model)


def _config(model: SyntheticModel) -> dict[str, Any]:
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": model.vocab,
        "hidden_size": model.hidden,
        "intermediate_size": model.ffn,
        "num_hidden_layers": model.layers,
        "num_attention_heads": model.heads,
        "num_key_value_heads": model.kv_heads,
        "head_dim": model.head_dim,
        "max_position_embeddings": model.context,
        "rms_norm_eps": float(np.float32(1e-5)),
        "rope_theta": model.rope_theta,
        "hidden_act": "silu",
        "attention_bias": False,
        "mlp_bias": False,
        "tie_word_embeddings": True,
        "dtype": "float32",
        "bos_token_id": 1,
        "eos_token_id": 2,
        "pad_token_id": 2,
    }


def _tensors(model: SyntheticModel) -> dict[str, PlannedTensor]:
    D, F = model.hidden, model.ffn
    queries, keys = model.heads * model.head_dim, model.kv_heads * model.head_dim
    matrices = {
        "self_attn.q_proj": (queries, D), "self_attn.k_proj": (keys, D),
        "self_attn.v_proj": (keys, D), "self_attn.o_proj": (D, queries),
        "mlp.gate_proj": (F, D), "mlp.up_proj": (F, D), "mlp.down_proj": (D, F),
    }  # fmt: skip
    planned = {"model.embed_tokens.weight": _matrix(model, 0, (model.vocab, D), _EMBEDDING_RMS)}
    planned["model.norm.weight"] = _norm(model, 1)
    stream = 2
    for layer in range(model.layers):
        prefix = f"model.layers.{layer}"
        for norm in ("input_layernorm", "post_attention_layernorm"):
            planned[f"{prefix}.{norm}.weight"] = _norm(model, stream)
            stream += 1
        for part, shape in matrices.items():
            # One over the root of the inputs keeps activations at order one.
            rms = 1.0 / math.sqrt(shape[1])
            planned[f"{prefix}.{part}.weight"] = _matrix(model, stream, shape, rms)
            stream += 1
    return planned


def _tiny(model: TinyFamily) -> dict[str, PlannedTensor]:
    return {
        name: _spread(model, stream, name, shape)
        for stream, (name, shape) in enumerate(model.tensors().items())
    }


def _spread(model: TinyFamily, stream: int, name: str, shape: tuple[int, ...]) -> PlannedTensor:
    """Matrices of RMS 2 over the root of their inputs, biases within 0.3, norms within 0.4 of
    their centre.
    """
    if len(shape) == 2:
        centre, scale = 0.0, _MATRIX / model.root_of_inputs(name, shape)
    elif name.endswith("bias"):
        centre, scale = 0.0, 0.3
    else:
        centre, scale = model.norm_centre, 0.4

    def chunks() -> Iterator[F32]:
        unit = uniform(model.seed, stream, math.prod(shape))
        yield np.float32(centre) + unit * np.float32(scale)

    return PlannedTensor(shape, chunks)


def uniform(seed: int, stream: int, count: int) -> F32:
    """`count` values k * 2^-23 with integers -2^23 <= k < 2^23, exact; one stream a tensor."""
    words = np.random.Philox(key=[seed, stream]).random_raw(count)
    integers = (words >> np.uint64(40)).astype(np.int64) - 2**23
    return integers.astype(np.float32) * np.float32(2.0**-23)


def _matrix(
    model: SyntheticModel, stream: int, shape: tuple[int, int], rms: float
) -> PlannedTensor:
    scale = np.float32(math.sqrt(3.0) * rms)

    def chunks() -> Iterator[F32]:
        yield uniform(model.seed, stream, math.prod(shape)) * scale

    return PlannedTensor(shape, chunks)


def _norm(model: SyntheticModel, stream: int) -> PlannedTensor:
    def chunks() -> Iterator[F32]:
        spread = uniform(model.seed, stream, model.hidden) * np.float32(_NORM_SPREAD)
        yield np.float32(1.0) + spread

    return PlannedTensor((model.hidden,), chunks)
