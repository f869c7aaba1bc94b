"""Faults of the rotary position embedding."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trlm_lab.backends.faults.fault import Fault, operators_changed
from trlm_lab.backends.operators import Ints, Operators
from trlm_lab.base.bits import round_to_bf16
from trlm_lab.ops.arithmetic import Array

BASE_FACTOR = 10.0


def _neighbours_to_halves(x: Array) -> Array:
    """Coordinates (2i, 2i+1) to (i, i + E/2), on the last axis."""
    return np.concatenate([x[..., 0::2], x[..., 1::2]], axis=-1)


def _halves_to_neighbours(x: Array) -> Array:
    half = x.shape[-1] // 2
    return np.stack([x[..., :half], x[..., half:]], axis=-1).reshape(x.shape)


def _pairing(sound: Operators) -> Operators:
    def rope(name: str, x: Array, positions: Ints, inv_freq: Array) -> Array:
        turned = sound.rope(name, _neighbours_to_halves(x), positions, inv_freq)
        return _halves_to_neighbours(turned)

    return replace(sound, rope=rope)


def _off_by_one(sound: Operators) -> Operators:
    return replace(
        sound,
        rope=lambda name, x, positions, inv_freq: sound.rope(name, x, positions + 1, inv_freq),
    )


def _other_base(inv_freq: NDArray[Any]) -> Array:
    """theta^(-2i/E) becomes (10 theta)^(-2i/E)."""
    exponents = np.arange(len(inv_freq), dtype=np.float64) / len(inv_freq)
    return np.asarray(inv_freq / BASE_FACTOR**exponents, dtype=np.float32)


def _base(sound: Operators) -> Operators:
    return replace(
        sound,
        rope=lambda name, x, positions, inv_freq: sound.rope(
            name, x, positions, _other_base(inv_freq)
        ),
    )


def _bf16_frequencies(sound: Operators) -> Operators:
    return replace(
        sound,
        rope=lambda name, x, positions, inv_freq: sound.rope(
            name, x, positions, round_to_bf16(inv_freq)
        ),
    )


def _key_unrotated(sound: Operators) -> Operators:
    def rope(name: str, x: Array, positions: Ints, inv_freq: Array) -> Array:
        return x if name == "k_rope" else sound.rope(name, x, positions, inv_freq)

    return replace(sound, rope=rope)


FAULTS = (
    Fault(
        "rope_pairing",
        "RoPE pairs neighbouring coordinates (2i, 2i+1) instead of the halves (i, i+E/2)",
        operators_changed(_pairing),
        tokens=2,
    ),
    Fault(
        "rope_position_off_by_one",
        "positions count from 1; scores hardly change, for RoPE is relative",
        operators_changed(_off_by_one),
    ),
    Fault(
        "rope_base",
        "inverse frequencies of ten times the base",
        operators_changed(_base),
        tokens=2,
        parameters={"factor": BASE_FACTOR},
    ),
    Fault(
        "rope_bf16_frequencies",
        "inverse frequencies kept in bfloat16",
        operators_changed(_bf16_frequencies),
        tokens=2,
    ),
    Fault(
        "rope_key_unrotated",
        "keys go into the cache before rotation",
        operators_changed(_key_unrotated),
        tokens=2,
    ),
)
