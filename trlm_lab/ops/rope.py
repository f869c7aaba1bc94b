"""Rotary position embedding, half-split pairs (i, i + E/2), as Hugging Face stores llama heads.

y1 = x1*c - x2*s and y2 = x2*c + x1*s with x1, x2 the lower and upper half of the head; each product
is rounded before the addition. P < E/2 frequencies turn the first 2P coordinates, whose halves are
then the pairs (i, i + P); the others pass as they are.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

from trlm_lab.ops.arithmetic import Arithmetic, Array
from trlm_lab.ops.rotation import check_rotation_shapes, cosines_and_sines


@np.errstate(all="ignore")
def rope(
    x: Float[Array, "T N E"],
    positions: Int[Array, " T"],
    inv_freq: Float[Array, " P"],
    arithmetic: Arithmetic,
    attention_factor: float = 1.0,
) -> Float[Array, "T N E"]:
    """Rotate every head of every token by its position.

    Raises:
        ShapeMismatchError: the shapes do not fit each other.
    """
    x, positions = arithmetic.array(x), np.asarray(positions)
    check_rotation_shapes("rope", x, positions, np.asarray(inv_freq))
    tables = cosines_and_sines(positions, inv_freq, arithmetic, attention_factor)
    c, s = (part[:, None, :] for part in tables)
    half = c.shape[-1]
    x1, x2, rest = x[..., :half], x[..., half : 2 * half], x[..., 2 * half :]
    return np.concatenate([x1 * c - x2 * s, x2 * c + x1 * s, rest], axis=-1)
