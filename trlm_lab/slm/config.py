"""The configuration section: deterministic CBOR that the header must agree with."""

from __future__ import annotations

from typing import Any

import numpy as np

from trlm_lab.base import canon
from trlm_lab.base.bits import bits_of
from trlm_lab.errors import NotCanonicalError, SlmConfigError
from trlm_lab.slm.header import Header
from trlm_lab.slm.layout import HEADER, MAX_CONFIG_LEN
from trlm_lab.slm.window import Window

#: Header field to configuration key.
SHAPE_KEYS: dict[str, str] = {
    "vocab": "vocab_size",
    "layers": "num_hidden_layers",
    "heads": "num_attention_heads",
    "kv_heads": "num_key_value_heads",
    "head_dim": "head_dim",
    "ffn": "intermediate_size",
    "max_context_declared": "max_position_embeddings",
    "hidden": "hidden_size",
}
#: The header's field holds the epsilon of whichever norm the model has.
FLOAT_KEYS: dict[str, tuple[str, ...]] = {
    "rope_theta_bits": ("rope_theta",),
    "rms_eps_bits": ("rms_norm_eps", "layer_norm_epsilon"),
}
ROPE_ORDERS = ("half_split", "interleaved", "none")


def shape_fields(config: dict[str, Any]) -> dict[str, Any]:
    """The header's shape fields, from the configuration."""
    shapes: dict[str, Any] = {name: int(config[key]) for name, key in SHAPE_KEYS.items()}
    floats = {name: config[_given(config, keys)] for name, keys in FLOAT_KEYS.items()}
    return shapes | {name: bits_of(np.float32(value)) for name, value in floats.items()}


def _given(config: dict[str, Any], keys: tuple[str, ...]) -> str:
    """The first key that is there and not null; else the first."""
    return next((key for key in keys if config.get(key) is not None), keys[0])


def read_config(window: Window, header: Header) -> dict[str, Any]:
    """Decode the configuration and compare it with the header.

    Raises:
        SlmConfigError: too long, not canonical, no map, a missing or ill-typed key, a
            contradiction.
    """
    check_length(header.config_len, window.at(HEADER.offset("config_len")))
    raw = bytes(window.view[header.config_off : header.config_off + header.config_len])
    place = window.at(header.config_off)
    try:
        config = canon.decode(raw, where=place)
    except NotCanonicalError as error:
        raise SlmConfigError(
            where=place, field="the section", got=error.facts["detail"], expected="canonical CBOR"
        ) from error
    if not isinstance(config, dict):
        kind = type(config).__name__
        raise SlmConfigError(where=place, field="the section", got=kind, expected="a map")
    _check_agreement(window, header, config)
    return config


def check_length(length: int, where: str) -> None:
    """Refuse a configuration whose values would take many times its bytes as SlmConfigError."""
    if length > MAX_CONFIG_LEN:
        raise SlmConfigError(
            where=where, field="config_len", got=length, expected=f"at most {MAX_CONFIG_LEN}"
        )


def _check_agreement(window: Window, header: Header, config: dict[str, Any]) -> None:
    floats = {name: _given(config, keys) for name, keys in FLOAT_KEYS.items()}
    for name, key in (SHAPE_KEYS | floats).items():
        wanted = float if name in FLOAT_KEYS else int
        value = config.get(key)
        if type(value) is not wanted:
            raise SlmConfigError(
                where=window.at(header.config_off), field=key, got=repr(value), expected=wanted
            )
        with np.errstate(over="ignore"):
            stored = bits_of(np.float32(value)) if wanted is float else value
        if stored != getattr(header, name):
            raise SlmConfigError(
                where=window.at(HEADER.offset(name)),
                field=f"header.{name}",
                got=getattr(header, name),
                expected=f"{stored} (configuration {key} {value})",
            )
    _check_rope(window.at(header.config_off), config)


def _check_rope(place: str, config: dict[str, Any]) -> None:
    order = config.get("rope_order")
    if order not in ROPE_ORDERS:
        raise SlmConfigError(where=place, field="rope_order", got=order, expected=ROPE_ORDERS)
    if (order == "none") != (config["rope_theta"] == 0):
        raise SlmConfigError(
            where=place,
            field="rope_order",
            got=f"{order} with rope_theta {config['rope_theta']}",
            expected="none exactly when rope_theta is 0",
        )
