"""The operators an engine serves: a name and one callable each, all of one calling convention.

`by_name` checks operands and hands them to a kernel positionally, floats in the profile's type:

- `rms_norm(x, weight, eps)`, `layer_norm(x, weight, bias, eps)`: x (*T, D)
- `softmax(x, visible)`: of one shape; `softcap(x, cap)`
- `attention(q, k, v, visible, scale, cap)`: T H E, S K E, S K C, Bool T S; cap None for none
- `rope`, `rope_interleaved(x, positions, inv_freq, attention_factor)`: x T N E, inv_freq P <= E/2
- `silu`, `gelu_tanh`, `gelu_erf`, `exp`, `log`, `sin`, `cos`, `tanh`, `erf`: (x)
- `matmul(x, weight)`: T I, O I; `add_bias(y, bias)`: *T O, O
- `embedding(weight, token_ids)`: V D, T; `embedding_scale(x, scale)`;
  `learned_positions(x, weight, positions)`: T D, P D, T
- `swiglu`, `geglu_tanh`, `geglu_erf(gate, up)`, `residual(old, new)`: of one shape
- `cast(x, dtype)`; `sum(x, order)`
- `causal_mask(length)`, `sliding_window_mask(length, window)`, `combine_masks(first, second)`
- `inverse_frequencies(values)`: of the operands' formula, in the profile's type
- `half_split_to_interleaved`, `interleaved_to_half_split(x, heads)`: rows along axis 0
- `quantize(x, format)` to codes and scales, `dequantize(codes, scale, format)`: two-dimensional

So every engine meets the same checked operands, and its answers can be compared bit by bit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from trlm_lab.errors import OperatorNotServedError
from trlm_lab.ops import by_dtype
from trlm_lab.ops.arithmetic import Arithmetic, Array
from trlm_lab.ops.attention import attention
from trlm_lab.ops.bias import add_bias
from trlm_lab.ops.cast import cast
from trlm_lab.ops.embedding import add_positions, embedding, scaled_embedding
from trlm_lab.ops.gated import GATES, gated
from trlm_lab.ops.gelu_erf import gelu_erf
from trlm_lab.ops.gelu_tanh import gelu_tanh
from trlm_lab.ops.layer_norm import layer_norm
from trlm_lab.ops.masks import causal_mask, sliding_window_mask
from trlm_lab.ops.matmul import matmul
from trlm_lab.ops.residual import residual
from trlm_lab.ops.rms_norm import rms_norm
from trlm_lab.ops.rope import rope
from trlm_lab.ops.rope_interleaved import (
    half_split_to_interleaved,
    interleaved_to_half_split,
    rope_interleaved,
)
from trlm_lab.ops.silu import silu
from trlm_lab.ops.softcap import softcap
from trlm_lab.ops.softmax import softmax
from trlm_lab.ops.summation import summation

Kernel = Callable[..., Any]


@dataclass(frozen=True)
class Kernels:
    """What one engine computes in one arithmetic."""

    engine: str
    table: Mapping[str, Kernel]

    def __getitem__(self, name: str) -> Kernel:
        """The kernel of an operator. Raises OperatorNotServedError where there is none."""
        if name not in self.table:
            known = ", ".join(self.table)
            raise OperatorNotServedError(
                where=self.engine, engine=self.engine, kind="operator", name=name, known=known
            )
        return self.table[name]


def _permuted(order: Callable[[int, int], Array]) -> Kernel:
    def permute(x: Array, heads: int) -> Array:
        return np.ascontiguousarray(x[order(len(x), heads)])

    return permute


def reference_kernels(arithmetic: Arithmetic) -> Kernels:
    """Every operator in NumPy."""
    a = arithmetic
    elementary = {name: getattr(by_dtype, name) for name in by_dtype.FUNCTIONS}
    table: dict[str, Kernel] = {
        "rms_norm": partial(rms_norm, arithmetic=a),
        "layer_norm": partial(layer_norm, arithmetic=a),
        "softmax": partial(softmax, arithmetic=a),
        "softcap": partial(softcap, arithmetic=a),
        "attention": lambda q, k, v, visible, scale, cap: attention(
            q, k, v, visible, scale, a, cap
        ),
        "causal_mask": causal_mask,
        "sliding_window_mask": sliding_window_mask,
        "combine_masks": np.logical_and,
        "rope": lambda x, at, freq, factor: rope(x, at, freq, a, factor),
        "rope_interleaved": lambda x, at, freq, factor: rope_interleaved(x, at, freq, a, factor),
        "inverse_frequencies": a.array,
        "half_split_to_interleaved": _permuted(half_split_to_interleaved),
        "interleaved_to_half_split": _permuted(interleaved_to_half_split),
        "silu": partial(silu, arithmetic=a),
        "gelu_tanh": partial(gelu_tanh, arithmetic=a),
        "gelu_erf": partial(gelu_erf, arithmetic=a),
        **{name: partial(gated, activation=act, arithmetic=a) for name, act in GATES.items()},
        "matmul": partial(matmul, arithmetic=a),
        "add_bias": partial(add_bias, arithmetic=a),
        "embedding": partial(embedding, arithmetic=a),
        "embedding_scale": partial(scaled_embedding, arithmetic=a),
        "learned_positions": partial(add_positions, arithmetic=a),
        "residual": partial(residual, arithmetic=a),
        "sum": partial(summation, arithmetic=a),
        "cast": cast,
        **elementary,
    }
    return Kernels("reference", table)
