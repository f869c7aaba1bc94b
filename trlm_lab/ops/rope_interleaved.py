"""Rotary position embedding, interleaved pairs (2i, 2i + 1), as GGUF and SLM1 store llama heads.

The same rotation as `rope` on a permuted head: see `half_split_to_interleaved`. P < E/2 frequencies
turn the first 2P coordinates.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

from trlm_lab.errors import ShapeMismatchError
from trlm_lab.ops.arithmetic import Arithmetic, Array
from trlm_lab.ops.rotation import check_rotation_shapes, cosines_and_sines


@np.errstate(all="ignore")
def rope_interleaved(
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
    check_rotation_shapes("rope_interleaved", x, positions, np.asarray(inv_freq))
    tables = cosines_and_sines(positions, inv_freq, arithmetic, attention_factor)
    c, s = (part[:, None, :] for part in tables)
    turned = 2 * c.shape[-1]
    y = x.copy()
    x1, x2 = x[..., 0:turned:2], x[..., 1:turned:2]
    y[..., 0:turned:2] = x1 * c - x2 * s
    y[..., 1:turned:2] = x2 * c + x1 * s
    return y


def half_split_to_interleaved(rows: int, heads: int) -> Int[Array, " {rows}"]:
    """Row order that turns a half-split projection into an interleaved one: new[i] = old[order[i]].

    `heads` counts the heads of this very matrix (the key/value heads for K), so that a head is
    `rows / heads` rows; grouping K by any other count permutes across heads without an error.

    Raises:
        ShapeMismatchError: the heads do not divide the rows into even parts.
    """
    if heads <= 0 or rows % (2 * heads):
        raise ShapeMismatchError(
            where="half_split_to_interleaved", name="rows", got=rows, expected=f"2*{heads}*n"
        )
    order = np.arange(rows).reshape(heads, 2, rows // heads // 2)
    return np.asarray(order.swapaxes(1, 2).reshape(-1))


def interleaved_to_half_split(rows: int, heads: int) -> Int[Array, " {rows}"]:
    """The inverse row order: it turns an interleaved projection into a half-split one.

    Raises:
        ShapeMismatchError: as `half_split_to_interleaved`.
    """
    return np.argsort(half_split_to_interleaved(rows, heads))
