"""Faults of the key/value cache."""

from __future__ import annotations

from dataclasses import replace

from trlm_lab.backends.faults.fault import Fault, operators_changed
from trlm_lab.backends.kv_cache import LayerCache
from trlm_lab.backends.operators import Operators
from trlm_lab.ops.arithmetic import Array


def _slot_overwritten(sound: Operators) -> Operators:
    def remember(cache: LayerCache, k: Array, v: Array) -> tuple[Array, Array]:
        keys, values = sound.remember(cache, k, v)
        # `keys` is a view: the wrong slot stays wrong for every later query.
        if len(keys) > 1:
            keys[-2] = keys[-1]
        return keys, values

    return replace(sound, remember=remember)


def _value_stale(sound: Operators) -> Operators:
    def remember(cache: LayerCache, k: Array, v: Array) -> tuple[Array, Array]:
        keys, values = sound.remember(cache, k, v)
        if len(values) > 1:
            values[-1] = values[-2]
        return keys, values

    return replace(sound, remember=remember)


FAULTS = (
    Fault(
        "kv_slot_overwritten",
        "the last key also lands in the slot before it",
        operators_changed(_slot_overwritten),
        tokens=2,
    ),
    Fault(
        "kv_value_stale",
        "the last slot still holds the value of the token before",
        operators_changed(_value_stale),
        tokens=2,
    ),
)
