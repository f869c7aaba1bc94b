"""Faults of attention: heads, scale, mask, softmax, joining."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trlm_lab.backends.faults.fault import Fault, absent, operators_changed, sliding_layers
from trlm_lab.backends.operators import Bools, Operators
from trlm_lab.base.records import EffectiveConfig
from trlm_lab.ops.arithmetic import Array


def _needs_groups(config: EffectiveConfig, quant: str) -> str | None:
    heads, kv_heads = config.num_attention_heads, config.num_key_value_heads
    same = kv_heads in (1, heads)
    return f"{kv_heads} key/value heads of {heads} tile as they repeat" if same else None


def _tiled(heads: int, kv_heads: int) -> NDArray[Any]:
    """h mod K instead of h // (H/K)."""
    return np.arange(heads) % kv_heads


def _gqa_tiling(sound: Operators) -> Operators:
    return replace(sound, kv_of_head=_tiled)


def _gqa_tiling_values(sound: Operators) -> Operators:
    def values(probs: Array, v: Array, kv_of_head: NDArray[Any], visible: Bools) -> Array:
        tiled = _tiled(len(kv_of_head), v.shape[1])
        return sound.values(probs, v, tiled, visible)

    return replace(sound, values=values)


def _scale_missing(sound: Operators) -> Operators:
    return replace(sound, scores=lambda q, k, heads, scale: sound.scores(q, k, heads, 1.0))


def _sees_next(sound: Operators) -> Operators:
    def mask(queries: int, keys: int, keep: Bools | None, window: int | None) -> Bools:
        visible = sound.mask(queries, keys, keep, window)
        following = np.zeros_like(visible)
        following[:, 1:] = visible[:, :-1]
        return visible | following if keep is None else visible | (following & keep)

    return replace(sound, mask=mask)


def _loses_own_key(sound: Operators) -> Operators:
    def mask(queries: int, keys: int, keep: Bools | None, window: int | None) -> Bools:
        visible = sound.mask(queries, keys, keep, window)
        own = np.eye(queries, keys, keys - queries, dtype=np.bool_)
        others = visible & ~own
        # A query without any other key keeps its own: an empty row would be an error, not a fault.
        return np.where(others.any(axis=-1, keepdims=True), others, visible)

    return replace(sound, mask=mask)


def _wider_window(sound: Operators) -> Operators:
    def mask(queries: int, keys: int, keep: Bools | None, window: int | None) -> Bools:
        return sound.mask(queries, keys, keep, None if window is None else window + 1)

    return replace(sound, mask=mask)


def _no_window(sound: Operators) -> Operators:
    return replace(
        sound, mask=lambda queries, keys, keep, window: sound.mask(queries, keys, keep, None)
    )


def _uncapped(sound: Operators) -> Operators:
    return replace(sound, softcap=lambda name, x, cap: x)


TEMPERATURE = 2.0


def _temperature(sound: Operators) -> Operators:
    def softmax(scores: Array, visible: Bools) -> Array:
        return sound.softmax(scores / scores.dtype.type(TEMPERATURE), visible)

    return replace(sound, softmax=softmax)


def _over_masked(sound: Operators) -> Operators:
    """Masked scores count as 0 in the sum instead of being left out."""

    def softmax(scores: Array, visible: Bools) -> Array:
        zero = scores.dtype.type(0)
        probs = sound.softmax(np.where(visible, scores, zero), np.ones_like(visible))
        return np.where(visible, probs, zero)

    return replace(sound, softmax=softmax)


def _joined_wrong(sound: Operators) -> Operators:
    def values(probs: Array, v: Array, kv_of_head: NDArray[Any], visible: Bools) -> Array:
        mixed = sound.values(probs, v, kv_of_head, visible)
        return np.ascontiguousarray(mixed.swapaxes(1, 2)).reshape(mixed.shape)

    return replace(sound, values=values)


FAULTS = (
    Fault(
        "gqa_tiling",
        "key/value heads are tiled over the query heads instead of repeated",
        operators_changed(_gqa_tiling),
        refusal=_needs_groups,
    ),
    Fault(
        "attention_scale_missing",
        "scores are not scaled by 1/sqrt(E)",
        operators_changed(_scale_missing),
        refusal=absent(lambda c: c.attention_scale != 1, "the model does not scale its scores"),
    ),
    Fault(
        "attention_softcap_missing",
        "scores pass without the model's soft cap",
        operators_changed(_uncapped),
        refusal=absent(lambda c: c.attn_logit_softcapping, "the model does not cap its scores"),
    ),
    Fault(
        "mask_off_by_one",
        "each query also sees the next key",
        operators_changed(_sees_next),
        tokens=2,
    ),
    Fault(
        "mask_loses_own_key",
        "each query sees the keys before it and not its own",
        operators_changed(_loses_own_key),
        tokens=2,
    ),
    Fault(
        "window_off_by_one",
        "each query of a sliding layer also sees the key just behind its window",
        operators_changed(_wider_window),
        layers=sliding_layers,
        past_window=True,
    ),
    Fault(
        "window_missing",
        "a sliding layer sees every key, as a full one does",
        operators_changed(_no_window),
        layers=sliding_layers,
        past_window=True,
    ),
    Fault(
        "softmax_temperature",
        "scores are halved in the softmax",
        operators_changed(_temperature),
        tokens=2,
        parameters={"temperature": TEMPERATURE},
    ),
    Fault(
        "softmax_over_masked",
        "masked keys weigh exp(0 - max) in the softmax's sum",
        operators_changed(_over_masked),
        tokens=2,
    ),
    Fault(
        "gqa_tiling_values",
        "scores repeat the key heads, value sums tile the value heads",
        operators_changed(_gqa_tiling_values),
        refusal=_needs_groups,
    ),
    Fault(
        "heads_joined_wrong",
        "heads are joined with the head dimension outermost",
        operators_changed(_joined_wrong),
    ),
)
