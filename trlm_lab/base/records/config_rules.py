"""What the fields of an effective configuration must be, each alone and to one another."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from trlm_lab.base.config_bounds import CONFIG_BOUNDS, TOKEN_ID
from trlm_lab.base.records.checks import require

#: The texts that a field may hold.
CHOICES: dict[str, tuple[str, ...]] = {
    "norm_placement": ("pre", "post", "sandwich"),
    "qk_norm": ("none", "head", "joined"),
    "rope_order": ("half_split", "interleaved", "none"),
    "hidden_act": ("silu", "gelu_tanh", "gelu_erf"),
}
LAYER_TYPES = ("full_attention", "sliding_attention")

_BOUNDED = ("vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers",
            "num_attention_heads", "num_key_value_heads", "head_dim",
            "max_position_embeddings")  # fmt: skip
#: Float fields above 0 that the source uses as float32; null only where the field may be.
_POSITIVE = ("rms_norm_eps", "layer_norm_epsilon", "rope_local_base_freq", "rope_attention_factor",
             "attention_scale", "attn_logit_softcapping", "final_logit_softcapping",
             "embedding_scale")  # fmt: skip


def _is_id(value: Any) -> bool:
    return not TOKEN_ID.problem(value)


_HAS_TYPE: dict[str, Callable[[Any], bool]] = {
    "str": lambda v: isinstance(v, str),
    "bool": lambda v: isinstance(v, bool),
    "int": lambda v: type(v) is int,
    "float": lambda v: isinstance(v, float),
    "float | None": lambda v: v is None or isinstance(v, float),
    "int | None": lambda v: v is None or _is_id(v),
    "tuple[int, ...]": lambda v: isinstance(v, tuple) and all(map(_is_id, v)),
    "tuple[str, ...]": lambda v: isinstance(v, tuple) and all(isinstance(x, str) for x in v),
    "tuple[float, ...]": lambda v: (
        isinstance(v, tuple) and all(isinstance(x, float) and math.isfinite(x) for x in v)
    ),
}


def check_type(where: str, wanted: str, value: Any) -> None:
    """The value has the type that the field declares. Raises RecordError."""
    require(_HAS_TYPE[wanted](value), where, f"{value!r} is no {wanted}")


def check_rules(row: Mapping[str, Any]) -> None:
    """Ranges, and what fields must be to one another.

    Raises:
        RecordError: the first rule that is broken, by field.
    """
    for name in _BOUNDED:
        problem = CONFIG_BOUNDS[name].problem(row[name])
        require(not problem, f"config.{name}", problem)
    for name, known in CHOICES.items():
        require(row[name] in known, f"config.{name}", f"{row[name]!r} is none of {known}")
    for name in _POSITIVE:
        if row[name] is not None:
            _check_positive(name, row[name])
    groups = row["num_attention_heads"] % row["num_key_value_heads"]
    require(groups == 0, "config.num_key_value_heads", "does not divide the query heads")
    _check_norms(row)
    _check_rope(row)
    _check_layers(row)


def _check_positive(name: str, value: float) -> None:
    where = f"config.{name}"
    require(math.isfinite(value) and value > 0, where, f"{value} is not > 0")
    _check_float32(name, value)
    bound = CONFIG_BOUNDS.get(name)
    problem = bound.problem(value) if bound else ""
    require(not problem, where, problem)


def _check_float32(name: str, value: float) -> None:
    # A value beyond float32 becomes infinite, which is not the value either.
    with np.errstate(over="ignore"):
        exact = float(np.float32(value)) == value
    require(exact, f"config.{name}", "is no float32 value")


def _check_norms(row: Mapping[str, Any]) -> None:
    rms, layer = row["rms_norm_eps"] is not None, row["layer_norm_epsilon"] is not None
    both = "both epsilons are given" if rms else "neither rms_norm_eps nor layer_norm_epsilon is"
    require(rms != layer, "config.rms_norm_eps", both)
    offset = row["norm_unit_offset"] and layer
    require(not offset, "config.norm_unit_offset", "only an RMS norm has the factor 1 + w")
    # Norms behind a part, and those of queries and keys, have no place for a bias in the format.
    plain = row["norm_placement"] == "pre" and row["qk_norm"] == "none"
    where = "config.layer_norm_epsilon"
    require(plain or not layer, where, "a LayerNorm stands before attention and the MLP alone")


def _check_rope(row: Mapping[str, Any]) -> None:
    theta, order, width = row["rope_theta"], row["rope_order"], row["head_dim"]
    where, pairs = "config.rope_inv_freq", len(row["rope_inv_freq"])
    local, base = len(row["rope_local_inv_freq"]), row["rope_local_base_freq"]
    require((local > 0) == (base is not None), "config.rope_local_inv_freq", "stands with its base")
    if order == "none":
        plain = theta == 0 and math.copysign(1, theta) > 0
        require(plain, "config.rope_theta", f"{theta} without rotation, 0 is wanted")
        require(pairs == local == 0, where, "frequencies without rotation")
        require(row["rope_attention_factor"] == 1, "config.rope_attention_factor", "is not 1")
        return
    _check_float32("rope_theta", theta)
    problem = CONFIG_BOUNDS["rope_theta"].problem(theta)
    require(not problem, "config.rope_theta", problem)
    require(width % 2 == 0, "config.head_dim", "is odd, RoPE pairs coordinates")
    fits = 0 < pairs <= width // 2
    require(fits, where, f"{pairs} frequencies for head_dim {width}")
    require(local in (0, pairs), "config.rope_local_inv_freq", f"{local} values beside {pairs}")
    for name in ("rope_inv_freq", "rope_local_inv_freq"):
        for value in row[name]:
            _check_float32(name, value)


def _check_layers(row: Mapping[str, Any]) -> None:
    where, types, window = "config.layer_types", row["layer_types"], row["sliding_window"]
    depth = row["num_hidden_layers"]
    require(len(types) == depth, where, f"{len(types)} types for {depth} layers")
    strange = sorted(set(types) - set(LAYER_TYPES))
    require(not strange, where, f"{strange} is none of {LAYER_TYPES}")
    problem = "" if window is None else CONFIG_BOUNDS["sliding_window"].problem(window)
    require(not problem, "config.sliding_window", problem)
    slides = "sliding_attention" in types
    stands = (window is not None) == slides
    require(stands, "config.sliding_window", f"{window} for the layer types {sorted(set(types))}")
    local = slides or not row["rope_local_inv_freq"]
    require(local, "config.rope_local_inv_freq", "no layer slides")
