"""Frequencies of a rotation from named operands: given, from a base alone, or by YaRN."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from trlm_lab.ops.arithmetic import Array
from trlm_lab.ops.operands import Operands
from trlm_lab.ops.rotation import inverse_frequencies
from trlm_lab.ops.yarn import yarn_inverse_frequencies

#: Names as a Hugging Face configuration has them.
YARN = ("factor", "original_max_position_embeddings", "beta_fast", "beta_slow")
YARN_OPERANDS = tuple(f"{name}?" for name in YARN)


def frequencies(given: Operands, head_dim: int) -> tuple[Float[Array, " {head_dim}//2"], float]:
    """Inverse frequencies, float64 where a formula gives them, and the attention factor.

    Raises:
        OperatorInputError: operands that contradict each other or lie outside their range.
    """
    named = [name for name in YARN if name in given]
    if named and "factor" not in given:
        given.refuse(named[0], "is a YaRN parameter and stands without factor")
    theta = given.number("theta")
    if theta <= 0:
        given.refuse("theta", "must be above 0")
    if not named:
        return inverse_frequencies(theta, head_dim), 1.0
    return _yarn(given, theta, head_dim)


def _yarn(
    given: Operands, theta: float, head_dim: int
) -> tuple[Float[Array, " {head_dim}//2"], float]:
    factor, context = given.number("factor"), given.integer(YARN[1])
    fast = given.number("beta_fast") if "beta_fast" in given else 32.0
    slow = given.number("beta_slow") if "beta_slow" in given else 1.0
    for name, sound, rule in (
        ("theta", theta > 1, "must be above 1 for YaRN"),
        ("factor", factor >= 1, "must be 1 or more"),
        (YARN[1], context > 0, "must be above 0"),
        ("beta_slow", 0 < slow < fast, "must lie between 0 and beta_fast"),
    ):
        if not sound:
            given.refuse(name, rule)
    return yarn_inverse_frequencies(head_dim, theta, factor, context, fast, slow)


def rotation_frequencies(given: Operands, head_dim: int) -> tuple[Float[Array, " P"], float]:
    """float32 inverse frequencies and the attention factor of `rope` and `rope_interleaved`."""
    if ("theta" in given) == ("inv_freq" in given):
        given.refuse("theta, inv_freq", "exclude each other and one of them is needed")
    if "theta" in given:
        inv_freq, factor = frequencies(given, head_dim)
    else:
        for name in YARN:
            if name in given:
                given.refuse(name, "belongs to theta; inv_freq is taken as it is")
        inv_freq, factor = given.tensor("inv_freq", 1), 1.0
    if "attention_factor" in given:
        factor = given.number("attention_factor")
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(inv_freq, dtype=np.float32), factor
