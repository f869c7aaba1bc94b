"""Faults of the norms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from trlm_lab.backends.faults.fault import Change, Fault, operators_changed
from trlm_lab.backends.operators import Operators
from trlm_lab.ops.arithmetic import Array

#: What a parser of integers makes of the text "1e-05".
OTHER_EPS = 1.0

Norm = Callable[[str, Array, Array, float], Array]


def _norm_changed(which: str, change: Callable[[Norm], Norm]) -> Change:
    """Change the norm of one name and leave the others."""

    def changed(sound: Operators) -> Operators:
        wrong = change(sound.rms_norm)

        def rms_norm(name: str, x: Array, weight: Array, eps: float) -> Array:
            chosen = wrong if name == which else sound.rms_norm
            return chosen(name, x, weight, eps)

        return replace(sound, rms_norm=rms_norm)

    return changed


def _other_eps(sound: Norm) -> Norm:
    return lambda name, x, weight, eps: sound(name, x, weight, OTHER_EPS)


def _no_weight(sound: Norm) -> Norm:
    return lambda name, x, weight, eps: sound(name, x, np.ones_like(weight), eps)


def _plus_one(sound: Norm) -> Norm:
    return lambda name, x, weight, eps: sound(name, x, weight + weight.dtype.type(1), eps)


def _mean_subtracted(sound: Norm) -> Norm:
    def norm(name: str, x: Array, weight: Array, eps: float) -> Array:
        centred = x - x.mean(axis=-1, keepdims=True, dtype=x.dtype)
        return sound(name, centred, weight, eps)

    return norm


def _skipped(sound: Norm) -> Norm:
    return lambda name, x, weight, eps: x


FAULTS = (
    Fault(
        "norm_eps",
        "the attention norm's epsilon 1e-05 is read by a parser of integers",
        operators_changed(_norm_changed("attn_norm", _other_eps)),
        parameters={"eps": OTHER_EPS},
    ),
    Fault(
        "norm_weight_missing",
        "the attention norm's weight is not applied",
        operators_changed(_norm_changed("attn_norm", _no_weight)),
    ),
    Fault(
        "norm_weight_plus_one",
        "the MLP norm applies 1 + weight, as another family does",
        operators_changed(_norm_changed("mlp_norm", _plus_one)),
    ),
    Fault(
        "norm_mean_subtracted",
        "the MLP norm subtracts the mean first, as LayerNorm does",
        operators_changed(_norm_changed("mlp_norm", _mean_subtracted)),
    ),
    Fault(
        "final_norm_skipped",
        "the residual stream goes to the head unnormalised",
        operators_changed(_norm_changed("final_norm", _skipped)),
        whole_model=True,
    ),
)
