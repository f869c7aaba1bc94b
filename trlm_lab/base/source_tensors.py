"""Where each tensor of a model lies in its source: names, shapes and ordered steps, by family.

Most families store the model's own tensors (`model_parts`). GPT-2 stores its projections the other
way round (in, out) and joins queries, keys and values; Phi-3 joins them too, and gate with up.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

from trlm_lab.base.model_parts import HEAD, ModelTensor, model_tensors
from trlm_lab.base.model_shape import ModelShape
from trlm_lab.base.records import Transform


@dataclass(frozen=True)
class SourcePart:
    """A tensor of the model and the steps, in order, that make it of the source tensor.

    Steps: `transpose` (swap the two axes of the whole source tensor), then `rows` with `first` and
    `count` (a range of the first axis). `rows` also declares what is split: `part` out of `of`, in
    the order in which they are stored, and of a projection's heads how many of which width follow
    one another in it (`heads`, `head_dim`). No step means that the bytes are taken as they are.
    """

    destination: str
    steps: tuple[Transform, ...] = ()


@dataclass(frozen=True)
class SourceTensor:
    """A stored tensor: name, shape as stored, and what is made of it, in the order of its rows.

    Of a tensor of which nothing is made, `omitted` says why.
    """

    name: str
    shape: tuple[int, ...]
    parts: tuple[SourcePart, ...]
    omitted: str = ""


def source_tensors(config: ModelShape) -> list[SourceTensor]:
    """Every tensor of the source, in the order of the forward pass.

    The head stands in the list also where it is tied; the source may then leave it out.
    """
    return _FAMILIES.get(config.model_type, _as_they_are)(config)


def stored_sources(config: ModelShape, names: Collection[str]) -> list[SourceTensor]:
    """As `source_tensors`, by the names that a source has, which knows more than one spelling.

    Behind them stand those of `names` that the source framework leaves aside, each with the reason.
    """
    rows = source_tensors(config)
    if config.model_type == "gpt2" and not any(n.startswith(_GPT2_PREFIX) for n in names):
        rows = [replace(row, name=row.name.removeprefix(_GPT2_PREFIX)) for row in rows]
    return rows + _left_aside(config, names)


def _left_aside(config: ModelShape, names: Collection[str]) -> list[SourceTensor]:
    """The buffers among the names; a family has either masks or frequencies."""
    length, pairs = config.max_position_embeddings, config.head_dim // 2
    shapes = {"bias": (1, 1, length, length), "masked_bias": (), "inv_freq": (pairs,)}
    pattern, reason = _MASKS if config.model_type == "gpt2" else _FREQUENCIES
    found = [name for name in sorted(names) if pattern.fullmatch(name)]
    return [SourceTensor(name, shapes[name.rpartition(".")[2]], (), reason) for name in found]


def _as_they_are(config: ModelShape) -> list[SourceTensor]:
    return [SourceTensor(t.name, t.shape, (SourcePart(t.name),)) for t in model_tensors(config)]


def _split(
    config: ModelShape, stem: str, kind: str, *before: Transform
) -> tuple[tuple[SourcePart, ...], int]:
    """Queries, keys and values out of one tensor, and the rows of all three."""
    parts, first, names = [], 0, ["q_proj", "k_proj", "v_proj"]
    for name in names:
        heads = config.num_attention_heads if name == "q_proj" else config.num_key_value_heads
        count = heads * config.head_dim
        declared = {"part": name, "of": names, "heads": heads, "head_dim": config.head_dim}
        step = Transform("rows", {"first": first, "count": count, **declared})
        parts.append(SourcePart(f"{stem}.{name}.{kind}", (*before, step)))
        first += count
    return tuple(parts), first


def _phi3(config: ModelShape) -> list[SourceTensor]:
    hidden, ffn = config.hidden_size, config.intermediate_size
    rows: list[SourceTensor] = []
    for tensor in model_tensors(config):
        stem, _, op = tensor.name.removesuffix(".weight").rpartition(".")
        if op == "q_proj":
            parts, count = _split(config, stem, "weight")
            rows.append(SourceTensor(f"{stem}.qkv_proj.weight", (count, hidden), parts))
        elif op == "gate_proj":
            parts = tuple(_half(stem, index, ffn) for index in range(2))
            rows.append(SourceTensor(f"{stem}.gate_up_proj.weight", (2 * ffn, hidden), parts))
        elif op not in ("k_proj", "v_proj", "up_proj"):
            rows.append(SourceTensor(tensor.name, tensor.shape, (SourcePart(tensor.name),)))
    return rows


def _half(stem: str, index: int, count: int) -> SourcePart:
    """The gate, which stands first, or what it is multiplied with."""
    names = ["gate_proj", "up_proj"]
    part = {"part": names[index], "of": names}
    step = Transform("rows", {"first": index * count, "count": count, **part})
    return SourcePart(f"{stem}.{names[index]}.weight", (step,))


_GPT2_PREFIX = "transformer."
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
#: Buffers that older versions of the framework saved beside the weights.
_MASKS = (
    re.compile(r"(?:transformer\.)?h\.[0-9]+\.attn\.(?:bias|masked_bias)"),
    "a causal mask that the source's class makes itself and does not load",
)
_FREQUENCIES = (
    re.compile(r"model\.layers\.[0-9]+\.self_attn\.rotary_emb\.inv_freq"),
    "rotary frequencies that the source's class makes itself and does not load",
)


def _gpt2(config: ModelShape) -> list[SourceTensor]:
    rows: list[SourceTensor] = []
    for tensor in model_tensors(config):
        stem, _, kind = tensor.name.rpartition(".")
        if stem in _GPT2_OUTSIDE:
            source = tensor.name if tensor.name == HEAD else f"{_GPT2_OUTSIDE[stem]}.{kind}"
            rows.append(SourceTensor(source, tensor.shape, (SourcePart(tensor.name),)))
        else:
            rows += _gpt2_layer(config, tensor, stem, kind)
    return rows


def _gpt2_layer(
    config: ModelShape, tensor: ModelTensor, stem: str, kind: str
) -> list[SourceTensor]:
    layer, module = stem.removeprefix("model.layers.").split(".", 1)
    prefix = f"{_GPT2_PREFIX}h.{layer}"
    # Matrices are stored (in, out); a square one shows nothing of it by its shape.
    before = (Transform("transpose"),) if len(tensor.shape) == 2 else ()
    if module == "self_attn.q_proj":
        parts, count = _split(config, f"model.layers.{layer}.self_attn", kind, *before)
        shape = (*tensor.shape[1:], count)
        return [SourceTensor(f"{prefix}.attn.c_attn.{kind}", shape, parts)]
    if module not in _GPT2_LAYER:
        return []
    part = SourcePart(tensor.name, before)
    return [SourceTensor(f"{prefix}.{_GPT2_LAYER[module]}.{kind}", tensor.shape[::-1], (part,))]


_FAMILIES: dict[str, Callable[[ModelShape], list[SourceTensor]]] = {
    "gpt2": _gpt2,
    "phi3": _phi3,
}
