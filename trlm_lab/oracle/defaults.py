"""Read out of the live source what each configuration value is in effect, and where it says so.

The model is built without weights (torch's meta device), so nothing is re-implemented: a value is
what the source's own modules hold. The rotary table is built for real by the source's own class.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from trlm_lab.base.records import SourceDefault, SourceDefaults
from trlm_lab.errors import CaptureError, OracleModelError
from trlm_lab.oracle.environment import framework, package_version
from trlm_lab.oracle.loading import one_line, quiet_framework, read_config

Row = tuple[str, Any, str]


class _Source:
    """The pinned llama source: its module, and the place of a line in it."""

    def __init__(self, model_dir: Path, config: Any, transformers: Any) -> None:
        self.config = config
        self.llama = transformers.models.llama.modeling_llama
        self.declared = json.loads((model_dir / "config.json").read_bytes())
        self._version = package_version("transformers")

    def place(self, thing: Any, text: str) -> str:
        """File and line, inside the source of `thing`, of the line that holds `text`.

        Raises:
            CaptureError: no line does; the source is not the one this was written for.
        """
        lines, first = inspect.getsourcelines(thing)
        path = Path(inspect.getsourcefile(thing) or "")
        for number, line in enumerate(lines, first):
            if text in line:
                parts = path.parts[path.parts.index("transformers") :]
                return f"{'/'.join(parts)}:{number} (transformers {self._version})"
        detail = f"its source no longer holds {text!r}"
        raise CaptureError(where=thing.__qualname__, detail=detail)

    def origin(self, name: str, thing: Any, text: str) -> str:
        """Who supplied the value, and the line that uses it."""
        rope = self.declared.get("rope_parameters") or self.declared.get("rope_scaling") or {}
        given = name in rope or self.declared.get(name) is not None
        supplier = "config.json" if given else "source default"
        return f"{supplier}; {self.place(thing, text)}"


def source_defaults(model_dir: Path) -> SourceDefaults:
    """Every field of the effective configuration as the source uses it; floats as float32.

    Beyond the fields of `EffectiveConfig` it holds `rope_type`, `rope_attention_scaling`, and the
    special ids of `generation_config.json` as `generation.<key>` where the file has them.

    Raises:
        OracleMissingError: torch or transformers is not installed.
        OracleModelError: the directory declares no llama that the source accepts.
        CaptureError: the source is not the one this was written for.
    """
    with quiet_framework() as transformers:
        config = read_config(model_dir, transformers)
        source = _Source(model_dir, config, transformers)
        model = _empty_model(model_dir, transformers, config)
        rows = [
            *_shape_rows(source, model),
            *_rope_rows(source),
            *_operator_rows(source, model),
            *_implied_rows(source, model),
            *_token_rows(source),
            *_generation_rows(model_dir, transformers),
        ]
    return SourceDefaults(framework(), tuple(SourceDefault(*row) for row in rows))


def _empty_model(model_dir: Path, transformers: Any, config: Any) -> Any:
    import torch

    try:
        with torch.device("meta"):
            return transformers.LlamaForCausalLM(config)
    except Exception as error:
        where = str(model_dir / "config.json")
        raise OracleModelError(where=where, detail=one_line(error)) from error


def _float32(value: float) -> float:
    return float(np.float32(value))


def _shape_rows(source: _Source, model: Any) -> Iterator[Row]:
    llama, base = source.llama, model.model
    attention, mlp = base.layers[0].self_attn, base.layers[0].mlp
    width = attention.head_dim
    embedding = "nn.Embedding(config.vocab_size, config.hidden_size"
    query, key = "config.num_attention_heads * self", "config.num_key_value_heads * self"
    table: tuple[tuple[str, Any, Any, str], ...] = (
        ("model_type", source.config.model_type, type(source.config), "model_type ="),
        ("vocab_size", base.embed_tokens.num_embeddings, llama.LlamaModel, embedding),
        ("hidden_size", base.embed_tokens.embedding_dim, llama.LlamaModel, embedding),
        ("intermediate_size", mlp.gate_proj.out_features, llama.LlamaMLP, "self.gate_proj ="),
        ("num_hidden_layers", len(base.layers), llama.LlamaModel, "range(config.num_hidden"),
        ("num_attention_heads", attention.q_proj.out_features // width, type(attention), query),
        ("num_key_value_heads", attention.k_proj.out_features // width, type(attention), key),
        ("head_dim", width, type(attention), "self.head_dim ="),
    )
    for name, value, thing, text in table:
        yield name, value, source.origin(name, thing, text)


def _rope_rows(source: _Source) -> Iterator[Row]:
    import torch

    rotary_class = source.llama.LlamaRotaryEmbedding
    rotary = rotary_class(source.config)
    frequencies = rotary.inv_freq.to(torch.float32).tolist()
    theta = source.config.rope_parameters["rope_theta"]
    length = source.config.max_position_embeddings
    table: tuple[tuple[str, Any, str], ...] = (
        ("max_position_embeddings", length, "self.max_seq_len_cached ="),
        ("rope_theta", _float32(theta), 'config.rope_parameters["rope_theta"]'),
        ("rope_inv_freq", frequencies, "self.inv_freq ="),
        ("rope_type", rotary.rope_type, "self.rope_type ="),
        ("rope_attention_scaling", float(rotary.attention_scaling), "self.attention_scaling"),
    )
    for name, value, text in table:
        yield name, value, source.origin(name, rotary_class, text)
    rotate = source.llama.rotate_half
    yield "rope_order", _rope_order(rotate), source.place(rotate, "torch.cat")


def _rope_order(rotate: Any) -> str:
    """Ask the source's own rotation which coordinates it pairs."""
    import torch

    turned = rotate(torch.tensor([0.0, 1.0, 2.0, 3.0])).tolist()
    orders = {(-2.0, -3.0, 0.0, 1.0): "half_split", (-1.0, 0.0, -3.0, 2.0): "interleaved"}
    order = orders.get(tuple(turned))
    if order is None:
        raise CaptureError(where="rotate_half", detail=f"0, 1, 2, 3 becomes {turned}")
    return order


def _operator_rows(source: _Source, model: Any) -> Iterator[Row]:
    base, llama = model.model, source.llama
    layer = base.layers[0]
    attention, mlp, norm = layer.self_attn, layer.mlp, layer.input_layernorm
    tied = model.lm_head.weight is base.embed_tokens.weight
    biased = (attention.q_proj.bias is not None, mlp.gate_proj.bias is not None)
    scale, epsilon = _float32(attention.scaling), _float32(norm.variance_epsilon)
    table: tuple[tuple[str, Any, Any, str], ...] = (
        ("rms_norm_eps", epsilon, type(norm), "variance + self.variance_epsilon"),
        ("attention_scale", scale, type(attention), "self.scaling ="),
        ("hidden_act", source.config.hidden_act, llama.LlamaMLP, "self.act_fn ="),
        ("tie_word_embeddings", tied, llama.LlamaForCausalLM, "_tied_weights_keys"),
        ("attention_bias", biased[0], type(attention), "bias=config.attention_bias"),
        ("mlp_bias", biased[1], llama.LlamaMLP, "bias=config.mlp_bias"),
    )
    for name, value, thing, text in table:
        yield name, value, source.origin(name, thing, text)


def _implied_rows(source: _Source, model: Any) -> Iterator[Row]:
    """What the class of the family does and no field says."""
    llama, layer = source.llama, model.model.layers[0]
    block, norm = type(layer), type(layer.input_layernorm)
    table: tuple[tuple[str, Any, Any, str], ...] = (
        ("layer_norm_epsilon", None, norm, "self.variance_epsilon ="),
        ("norm_unit_offset", False, norm, "self.weight *"),
        ("norm_placement", "pre", block, "self.input_layernorm(hidden_states)"),
        ("qk_norm", "none", type(layer.self_attn), "self.q_proj(hidden_states)"),
        ("rope_attention_factor", 1.0, llama.LlamaRotaryEmbedding, "self.attention_scaling"),
        ("rope_local_base_freq", None, llama.LlamaModel, "self.rotary_emb ="),
        ("rope_local_inv_freq", [], llama.LlamaModel, "self.rotary_emb ="),
        ("attn_logit_softcapping", None, llama.eager_attention_forward, "* scaling"),
        ("final_logit_softcapping", None, llama.LlamaForCausalLM, "self.lm_head("),
        ("sliding_window", None, llama.LlamaModel, "create_causal_mask("),
        ("layer_types", ["full_attention"] * len(model.model.layers), llama.LlamaModel,
         "create_causal_mask("),
        ("mlp_gated", True, llama.LlamaMLP, "self.act_fn(self.gate_proj"),
        ("embedding_scale", 1.0, llama.LlamaModel, "self.embed_tokens(input_ids)"),
        ("attention_out_bias", layer.self_attn.o_proj.bias is not None, type(layer.self_attn),
         "self.o_proj ="),
    )  # fmt: skip
    for name, value, thing, text in table:
        yield name, value, source.place(thing, text)


def _ids(value: Any) -> list[int]:
    """A token id, several or none, as a list."""
    return [] if value is None else list(value) if isinstance(value, list) else [value]


def _token_rows(source: _Source) -> Iterator[Row]:
    config = source.config
    for name in ("bos_token_id", "pad_token_id"):
        yield name, getattr(config, name), source.origin(name, type(config), f"{name}:")
    origin = source.origin("eos_token_id", type(config), "eos_token_id:")
    yield "eos_token_id", _ids(config.eos_token_id), origin
    given = source.declared.get("unk_token_id")
    origin = "config.json" if given is not None else "no field of the source's configuration"
    yield "unk_token_id", given, origin


def _generation_rows(model_dir: Path, transformers: Any) -> Iterator[Row]:
    path = model_dir / "generation_config.json"
    if not path.is_file():
        return
    try:
        config = transformers.GenerationConfig.from_pretrained(model_dir, local_files_only=True)
    except Exception as error:
        raise OracleModelError(where=str(path), detail=one_line(error)) from error
    for key in ("bos_token_id", "eos_token_id", "pad_token_id"):
        value = getattr(config, key)
        yield f"generation.{key}", _ids(value) if key[0] == "e" else value, path.name
