"""The llama family: every key of its `config.json`, and its tensors.

The keys are those of the source framework's LlamaConfig and of published llama checkpoints. What
this version cannot compute (RoPE scaling, biases, tensor-parallel slicing) is refused by value.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from trlm_lab.base.config_bounds import shown
from trlm_lab.describe.ledger_plan import ExpectedTensor
from trlm_lab.describe.schema import (
    Schema,
    anything,
    behaviour,
    bounded,
    bounded_id,
    documentary,
    flag,
    only,
    or_null,
    pointer,
    text,
    token_ids,
)
from trlm_lab.errors import FieldValueError

MODEL_TYPE = "llama"
REVIEWER = "trlm_lab maintainers"

_TRAINING = "used in training only; evaluation never reads it"
_RUNTIME = "how the framework returns or caches results; a prefill computes the same"
_PUBLISHER = "a remark of the publisher that no code of the model reads"


def _default_rope(value: Any) -> str:
    """Accept null, or a description of plain RoPE."""
    if value is None:
        return ""
    if not isinstance(value, dict):
        return f"{shown(value)} is no object"
    strange = sorted(set(value) - {"rope_type", "type", "rope_theta"})
    kinds = [value.get(key, "default") for key in ("rope_type", "type")]
    if strange or kinds != ["default", "default"]:
        return f"{shown(value)}: only plain RoPE (rope_type default) is supported"
    return bounded("rope_theta")(value["rope_theta"]) if "rope_theta" in value else ""


CONFIG_SCHEMA = Schema(
    "llama config.json",
    1,
    REVIEWER,
    {
        "architectures": behaviour(only(["LlamaForCausalLM"]), "the class that computes"),
        "model_type": behaviour(only(MODEL_TYPE), "the family"),
        "vocab_size": behaviour(bounded("vocab_size"), "rows of the embedding"),
        "hidden_size": behaviour(bounded("hidden_size"), "width of the residual stream"),
        "intermediate_size": behaviour(bounded("intermediate_size"), "width of the MLP"),
        "num_hidden_layers": behaviour(bounded("num_hidden_layers"), "depth"),
        "num_attention_heads": behaviour(bounded("num_attention_heads"), "query heads"),
        "num_key_value_heads": behaviour(or_null(bounded("num_key_value_heads")), "KV heads"),
        "head_dim": behaviour(or_null(bounded("head_dim")), "width of a head"),
        "hidden_act": behaviour(only("silu"), "activation of the gate"),
        "max_position_embeddings": behaviour(bounded("max_position_embeddings"), "context"),
        "rms_norm_eps": behaviour(bounded("rms_norm_eps"), "inside the root of every norm"),
        "rope_theta": behaviour(bounded("rope_theta"), "base of the rotary frequencies"),
        "rope_scaling": behaviour(_default_rope, "changes the rotary frequencies"),
        "rope_parameters": behaviour(_default_rope, "base and kind of the rotary frequencies"),
        "rope_interleaved": behaviour(or_null(only(False)), "which coordinates are paired"),
        "partial_rotary_factor": behaviour(or_null(only(1, 1.0)), "rotated share of a head"),
        "attention_bias": behaviour(only(False), "biases of the attention projections"),
        "mlp_bias": behaviour(only(False), "biases of the MLP projections"),
        "tie_word_embeddings": behaviour(flag, "whether the head is the embedding"),
        "sliding_window": behaviour(only(None), "limits which keys are seen"),
        "pretraining_tp": behaviour(or_null(only(1)), "slices the projections when above 1"),
        "quantization_config": behaviour(only(None), "replaces the weights"),
        "bos_token_id": behaviour(or_null(bounded_id), "first token of a text"),
        "eos_token_id": behaviour(token_ids, "stops a generation"),
        "pad_token_id": behaviour(
            or_null(bounded_id), "filler of a batch; its embedding row is zeroed"
        ),
        "attention_dropout": documentary(_TRAINING, or_null(anything)),
        "initializer_range": documentary(_TRAINING),
        "use_cache": documentary(_RUNTIME, or_null(flag)),
        "output_attentions": documentary(_RUNTIME),
        "output_hidden_states": documentary(_RUNTIME),
        "return_dict": documentary(_RUNTIME),
        "torch_dtype": documentary("weights are widened to float32, without rounding", text),
        "dtype": documentary("weights are widened to float32, without rounding", text),
        "transformers_version": documentary(_PUBLISHER, text),
        "_name_or_path": documentary(_PUBLISHER, text),
        "is_llama_config": documentary(_PUBLISHER),
        "transformers.js_config": documentary("hints for another runtime"),
    },
)

_SAMPLING = "a sampling default; it belongs to the sampler profile, the prefill does not read it"

GENERATION_SCHEMA = Schema(
    "generation_config.json",
    1,
    REVIEWER,
    {
        "bos_token_id": behaviour(token_ids, "first token of a text"),
        "eos_token_id": behaviour(token_ids, "stops a generation"),
        "pad_token_id": behaviour(token_ids, "filler of a batch"),
        **{
            key: documentary(_SAMPLING)
            for key in (
                "do_sample", "temperature", "top_k", "top_p", "min_p", "typical_p",
                "repetition_penalty", "max_length", "max_new_tokens", "min_length", "num_beams",
            )
        },
        "_from_model_config": documentary(_PUBLISHER),
        "transformers_version": documentary(_PUBLISHER, text),
        "use_cache": documentary(_RUNTIME),
    },
)  # fmt: skip


def check_relations(config: Mapping[str, Any], where: str) -> None:
    """What the sizes of an accepted configuration must be to one another.

    Raises:
        FieldValueError: heads that do not divide, or a head of odd width.
    """
    heads = config.get("num_attention_heads", 1)
    keys, width = config.get("num_key_value_heads"), config.get("head_dim")
    if keys and heads % keys:
        problem = f"{keys} key/value heads do not divide {heads} query heads"
        raise FieldValueError(
            where=pointer(where, "num_key_value_heads"), field="num_key_value_heads",
            problem=problem,
        )  # fmt: skip
    hidden = config.get("hidden_size", heads)
    if not width and hidden % heads:
        problem = f"{heads} heads do not divide the width {hidden}, and head_dim is not given"
        raise FieldValueError(
            where=pointer(where, "hidden_size"), field="hidden_size", problem=problem
        )
    if width and width % 2:
        problem = f"{width} is odd, RoPE rotates pairs of coordinates"
        raise FieldValueError(where=pointer(where, "head_dim"), field="head_dim", problem=problem)


@dataclass(frozen=True)
class Sizes:
    """What the shapes of the tensors follow from."""

    vocab_size: int
    hidden_size: int
    intermediate_size: int
    num_hidden_layers: int
    num_attention_heads: int
    num_key_value_heads: int
    head_dim: int
    tie_word_embeddings: bool

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Sizes | None:
        """The sizes out of a configuration map; None where one of them is not given."""
        row: dict[str, Any] = {f.name: values.get(f.name) for f in fields(cls)}
        return None if None in row.values() else cls(**row)


_TENSOR = re.compile(
    r"lm_head\.weight|model\.(norm|embed_tokens)\.weight"
    r"|model\.layers\.(0|[1-9][0-9]*)\.(input_layernorm|post_attention_layernorm"
    r"|self_attn\.[qkvo]_proj|mlp\.(gate|up|down)_proj)\.weight"
)


def is_tensor(name: str) -> bool:
    """Whether a llama of some size has a tensor of this name."""
    return _TENSOR.fullmatch(name) is not None


def expected_tensors(sizes: Sizes) -> tuple[ExpectedTensor, ...]:
    """The tensors of a llama by their Hugging Face names, shapes (out, in), in forward order."""
    D, F, V = sizes.hidden_size, sizes.intermediate_size, sizes.vocab_size
    queries = sizes.num_attention_heads * sizes.head_dim
    keys = sizes.num_key_value_heads * sizes.head_dim
    embedding = "model.embed_tokens.weight"
    rows = [ExpectedTensor(embedding, (V, D), "embedding")]
    for layer in range(sizes.num_hidden_layers):
        prefix = f"model.layers.{layer}"
        rows += [
            ExpectedTensor(f"{prefix}.input_layernorm.weight", (D,), "attn_norm"),
            ExpectedTensor(f"{prefix}.self_attn.q_proj.weight", (queries, D), "q_proj"),
            ExpectedTensor(f"{prefix}.self_attn.k_proj.weight", (keys, D), "k_proj"),
            ExpectedTensor(f"{prefix}.self_attn.v_proj.weight", (keys, D), "v_proj"),
            ExpectedTensor(f"{prefix}.self_attn.o_proj.weight", (D, queries), "o_proj"),
            ExpectedTensor(f"{prefix}.post_attention_layernorm.weight", (D,), "mlp_norm"),
            ExpectedTensor(f"{prefix}.mlp.gate_proj.weight", (F, D), "gate_proj"),
            ExpectedTensor(f"{prefix}.mlp.up_proj.weight", (F, D), "up_proj"),
            ExpectedTensor(f"{prefix}.mlp.down_proj.weight", (D, F), "down_proj"),
        ]
    rows.append(ExpectedTensor("model.norm.weight", (D,), "final_norm"))
    tied = embedding if sizes.tie_word_embeddings else None
    rows.append(ExpectedTensor("lm_head.weight", (V, D), "lm_head", alias_of=tied))
    return tuple(rows)
