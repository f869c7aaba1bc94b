"""The reference operators by name: a table from names to functions over named operands.

Layouts: vectors run along the last axis; matrices are out x in; heads are (T, N, E) with T tokens,
N heads, E channels, or (T, E) for one head, or (E,) for one head of one token; masks are (T, S),
queries by keys, and nonzero is visible. The answer is `y`. Every float operand must be finite (in
`softmax`, -inf and the most negative float32 mark masked entries), and so must the answer be.

Quantizing and dequantizing are not here: they belong to the block formats.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from trlm_lab.errors import UnknownNameError
from trlm_lab.ops import by_dtype
from trlm_lab.ops.arithmetic import Arithmetic, Array
from trlm_lab.ops.attention import attention
from trlm_lab.ops.cast import cast
from trlm_lab.ops.embedding import embedding
from trlm_lab.ops.finite import require_finite
from trlm_lab.ops.gelu_erf import gelu_erf
from trlm_lab.ops.gelu_tanh import gelu_tanh
from trlm_lab.ops.layer_norm import layer_norm
from trlm_lab.ops.masks import MASKED_SCORE, causal_mask, sliding_window_mask
from trlm_lab.ops.matmul import matmul
from trlm_lab.ops.operands import Operands
from trlm_lab.ops.residual import residual
from trlm_lab.ops.rms_norm import rms_norm
from trlm_lab.ops.rope import rope
from trlm_lab.ops.rope_interleaved import rope_interleaved
from trlm_lab.ops.rotation import inverse_frequencies
from trlm_lab.ops.silu import silu
from trlm_lab.ops.softcap import softcap
from trlm_lab.ops.softmax import softmax

Serve = Callable[[Operands], Array]


def _rms_norm(given: Operands) -> Array:
    x, weight, eps = given.tensor("x"), given.tensor("weight", 1), given.number("eps")
    return rms_norm(x, weight, eps, given.arithmetic)


def _layer_norm(given: Operands) -> Array:
    x, eps = given.tensor("x"), given.number("eps")
    weight, bias = given.tensor("weight", 1), given.tensor("bias", 1)
    return layer_norm(x, weight, bias, eps, given.arithmetic)


def _softmax(given: Operands) -> Array:
    x = given.scores("x")
    if x.ndim == 0:
        given.refuse("x", "has rank 0, needed is at least one axis")
    visible = given.mask("mask", x.shape) & ~(x <= MASKED_SCORE)
    require_finite(np.where(visible, x, 0), "softmax: x")
    return softmax(x, visible, given.arithmetic)


def _attention(given: Operands) -> Array:
    q, k, v = (given.tensor(name, 2, 3) for name in ("q", "k", "v"))
    if not q.ndim == k.ndim == v.ndim:
        given.refuse("q, k, v", f"have the ranks {q.ndim}, {k.ndim}, {v.ndim}; needed is one rank")
    heads = [x if x.ndim == 3 else x[:, None, :] for x in (q, k, v)]
    scale = given.number("scale") if "scale" in given else q.shape[-1] ** -0.5
    cap = given.number("cap") if "cap" in given else None
    visible = given.mask("mask", (len(q), len(k)))
    y = attention(heads[0], heads[1], heads[2], visible, scale, given.arithmetic, cap)
    return y if q.ndim == 3 else y[:, 0, :]


def _rotary(rotate: Callable[[Array, Array, Array, Arithmetic], Array]) -> Serve:
    def serve(given: Operands) -> Array:
        x = given.tensor("x", 1, 2, 3)
        if ("theta" in given) == ("inv_freq" in given):
            given.refuse("theta, inv_freq", "exclude each other and one of them is needed")
        if "theta" in given:
            inv_freq = inverse_frequencies(given.number("theta"), x.shape[-1])
        else:
            inv_freq = np.asarray(given.tensor("inv_freq", 1), dtype=np.float32)
        # One token has one position; a scalar position holds for every token.
        heads = x.reshape(1, 1, -1) if x.ndim == 1 else x.reshape(len(x), -1, x.shape[-1])
        positions = given.integers("positions")
        if positions.ndim == 0:
            positions = np.broadcast_to(positions, (len(heads),))
        return rotate(heads, positions, inv_freq, given.arithmetic).reshape(x.shape)

    return serve


def _matmul(given: Operands) -> Array:
    x, weight = given.tensor("x"), given.tensor("weight", 2)
    if x.ndim == 0:
        given.refuse("x", "has rank 0, needed is at least one axis")
    rows = x.reshape(-1, x.shape[-1])
    return matmul(rows, weight, given.arithmetic).reshape(*x.shape[:-1], len(weight))


def _embedding(given: Operands) -> Array:
    ids = given.integers("token_ids")
    rows = embedding(given.tensor("weight", 2), ids.reshape(-1), given.arithmetic)
    return rows.reshape(*ids.shape, rows.shape[-1])


def _residual(given: Operands) -> Array:
    return residual(given.tensor("old"), given.tensor("new"), given.arithmetic)


def _cast(given: Operands) -> Array:
    return cast(given.tensor("x"), given.text("dtype"))


def _softcap(given: Operands) -> Array:
    cap = given.number("cap")
    if cap <= 0:
        given.refuse("cap", "must be above 0")
    return softcap(given.tensor("x"), cap, given.arithmetic)


def _causal_mask(given: Operands) -> Array:
    return causal_mask(given.integer("length"))


def _sliding_window_mask(given: Operands) -> Array:
    return sliding_window_mask(given.integer("length"), given.integer("window"))


def _activation(function: Callable[[Array, Arithmetic], Array]) -> Serve:
    return lambda given: function(given.tensor("x"), given.arithmetic)


def _elementary(function: Callable[[Array], Array]) -> Serve:
    return lambda given: function(given.tensor("x"))


#: Name to operand names (a question mark: optional) and function.
OPERATORS: dict[str, tuple[tuple[str, ...], Serve]] = {
    "rms_norm": (("x", "weight", "eps"), _rms_norm),
    "layer_norm": (("x", "weight", "bias", "eps"), _layer_norm),
    "softmax": (("x", "mask?"), _softmax),
    "softcap": (("x", "cap"), _softcap),
    "attention": (("q", "k", "v", "mask?", "scale?", "cap?"), _attention),
    "causal_mask": (("length",), _causal_mask),
    "sliding_window_mask": (("length", "window"), _sliding_window_mask),
    "rope": (("x", "positions", "theta?", "inv_freq?"), _rotary(rope)),
    "rope_interleaved": (("x", "positions", "theta?", "inv_freq?"), _rotary(rope_interleaved)),
    "silu": (("x",), _activation(silu)),
    "gelu_tanh": (("x",), _activation(gelu_tanh)),
    "gelu_erf": (("x",), _activation(gelu_erf)),
    "matmul": (("x", "weight"), _matmul),
    "embedding": (("weight", "token_ids"), _embedding),
    "residual": (("old", "new"), _residual),
    "cast": (("x", "dtype"), _cast),
    "exp": (("x",), _elementary(by_dtype.exp)),
    "log": (("x",), _elementary(by_dtype.log)),
    "sin": (("x",), _elementary(by_dtype.sin)),
    "cos": (("x",), _elementary(by_dtype.cos)),
    "tanh": (("x",), _elementary(by_dtype.tanh)),
    "erf": (("x",), _elementary(by_dtype.erf)),
}


def run_operator(
    name: str, arrays: Mapping[str, Any], params: Mapping[str, Any], arithmetic: Arithmetic
) -> dict[str, Array]:
    """Run one operator; `params` holds scalars and texts, which may also stand in `arrays`.

    Returns:
        `{"y": answer}`: float32 or float64 by profile (`cast`: float32; masks: Boolean).

    Raises:
        UnknownNameError: no operator has this name.
        OperatorInputError: an operand is missing, unknown or ill-typed.
        ShapeMismatchError, AllKeysMaskedError, TokenRangeError: the operator's own rules.
        NonFiniteError: an operand or the answer is not finite; names it, its index and its bits.
    """
    if name not in OPERATORS:
        raise UnknownNameError(kind="operator", name=name, known=", ".join(OPERATORS))
    wanted, serve = OPERATORS[name]
    y = serve(Operands(name, {**arrays, **params}, wanted, arithmetic))
    if y.dtype.kind == "f":
        require_finite(y, f"{name}: y")
    return {"y": y}
