"""Faults of the rotary position embedding."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trlm_lab.backends.faults.fault import Change, Fault, absent, operators_changed
from trlm_lab.backends.operators import Ints
from trlm_lab.backends.reference import Plant
from trlm_lab.base.bits import round_to_bf16
from trlm_lab.base.records import EffectiveConfig
from trlm_lab.ops.arithmetic import Array

BASE_FACTOR = 10.0


def _neighbours_to_halves(x: Array) -> Array:
    """Coordinates (2i, 2i+1) to (i, i + E/2), on the last axis."""
    return np.concatenate([x[..., 0::2], x[..., 1::2]], axis=-1)


def _halves_to_neighbours(x: Array) -> Array:
    half = x.shape[-1] // 2
    return np.stack([x[..., :half], x[..., half:]], axis=-1).reshape(x.shape)


Rope = Callable[[str, Array, Ints, Array, float], Array]


def _rope_changed(change: Callable[[Rope], Rope]) -> Change:
    """Change the rotation of queries and keys."""
    return lambda sound: replace(sound, rope=change(sound.rope))


def _frequencies_changed(change: Callable[[Array], Array]) -> Change:
    """Rotate by other frequencies."""
    return _rope_changed(
        lambda sound: (
            lambda name, x, positions, inv_freq, factor: sound(
                name, x, positions, change(inv_freq), factor
            )
        )
    )


def _pairing(sound: Rope) -> Rope:
    def rope(name: str, x: Array, positions: Ints, inv_freq: Array, factor: float) -> Array:
        turned = x.copy()
        part = (..., slice(0, 2 * len(inv_freq)))  # the rest of a head does not turn
        halves = sound(name, _neighbours_to_halves(x[part]), positions, inv_freq, factor)
        turned[part] = _halves_to_neighbours(halves)
        return turned

    return rope


def _off_by_one(sound: Rope) -> Rope:
    return lambda name, x, positions, inv_freq, factor: sound(
        name, x, positions + 1, inv_freq, factor
    )


def _other_base(inv_freq: NDArray[Any]) -> Array:
    """theta^(-2i/E) becomes (10 theta)^(-2i/E)."""
    exponents = np.arange(len(inv_freq), dtype=np.float64) / len(inv_freq)
    return np.asarray(inv_freq / BASE_FACTOR**exponents, dtype=np.float32)


def _key_unrotated(sound: Rope) -> Rope:
    def rope(name: str, x: Array, positions: Ints, inv_freq: Array, factor: float) -> Array:
        return x if name == "k_rope" else sound(name, x, positions, inv_freq, factor)

    return rope


def _no_factor(sound: Rope) -> Rope:
    return lambda name, x, positions, inv_freq, factor: sound(name, x, positions, inv_freq, 1.0)


def _bases_swapped(config: EffectiveConfig, layer: int | None) -> Plant:
    wanted = config.rope_inv_freq if config.slides(layer or 0) else config.rope_local_inv_freq
    other = np.asarray(wanted, dtype=np.float32)
    return operators_changed(_frequencies_changed(lambda inv_freq: other))(config, layer)


FAULTS = (
    Fault(
        "rope_pairing",
        "RoPE pairs neighbouring coordinates (2i, 2i+1) instead of the halves (i, i+E/2)",
        operators_changed(_rope_changed(_pairing)),
        tokens=2,
    ),
    Fault(
        "rope_position_off_by_one",
        "positions count from 1; scores hardly change, for RoPE is relative",
        operators_changed(_rope_changed(_off_by_one)),
    ),
    Fault(
        "rope_base",
        "inverse frequencies of ten times the base",
        operators_changed(_frequencies_changed(_other_base)),
        tokens=2,
        parameters={"factor": BASE_FACTOR},
    ),
    Fault(
        "rope_bf16_frequencies",
        "inverse frequencies kept in bfloat16",
        operators_changed(_frequencies_changed(round_to_bf16)),
        tokens=2,
    ),
    Fault(
        "rope_key_unrotated",
        "keys go into the cache before rotation",
        operators_changed(_rope_changed(_key_unrotated)),
        tokens=2,
    ),
    Fault(
        "rope_bases_swapped",
        "a sliding layer turns by the frequencies of the full ones, or the other way round",
        _bases_swapped,
        tokens=2,
        refusal=absent(lambda c: c.rope_local_inv_freq, "sliding layers have no base of their own"),
    ),
    Fault(
        "rope_attention_factor_missing",
        "cosines and sines are not multiplied by the attention factor",
        operators_changed(_rope_changed(_no_factor)),
        refusal=absent(lambda c: c.rope_attention_factor != 1, "the attention factor is 1"),
    ),
)
