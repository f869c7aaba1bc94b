"""Frequencies of a rotation from named operands: given, from a base alone, or rescaled."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from trlm_lab.ops.arithmetic import Array
from trlm_lab.ops.operands import Operands
from trlm_lab.ops.rope_scaling import linear_inverse_frequencies, llama3_inverse_frequencies
from trlm_lab.ops.rotation import inverse_frequencies
from trlm_lab.ops.yarn import yarn_inverse_frequencies

_CONTEXT = "original_max_position_embeddings"
_BANDS = ("low_freq_factor", "high_freq_factor")
_TURNS = ("beta_fast", "beta_slow")
#: Names as a Hugging Face configuration has them; the operands of each kind of rescaling.
KINDS: dict[str, tuple[str, ...]] = {
    "default": (),
    "linear": ("factor",),
    "yarn": ("factor", _CONTEXT, *_TURNS),
    "llama3": ("factor", _CONTEXT, *_BANDS),
}
SCALING = ("rope_type", "factor", _CONTEXT, *_TURNS, *_BANDS)
SCALING_OPERANDS = tuple(f"{name}?" for name in SCALING)

Frequencies = tuple[Float[Array, " P"], float]


def _kind(given: Operands) -> str:
    """The named kind; without a name, the one whose operands are there."""
    named = [name for name in SCALING[1:] if name in given]
    bands = [name for name in _BANDS if name in given]
    kind = "llama3" if bands else "yarn" if named else "default"
    if "rope_type" in given:
        kind = given.text("rope_type")
        if kind not in KINDS:
            given.refuse("rope_type", f"is {kind!r:.40}, known are {', '.join(KINDS)}")
    strange = [name for name in named if name not in KINDS[kind]]
    if strange:
        given.refuse(strange[0], f"is no parameter of the kind {kind}")
    if named and "factor" not in given:
        given.refuse(named[0], f"is a parameter of the kind {kind} and stands without factor")
    return kind


def frequencies(given: Operands, head_dim: int) -> Frequencies:
    """Inverse frequencies, float64 where a formula gives them, and the attention factor.

    Raises:
        OperatorInputError: operands that contradict each other or lie outside their range.
    """
    kind, theta = _kind(given), given.number("theta")
    if theta <= 0:
        given.refuse("theta", "must be above 0")
    if kind == "default":
        return inverse_frequencies(theta, head_dim), 1.0
    factor = given.number("factor")
    if factor < 1:
        given.refuse("factor", "must be 1 or more")
    if kind == "linear":
        return linear_inverse_frequencies(head_dim, theta, factor), 1.0
    context = given.integer(_CONTEXT)
    if context < 1:
        given.refuse(_CONTEXT, "must be above 0")
    rescaled = _yarn if kind == "yarn" else _llama3
    return rescaled(given, theta, head_dim, factor, context)


def _yarn(given: Operands, theta: float, head_dim: int, factor: float, context: int) -> Frequencies:
    fast = given.number("beta_fast") if "beta_fast" in given else 32.0
    slow = given.number("beta_slow") if "beta_slow" in given else 1.0
    if theta <= 1:
        given.refuse("theta", "must be above 1 for YaRN")
    if not 0 < slow < fast:
        given.refuse("beta_slow", "must lie between 0 and beta_fast")
    return yarn_inverse_frequencies(head_dim, theta, factor, context, fast, slow)


def _llama3(
    given: Operands, theta: float, head_dim: int, factor: float, context: int
) -> Frequencies:
    low, high = (given.number(name) for name in _BANDS)
    if not 0 < low < high:
        given.refuse(_BANDS[0], f"must lie between 0 and {_BANDS[1]}")
    return llama3_inverse_frequencies(head_dim, theta, factor, low, high, context), 1.0


def _rotary_dim(given: Operands, head_dim: int) -> int:
    """Coordinates of a head that turn, all of them by default."""
    if "rotary_dim" not in given:
        return head_dim
    width = given.integer("rotary_dim")
    if width % 2 or not 2 <= width <= head_dim:
        given.refuse("rotary_dim", f"is {width}, needed is an even number from 2 to {head_dim}")
    return width


def rotation_frequencies(given: Operands, head_dim: int) -> Frequencies:
    """float32 inverse frequencies and the attention factor of `rope` and `rope_interleaved`.

    Fewer frequencies than half the head turn its first coordinates only.
    """
    if ("theta" in given) == ("inv_freq" in given):
        given.refuse("theta, inv_freq", "exclude each other and one of them is needed")
    if "theta" in given:
        inv_freq, factor = frequencies(given, _rotary_dim(given, head_dim))
    else:
        for name in ("rotary_dim", *SCALING):
            if name in given:
                given.refuse(name, "belongs to theta; inv_freq is taken as it is")
        inv_freq, factor = given.tensor("inv_freq", 1), 1.0
    if "attention_factor" in given:
        factor = given.number("attention_factor")
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(inv_freq, dtype=np.float32), factor
