"""Angles of the rotary position embedding: cosines and sines by position and frequency.

Su et al., RoFormer (2021), section 3.2.2. The angle is the float32 product of position and inverse
frequency in every profile, float64 included, because that is the angle the source rotates by.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

from trlm_lab.errors import ShapeMismatchError
from trlm_lab.ops import by_dtype
from trlm_lab.ops.arithmetic import Arithmetic, Array


def inverse_frequencies(theta: float, head_dim: int) -> Float[Array, " {head_dim}//2"]:
    """theta^(-2i/E) for i below E/2, in float64, rounded once to float32.

    A model's own values come from its source and may differ in the last bit; this serves where
    only the base is known.
    """
    exponents = np.arange(0, head_dim, 2, dtype=np.float64) / head_dim
    return np.asarray(1.0 / np.float64(theta) ** exponents, dtype=np.float32)


@np.errstate(all="ignore")
def cosines_and_sines(
    positions: Int[Array, " T"],
    inv_freq: Float[Array, " P"],
    arithmetic: Arithmetic,
    attention_factor: float = 1.0,
) -> tuple[Float[Array, "T P"], Float[Array, "T P"]]:
    """cos and sin of float32(position) * float32(inv_freq), in the profile's type.

    Both are multiplied by `attention_factor` (YaRN), as Hugging Face's llama does.
    """
    angles = np.asarray(positions, dtype=np.float32)[:, None] * np.asarray(inv_freq, np.float32)
    wide, factor = arithmetic.array(angles), arithmetic.dtype.type(attention_factor)
    return np.asarray(by_dtype.cos(wide) * factor), np.asarray(by_dtype.sin(wide) * factor)


def check_rotation_shapes(where: str, x: Array, positions: Array, inv_freq: Array) -> None:
    """Raise ShapeMismatchError unless x is (T, N, E), positions (T,), inv_freq (P,), P <= E/2."""
    if x.ndim != 3 or x.shape[-1] % 2:
        raise ShapeMismatchError(where=where, name="x", got=x.shape, expected="(T, N, E), E even")
    if positions.shape != x.shape[:1]:
        raise ShapeMismatchError(
            where=where, name="positions", got=positions.shape, expected=f"({len(x)},)"
        )
    pairs = x.shape[-1] // 2
    if inv_freq.ndim != 1 or not 0 < len(inv_freq) <= pairs:
        raise ShapeMismatchError(
            where=where, name="inv_freq", got=inv_freq.shape, expected=f"1 to {pairs} frequencies"
        )
