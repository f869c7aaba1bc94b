"""Where each tensor of a model lies in its source: names, shapes and ordered steps, by family.

Most families store the model's own tensors (`model_parts`). GPT-2 stores its projections the other
way round (in, out) and joins queries, keys and values; Phi-3 joins them too, and gate with up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from trlm_lab.base.model_parts import HEAD, model_tensors
from trlm_lab.base.records import EffectiveConfig, Transform


@dataclass(frozen=True)
class SourcePart:
    """A tensor of the model and the steps, in order, that make it of the source tensor.

    Steps: `transpose` (swap the two axes of the whole source tensor), then `rows` with `first` and
    `count` (a range of the first axis). No step means that the bytes are taken as they are.
    """

    destination: str
    steps: tuple[Transform, ...] = ()


@dataclass(frozen=True)
class SourceTensor:
    """A stored tensor: name, shape as stored, and what is made of it, in the order of its rows."""

    name: str
    shape: tuple[int, ...]
    parts: tuple[SourcePart, ...]


def source_tensors(config: EffectiveConfig) -> list[SourceTensor]:
    """Every tensor of the source, in the order of the forward pass.

    The head stands in the list also where it is tied; the source may then leave it out.
    """
    return _FAMILIES.get(config.model_type, _as_they_are)(config)


def _as_they_are(config: EffectiveConfig) -> list[SourceTensor]:
    return [SourceTensor(t.name, t.shape, (SourcePart(t.name),)) for t in model_tensors(config)]


def _rows(destination: str, first: int, count: int, *before: Transform) -> SourcePart:
    return SourcePart(destination, (*before, Transform("rows", {"first": first, "count": count})))


def _phi3(config: EffectiveConfig) -> list[SourceTensor]:
    queries = config.num_attention_heads * config.head_dim
    keys = config.num_key_value_heads * config.head_dim
    hidden, ffn = config.hidden_size, config.intermediate_size
    rows: list[SourceTensor] = []
    for tensor in model_tensors(config):
        stem, _, op = tensor.name.removesuffix(".weight").rpartition(".")
        if op == "q_proj":
            parts = tuple(
                _rows(f"{stem}.{part}.weight", first, count)
                for part, first, count in (
                    ("q_proj", 0, queries),
                    ("k_proj", queries, keys),
                    ("v_proj", queries + keys, keys),
                )
            )
            shape = (queries + 2 * keys, hidden)
            rows.append(SourceTensor(f"{stem}.qkv_proj.weight", shape, parts))
        elif op == "gate_proj":
            parts = (
                _rows(f"{stem}.gate_proj.weight", 0, ffn),
                _rows(f"{stem}.up_proj.weight", ffn, ffn),
            )
            rows.append(SourceTensor(f"{stem}.gate_up_proj.weight", (2 * ffn, hidden), parts))
        elif op not in ("k_proj", "v_proj", "up_proj"):
            rows.append(SourceTensor(tensor.name, tensor.shape, (SourcePart(tensor.name),)))
    return rows


#: GPT-2's module of each of the model's, inside a layer (`h.{i}.`) and outside.
_GPT2_LAYER = {
    "input_layernorm": "ln_1",
    "self_attn.o_proj": "attn.c_proj",
    "post_attention_layernorm": "ln_2",
    "mlp.up_proj": "mlp.c_fc",
    "mlp.down_proj": "mlp.c_proj",
}
_GPT2_OUTSIDE = {
    "model.embed_tokens": "transformer.wte",
    "model.embed_positions": "transformer.wpe",
    "model.norm": "transformer.ln_f",
    "lm_head": "lm_head",
}


def _gpt2(config: EffectiveConfig) -> list[SourceTensor]:
    turned = (Transform("transpose"),)
    rows: list[SourceTensor] = []
    for tensor in model_tensors(config):
        stem, _, kind = tensor.name.rpartition(".")
        if stem in _GPT2_OUTSIDE:
            source = tensor.name if tensor.name == HEAD else f"{_GPT2_OUTSIDE[stem]}.{kind}"
            rows.append(SourceTensor(source, tensor.shape, (SourcePart(tensor.name),)))
            continue
        layer, module = stem.removeprefix("model.layers.").split(".", 1)
        prefix, matrix = f"transformer.h.{layer}", len(tensor.shape) == 2
        if module == "self_attn.q_proj":
            width = tensor.shape[0]
            parts = tuple(
                _rows(
                    f"model.layers.{layer}.self_attn.{part}_proj.{kind}",
                    index * width,
                    width,
                    *(turned if matrix else ()),
                )
                for index, part in enumerate("qkv")
            )
            shape = (tensor.shape[1], 3 * width) if matrix else (3 * width,)
            rows.append(SourceTensor(f"{prefix}.attn.c_attn.{kind}", shape, parts))
        elif module in _GPT2_LAYER:
            shape = tensor.shape[::-1]
            part = SourcePart(tensor.name, turned if matrix else ())
            rows.append(SourceTensor(f"{prefix}.{_GPT2_LAYER[module]}.{kind}", shape, (part,)))
    return rows


_FAMILIES: dict[str, Callable[[EffectiveConfig], list[SourceTensor]]] = {
    "gpt2": _gpt2,
    "phi3": _phi3,
}
