"""Which fields of the effective configuration a key asks for, by the kind of key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trlm_lab.describe.schema import Reading

#: The source framework's names of the activations that the engines compute.
ACTIVATIONS = {
    "silu": "silu",
    "swish": "silu",
    "gelu": "gelu_erf",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
}


def asks_for(*fields: str) -> Reading:
    """The value of the key, for each of these fields; null asks for nothing."""

    def reading(value: Any, document: Mapping[str, Any]) -> Mapping[str, Any]:
        return {} if value is None else dict.fromkeys(fields, value)

    return reading


def asks_even_null(field: str) -> Reading:
    """As `asks_for` one field, where null means that the model has none."""
    return lambda value, document: {field: value}


def activation(value: Any, document: Mapping[str, Any]) -> Mapping[str, Any]:
    """The activation, by the name that the effective configuration has for it."""
    return {"hidden_act": ACTIVATIONS[value]}


def score_scale(value: Any, document: Mapping[str, Any]) -> Mapping[str, Any]:
    """The scale of the attention scores is the inverse root of the key."""
    return {"attention_scale": float(value) ** -0.5}


def width_and_head(value: Any, document: Mapping[str, Any]) -> Mapping[str, Any]:
    """Of a class without a width of the heads among its fields: hidden size over heads."""
    heads = document.get("num_attention_heads")
    head = {"head_dim": value // heads} if heads and "head_dim" not in document else {}
    return {"hidden_size": value, **head}


def every_layer_slides(value: Any, document: Mapping[str, Any]) -> Mapping[str, Any]:
    """A window that holds for every layer; null for none."""
    kind = "full_attention" if value is None else "sliding_attention"
    layers = document.get("num_hidden_layers")
    types = {} if layers is None else {"layer_types": [kind] * layers}
    return {"sliding_window": value, **types}


def window_where_used(value: Any, document: Mapping[str, Any]) -> Mapping[str, Any]:
    """A window that `use_sliding_window` has to switch on."""
    if document.get("use_sliding_window") is True and value is not None:
        return {"window_if_any": value}
    return {}


def window_if_any(value: Any, document: Mapping[str, Any]) -> Mapping[str, Any]:
    """A window that only the sliding layers have, if there are any."""
    return {} if value is None else {"window_if_any": value}


def no_window_if_off(value: Any, document: Mapping[str, Any]) -> Mapping[str, Any]:
    """Switched off, no layer slides."""
    return {} if value else {"sliding_window": None}


def slides_behind(value: Any, document: Mapping[str, Any]) -> Mapping[str, Any]:
    """The first `max_window_layers` layers are full, the others slide where windows are used."""
    layers, used = document.get("num_hidden_layers"), document.get("use_sliding_window") is True
    if layers is None or document.get("layer_types") is not None:
        return {}
    slides = used and document.get("sliding_window") is not None
    full = min(value, layers) if slides else layers
    kinds = ["full_attention"] * full + ["sliding_attention"] * (layers - full)
    return {"layer_types": kinds}


def one_full_in(value: Any, document: Mapping[str, Any]) -> Mapping[str, Any]:
    """Every so manieth layer is full, the others slide."""
    layers = document.get("num_hidden_layers")
    if layers is None or document.get("layer_types") is not None:
        return {}
    kinds = ["sliding_attention" if (i + 1) % value else "full_attention" for i in range(layers)]
    return {"layer_types": kinds}
