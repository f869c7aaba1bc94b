"""The shape of a model by its configuration file alone, before its framework is asked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from trlm_lab.base.source_tensors import stored_sources
from trlm_lab.describe.families import Family
from trlm_lab.describe.schema import pointer, stated
from trlm_lab.errors import FieldValueError

_LAYER = re.compile(r"\.(0|[1-9][0-9]*)\.")


@dataclass(frozen=True)
class Outline:
    """A `ModelShape` out of what a family fixes and what a file says."""

    model_type: str
    vocab_size: int
    hidden_size: int
    intermediate_size: int
    num_hidden_layers: int
    num_attention_heads: int
    num_key_value_heads: int
    head_dim: int
    max_position_embeddings: int
    layer_norm_epsilon: float | None
    norm_placement: str
    qk_norm: str
    rope_order: str
    mlp_gated: bool
    attention_bias: bool
    attention_out_bias: bool
    mlp_bias: bool
    tie_word_embeddings: bool


def said(family: Family, document: Mapping[str, Any]) -> dict[str, Any]:
    """The effective fields that an accepted `config.json` and its family's class settle."""
    asked = {s.field: s.value for s in stated(document, family.schema) if s.value is not None}
    return {**family.unless_said, **asked, **family.fixed}


def outline(family: Family, document: Mapping[str, Any]) -> Outline | None:
    """The shape that an accepted `config.json` gives; None where a size is left open."""
    row = {"model_type": family.model_type, **said(family, document)}
    names = [f.name for f in fields(Outline)]
    return Outline(**{n: row[n] for n in names}) if row.keys() >= set(names) else None


def has_tensor(family: Family, name: str) -> bool:
    """Whether some model of the family has a tensor of this name."""
    ones = {f.name: 1 for f in fields(Outline)}
    biased = {"attention_bias": True, "attention_out_bias": True, "mlp_bias": True}
    row = {**ones, **biased, **family.fixed, "model_type": family.model_type, "head_dim": 2}
    shape = Outline(**{f.name: row[f.name] for f in fields(Outline)})
    plain = _LAYER.sub(".0.", f".{name}")[1:]
    return plain in {tensor.name for tensor in stored_sources(shape, [plain])}


def check_relations(family: Family, document: Mapping[str, Any]) -> None:
    """What the sizes of an accepted `config.json` must be to one another.

    Raises:
        FieldValueError: heads that do not divide, or a head of odd width, by its key.
    """
    row, key_of = said(family, document), {s.field: s.key for s in stated(document, family.schema)}
    heads, keys = row.get("num_attention_heads", 1), row.get("num_key_value_heads")
    hidden, width = row.get("hidden_size", heads), document.get("head_dim")
    problems = {
        "num_key_value_heads": f"{keys} key/value heads do not divide {heads} query heads"
        if keys and heads % keys
        else "",
        "hidden_size": f"{heads} heads do not divide the width {hidden}, and head_dim is not given"
        if not width and hidden % heads
        else "",
        "head_dim": f"{width} is odd, RoPE rotates pairs of coordinates"
        if width and width % 2 and row["rope_order"] != "none"
        else "",
    }
    for name, problem in problems.items():
        if problem:
            key = key_of.get(name, name)
            raise FieldValueError(where=pointer("config.json", key), field=key, problem=problem)
