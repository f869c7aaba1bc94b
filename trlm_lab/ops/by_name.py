"""The operators by name: a table from names to functions over named operands.

Layouts: vectors run along the last axis; matrices are out x in; heads are (T, N, E) with T tokens,
N heads, E channels, or (T, E) for one head, or (E,) for one head of one token; masks are (T, S),
queries by keys, `mask` with nonzero for visible, `additive_mask` with 0 for visible. The answer is
`y`. Every float operand must be finite (in `softmax`, -inf and the most negative float32 mark
masked entries), and so must the answer be.

Operands are checked here, once for every engine; the engine's kernel computes (`kernels`).
Quantizing and dequantizing are not here: they belong to the block formats.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from trlm_lab.errors import ShapeMismatchError, UnknownNameError
from trlm_lab.ops import by_dtype
from trlm_lab.ops.arithmetic import Arithmetic, Array
from trlm_lab.ops.attention import check_attention_shapes
from trlm_lab.ops.embedding import check_token_range
from trlm_lab.ops.finite import require_finite
from trlm_lab.ops.gated import GATES
from trlm_lab.ops.kernels import Kernels, reference_kernels
from trlm_lab.ops.mask_operands import combine_masks, mask_of
from trlm_lab.ops.masks import MASKED_SCORE
from trlm_lab.ops.matmul import check_matmul_shapes
from trlm_lab.ops.operands import Operands
from trlm_lab.ops.rms_norm import check_norm_vector, unit_offset
from trlm_lab.ops.rotary_operands import SCALING_OPERANDS, frequencies, rotation_frequencies
from trlm_lab.ops.rotation import check_rotation_shapes
from trlm_lab.ops.softmax import require_visible_keys

#: One array, or several by name.
Answer = Array | dict[str, Array]
Serve = Callable[[Operands], Answer]


def _epsilon(given: Operands) -> float:
    eps = given.number("eps")
    if eps < 0:
        given.refuse("eps", "must be 0 or more")
    return eps


def _rms_norm(given: Operands) -> Array:
    x, weight, eps = given.tensor("x"), given.tensor("weight", 1), _epsilon(given)
    check_norm_vector("rms_norm", "weight", x, weight)
    if given.arithmetic.norm_rounding:
        given.require_bf16("x", x)
        given.require_bf16("weight", weight)
    factor = unit_offset(weight, given.arithmetic) if given.flag("unit_offset") else weight
    return given.compute(x, factor, eps)


def _layer_norm(given: Operands) -> Array:
    x, eps = given.tensor("x"), _epsilon(given)
    weight, bias = given.tensor("weight", 1), given.tensor("bias", 1)
    return given.compute(x, weight, bias, eps)


def _require_visible(given: Operands, visible: Array) -> None:
    if given.arithmetic.masked_rows == "error":
        require_visible_keys(visible)


def _softmax(given: Operands) -> Array:
    x = given.scores("x")
    if x.ndim == 0:
        given.refuse("x", "has rank 0, needed is at least one axis")
    visible = mask_of(given, x.shape) & ~(x <= MASKED_SCORE)
    require_finite(np.where(visible, x, 0), "softmax: x")
    _require_visible(given, visible)
    return given.compute(x, visible)


def _attention(given: Operands) -> Array:
    q, k, v = (given.tensor(name, 2, 3) for name in ("q", "k", "v"))
    if not q.ndim == k.ndim == v.ndim:
        given.refuse("q, k, v", f"have the ranks {q.ndim}, {k.ndim}, {v.ndim}; needed is one rank")
    heads = [x if x.ndim == 3 else x[:, None, :] for x in (q, k, v)]
    check_attention_shapes(*heads)
    scale = given.number("scale") if "scale" in given else q.shape[-1] ** -0.5
    cap = given.number("cap") if "cap" in given else None
    if cap is not None and cap <= 0:
        given.refuse("cap", "must be above 0")
    visible = mask_of(given, (len(q), len(k)))
    _require_visible(given, visible)
    y = given.compute(*heads, visible, scale, cap)
    return y if q.ndim == 3 else y[:, 0, :]


def _rotary(given: Operands) -> Array:
    x = given.tensor("x", 1, 2, 3)
    inv_freq, factor = rotation_frequencies(given, x.shape[-1])
    # One token has one position; a scalar position holds for every token.
    heads = x.reshape(1, 1, -1) if x.ndim == 1 else x.reshape(len(x), -1, x.shape[-1])
    positions = given.integers("positions")
    if positions.ndim == 0:
        positions = np.broadcast_to(positions, (len(heads),))
    check_rotation_shapes(given.operator, heads, positions, inv_freq)
    return given.compute(heads, positions, inv_freq, factor).reshape(x.shape)


def _inverse_frequencies(given: Operands) -> Answer:
    head_dim = given.integer("head_dim")
    if head_dim < 2 or head_dim % 2:
        given.refuse("head_dim", "must be even and above 0")
    inv_freq, factor = frequencies(given, head_dim)
    return {"y": given.compute(inv_freq), "attention_factor": np.asarray(factor)}


def _permutation(given: Operands) -> Array:
    x, heads = given.raw("x", "fiu"), given.integer("heads")
    if x.ndim not in (1, 2) or heads < 1 or len(x) % (2 * heads):
        given.refuse(
            "x", f"has the shape {x.shape}, needed are rows for {heads} heads of even size"
        )
    if "head_dim" in given and given.integer("head_dim") * heads != len(x):
        wanted = f"{heads} heads of {given.integer('head_dim')}"
        given.refuse("heads", f"is not the count of this matrix: {len(x)} rows are not {wanted}")
    return given.compute(x, heads)


def _matmul(given: Operands) -> Array:
    x, weight = given.tensor("x"), given.tensor("weight", 2)
    if x.ndim == 0:
        given.refuse("x", "has rank 0, needed is at least one axis")
    rows = x.reshape(-1, x.shape[-1])
    check_matmul_shapes(rows.shape, weight.shape)
    return given.compute(rows, weight).reshape(*x.shape[:-1], len(weight))


def _embedding(given: Operands) -> Array:
    weight, ids = given.tensor("weight", 2), given.integers("token_ids", -(2**31))
    check_token_range(ids.reshape(-1), len(weight))
    rows = given.compute(weight, ids.reshape(-1))
    return rows.reshape(*ids.shape, rows.shape[-1])


def _embedding_scale(given: Operands) -> Array:
    return given.compute(given.tensor("x"), given.number("scale"))


def _learned_positions(given: Operands) -> Array:
    x, weight = given.tensor("x", 2), given.tensor("weight", 2)
    positions = given.integers("positions")
    if weight.shape[1] != x.shape[1] or positions.shape != x.shape[:1]:
        expected = f"x (T, D), weight (P, D), positions (T,); positions {positions.shape}"
        raise ShapeMismatchError(
            where=given.operator, name="x, weight", got=(x.shape, weight.shape), expected=expected
        )
    check_token_range(positions, len(weight))
    return given.compute(x, weight, positions)


def _add_bias(given: Operands) -> Array:
    y, bias = given.tensor("y"), given.tensor("bias", 1)
    check_norm_vector(given.operator, "bias", y, bias)
    return given.compute(y, bias)


def _pair(first: str, second: str) -> Serve:
    def serve(given: Operands) -> Array:
        a, b = given.tensor(first), given.tensor(second)
        if a.shape != b.shape:
            raise ShapeMismatchError(
                where=given.operator, name=second, got=b.shape, expected=a.shape
            )
        return given.compute(a, b)

    return serve


def _sum(given: Operands) -> Array:
    order = given.text("order") if "order" in given else "profile"
    return given.compute(given.tensor("x", 1), order)


def _cast(given: Operands) -> Array:
    return given.compute(given.tensor("x"), given.text("dtype"))


def _softcap(given: Operands) -> Array:
    cap = given.number("cap")
    if cap <= 0:
        given.refuse("cap", "must be above 0")
    return given.compute(given.tensor("x"), cap)


def _causal_mask(given: Operands) -> Array:
    return given.compute(given.length("length"))


def _sliding_window_mask(given: Operands) -> Array:
    return given.compute(given.length("length"), given.integer("window"))


def _elementwise(given: Operands) -> Array:
    return given.compute(given.tensor("x"))


_ROTARY = ("x", "positions", "theta?", "inv_freq?", "attention_factor?", "rotary_dim?",
           *SCALING_OPERANDS)  # fmt: skip
_PERMUTATION = ("x", "heads", "head_dim?")
_MASK = ("mask?", "additive_mask?")

#: Name to operand names (a question mark: optional) and function.
OPERATORS: dict[str, tuple[tuple[str, ...], Serve]] = {
    "rms_norm": (("x", "weight", "eps", "unit_offset?"), _rms_norm),
    "layer_norm": (("x", "weight", "bias", "eps"), _layer_norm),
    "softmax": (("x", *_MASK), _softmax),
    "softcap": (("x", "cap"), _softcap),
    "attention": (("q", "k", "v", *_MASK, "scale?", "cap?"), _attention),
    "causal_mask": (("length",), _causal_mask),
    "sliding_window_mask": (("length", "window"), _sliding_window_mask),
    "combine_masks": (
        ("first?", "second?", "first_additive?", "second_additive?"),
        combine_masks,
    ),
    "rope": (_ROTARY, _rotary),
    "rope_interleaved": (_ROTARY, _rotary),
    "inverse_frequencies": (("head_dim", "theta", *SCALING_OPERANDS), _inverse_frequencies),
    "half_split_to_interleaved": (_PERMUTATION, _permutation),
    "interleaved_to_half_split": (_PERMUTATION, _permutation),
    "silu": (("x",), _elementwise),
    "gelu_tanh": (("x",), _elementwise),
    "gelu_erf": (("x",), _elementwise),
    **dict.fromkeys(GATES, (("gate", "up"), _pair("gate", "up"))),
    "matmul": (("x", "weight"), _matmul),
    "add_bias": (("y", "bias"), _add_bias),
    "embedding": (("weight", "token_ids"), _embedding),
    "embedding_scale": (("x", "scale"), _embedding_scale),
    "learned_positions": (("x", "weight", "positions"), _learned_positions),
    "residual": (("old", "new"), _pair("old", "new")),
    "sum": (("x", "order?"), _sum),
    "cast": (("x", "dtype"), _cast),
    **dict.fromkeys(by_dtype.FUNCTIONS, (("x",), _elementwise)),
}


def run_operator(
    name: str,
    arrays: Mapping[str, Any],
    params: Mapping[str, Any],
    arithmetic: Arithmetic,
    kernels: Kernels | None = None,
) -> dict[str, Array]:
    """Run one operator; `params` holds scalars and texts, which may also stand in `arrays`.

    `kernels` are those of another engine; the reference's where none are given.

    Returns:
        `{"y": answer}`: float32 or float64 by profile (`cast`: float32; masks: Boolean), and what
        else the operator answers.

    Raises:
        UnknownNameError: no operator has this name.
        OperatorNotServedError: the engine lacks it.
        OperatorInputError: an operand is missing, unknown or ill-typed.
        ShapeMismatchError, AllKeysMaskedError, TokenRangeError: the operator's own rules.
        NonFiniteError: an operand or the answer is not finite; names it, its index and its bits.
    """
    if name not in OPERATORS:
        raise UnknownNameError(kind="operator", name=name, known=", ".join(OPERATORS))
    wanted, serve = OPERATORS[name]
    kernels = reference_kernels(arithmetic) if kernels is None else kernels
    answer = serve(Operands(name, {**arrays, **params}, wanted, arithmetic, kernels))
    answers = answer if isinstance(answer, dict) else {"y": answer}
    for key, value in answers.items():
        if value.dtype.kind == "f":
            require_finite(value, f"{name}: {key}")
    return answers
