"""Faults of the norms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from trlm_lab.backends.faults.fault import Change, Fault, absent, operators_changed
from trlm_lab.backends.operators import Operators
from trlm_lab.base.records import EffectiveConfig
from trlm_lab.ops.arithmetic import Array

#: What a parser of integers makes of the text "1e-05".
OTHER_EPS = 1.0

#: A norm of either kind over (x, factor, eps); a bias stays where it is.
Norm = Callable[[Array, Array, float], Array]


def _norm_changed(which: str, change: Callable[[Norm], Norm]) -> Change:
    """Change the norm of one name and leave the others."""

    def changed(sound: Operators) -> Operators:
        def rms_norm(name: str, x: Array, factor: Array, eps: float) -> Array:
            def plain(x: Array, factor: Array, eps: float) -> Array:
                return sound.rms_norm(name, x, factor, eps)

            return (change(plain) if name == which else plain)(x, factor, eps)

        def layer_norm(name: str, x: Array, weight: Array, bias: Array, eps: float) -> Array:
            def plain(x: Array, factor: Array, eps: float) -> Array:
                return sound.layer_norm(name, x, factor, bias, eps)

            return (change(plain) if name == which else plain)(x, weight, eps)

        return replace(sound, rms_norm=rms_norm, layer_norm=layer_norm)

    return changed


def _other_eps(sound: Norm) -> Norm:
    return lambda x, factor, eps: sound(x, factor, OTHER_EPS)


def _no_weight(sound: Norm) -> Norm:
    return lambda x, factor, eps: sound(x, np.ones_like(factor), eps)


def _plus_one(sound: Norm) -> Norm:
    return lambda x, factor, eps: sound(x, factor + factor.dtype.type(1), eps)


def _mean_subtracted(sound: Norm) -> Norm:
    def norm(x: Array, factor: Array, eps: float) -> Array:
        centred = x - x.mean(axis=-1, keepdims=True, dtype=x.dtype)
        return sound(centred, factor, eps)

    return norm


def _skipped(sound: Norm) -> Norm:
    return lambda x, factor, eps: x


def _mean_kept(sound: Operators) -> Operators:
    def layer_norm(name: str, x: Array, weight: Array, bias: Array, eps: float) -> Array:
        if name != "attn_norm":
            return sound.layer_norm(name, x, weight, bias, eps)
        return np.asarray(sound.rms_norm(name, x, weight, eps) + bias.astype(x.dtype))

    return replace(sound, layer_norm=layer_norm)


def _offset_forgotten(sound: Operators) -> Operators:
    def norm_factor(name: str, weight: Array) -> Array:
        return weight if name == "attn_norm" else sound.norm_factor(name, weight)

    return replace(sound, norm_factor=norm_factor)


def _is_layer_norm(config: EffectiveConfig) -> bool:
    return config.layer_norm_epsilon is not None


_NO_OFFSET = absent(lambda c: not c.norm_unit_offset, "the model's norms apply 1 + weight")


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
        "norm_offset_missing",
        "the attention norm applies the weight, not 1 + weight",
        operators_changed(_offset_forgotten),
        refusal=absent(lambda c: c.norm_unit_offset, "the model's norms apply the weight itself"),
    ),
    Fault(
        "norm_weight_plus_one",
        "the MLP norm applies 1 + weight, as another family does",
        operators_changed(_norm_changed("mlp_norm", _plus_one)),
        refusal=_NO_OFFSET,
    ),
    Fault(
        "norm_mean_subtracted",
        "the MLP norm subtracts the mean first, as LayerNorm does",
        operators_changed(_norm_changed("mlp_norm", _mean_subtracted)),
        refusal=absent(lambda c: not _is_layer_norm(c), "the model's norms subtract it themselves"),
    ),
    Fault(
        "norm_mean_kept",
        "the attention norm does not subtract the mean, as RMSNorm does not",
        operators_changed(_mean_kept),
        refusal=absent(_is_layer_norm, "the model's norms do not subtract it either"),
    ),
    Fault(
        "query_norm_skipped",
        "queries are not normalised",
        operators_changed(_norm_changed("q_norm", _skipped)),
    ),
    Fault(
        "key_norm_skipped",
        "keys are not normalised",
        operators_changed(_norm_changed("k_norm", _skipped)),
    ),
    Fault(
        "post_attention_norm_skipped",
        "attention's output joins the residual stream unnormalised",
        operators_changed(_norm_changed("post_attn_norm", _skipped)),
    ),
    Fault(
        "post_mlp_norm_skipped",
        "the MLP's output joins the residual stream unnormalised",
        operators_changed(_norm_changed("post_mlp_norm", _skipped)),
    ),
    Fault(
        "final_norm_skipped",
        "the residual stream goes to the head unnormalised",
        operators_changed(_norm_changed("final_norm", _skipped)),
        whole_model=True,
    ),
)
