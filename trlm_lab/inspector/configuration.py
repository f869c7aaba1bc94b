"""The fields of a configuration: each there, of its kind and range; then what they are together.

Written from the table of docs/formats/slm2-configuration.md alone.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import Any

Config = dict[str, Any]
Check = Callable[[Any], bool]
_MOST = 2**31 - 1


def _whole(least: int, most: int) -> Check:
    return lambda value: type(value) is int and least <= value <= most


def _single(value: Any) -> bool:
    """A float that float32 holds."""
    if type(value) is not float or abs(value) > 3.5e38:
        return False
    try:
        return bool(struct.unpack("<f", struct.pack("<f", value))[0] == value)
    except OverflowError:
        return False


def _positive(value: Any) -> bool:
    return _single(value) and value > 0


def _within(low: float, high: float) -> Check:
    return lambda value: _single(value) and low <= value <= high


def _or_null(check: Check) -> Check:
    return lambda value: value is None or check(value)


def _one_of(*texts: str) -> Check:
    return lambda value: type(value) is str and value in texts


def _list_of(check: Check) -> Check:
    return lambda value: type(value) is list and all(map(check, value))


def _truth(value: Any) -> bool:
    return type(value) is bool


_EPSILON, _BASE, _ID = _within(2.0**-126, 1.0), _within(1.0, 1e12), _whole(0, _MOST)
#: Keys and what their values must be alone.
FIELDS: dict[str, Check] = {
    "model_type": lambda value: type(value) is str,
    "vocab_size": _whole(1, 1 << 24),
    "hidden_size": _whole(1, 1 << 17),
    "intermediate_size": _whole(1, 1 << 19),
    "num_hidden_layers": _whole(1, 1024),
    "num_attention_heads": _whole(1, 4096),
    "num_key_value_heads": _whole(1, 4096),
    "head_dim": _whole(2, 4096),
    "max_position_embeddings": _whole(1, _MOST),
    "rms_norm_eps": _or_null(_EPSILON),
    "layer_norm_epsilon": _or_null(_EPSILON),
    "norm_unit_offset": _truth,
    "norm_placement": _one_of("pre", "post", "sandwich"),
    "qk_norm": _one_of("none", "head", "joined"),
    "rope_order": _one_of("half_split", "interleaved", "none"),
    "rope_theta": lambda value: _BASE(value) or (_single(value) and value == 0),
    "rope_inv_freq": _list_of(_single),
    "rope_attention_factor": _positive,
    "rope_local_base_freq": _or_null(_BASE),
    "rope_local_inv_freq": _list_of(_single),
    "attention_scale": _positive,
    "attn_logit_softcapping": _or_null(_positive),
    "final_logit_softcapping": _or_null(_positive),
    "layer_types": _list_of(_one_of("full_attention", "sliding_attention")),
    "sliding_window": _or_null(_whole(1, _MOST)),
    "hidden_act": _one_of("silu", "gelu_tanh", "gelu_erf"),
    "mlp_gated": _truth,
    "embedding_scale": _positive,
    "tie_word_embeddings": _truth,
    "attention_bias": _truth,
    "attention_out_bias": _truth,
    "mlp_bias": _truth,
    "bos_token_id": _or_null(_ID),
    "pad_token_id": _or_null(_ID),
    "unk_token_id": _or_null(_ID),
    "eos_token_id": _list_of(_ID),
}


def configuration_fault(config: Config) -> str:
    """What is wrong with the fields, an empty text where nothing is."""
    if config.keys() != FIELDS.keys():
        odd = sorted(config.keys() ^ FIELDS.keys())
        return f"keys that are missing or unknown: {', '.join(map(repr, odd[:5]))}"
    bad = [key for key, check in FIELDS.items() if not check(config[key])]
    if bad:
        return f"{bad[0]} is {str(config[bad[0]])[:80]!r}"
    return next((what for holds, what in _relations(config) if not holds), "")


def _relations(c: Config) -> list[tuple[bool, str]]:
    """What fields must be to one another, each with what is said where it does not hold."""
    layered, slides = c["layer_norm_epsilon"] is not None, "sliding_attention" in c["layer_types"]
    pairs, local = len(c["rope_inv_freq"]), len(c["rope_local_inv_freq"])
    return [
        (c["num_attention_heads"] % c["num_key_value_heads"] == 0, "key heads do not divide heads"),
        (len(c["layer_types"]) == c["num_hidden_layers"], "as many layer types as layers"),
        ((c["rms_norm_eps"] is None) == layered, "exactly one epsilon"),
        (not (layered and c["norm_unit_offset"]), "1 + w is of RMSNorm alone"),
        (
            not layered or (c["norm_placement"] == "pre" and c["qk_norm"] == "none"),
            "LayerNorm stands before attention and MLP alone",
        ),
        ((c["sliding_window"] is not None) == slides, "a window exactly where a layer slides"),
        (
            (c["rope_local_base_freq"] is not None) == (local > 0),
            "local frequencies and their base",
        ),
        (slides or local == 0, "local frequencies where no layer slides"),
        *(_rotation(c, pairs, local) if c["rope_order"] != "none" else _no_rotation(c)),
    ]


def _rotation(c: Config, pairs: int, local: int) -> list[tuple[bool, str]]:
    half = c["head_dim"] // 2
    return [
        (c["rope_theta"] != 0, "rope_theta is 0"),
        (c["head_dim"] % 2 == 0, "head_dim is odd"),
        (1 <= pairs <= half and local <= half, "frequencies for more than half a head, or none"),
        (local in (0, pairs), "other numbers of frequencies"),
    ]


def _no_rotation(c: Config) -> list[tuple[bool, str]]:
    zero = c["rope_theta"] == 0 and math.copysign(1.0, c["rope_theta"]) > 0
    return [
        (zero, "rope_theta is not +0.0 without rotation"),
        (not (c["rope_inv_freq"] or c["rope_local_inv_freq"]), "frequencies without rotation"),
        (c["rope_attention_factor"] == 1, "a factor without rotation"),
    ]
