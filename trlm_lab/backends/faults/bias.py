"""Faults of biases: a projection or a norm that leaves its own out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from trlm_lab.backends.faults.fault import Change, Fault, absent, operators_changed
from trlm_lab.backends.operators import Operators
from trlm_lab.base.model_parts import has_bias
from trlm_lab.ops.arithmetic import Array


def _forgotten(which: str) -> Change:
    def changed(sound: Operators) -> Operators:
        def bias(name: str, y: Array, vector: Array) -> Array:
            return y if name == which else sound.bias(name, y, vector)

        return replace(sound, bias=bias)

    return changed


def _norm_bias_forgotten(sound: Operators) -> Operators:
    def layer_norm(name: str, x: Array, weight: Array, bias: Array, eps: float) -> Array:
        kept = np.zeros_like(bias) if name == "mlp_norm" else bias
        return sound.layer_norm(name, x, weight, kept, eps)

    return replace(sound, layer_norm=layer_norm)


def _projection(name: str, op: str, which: str) -> Fault:
    return Fault(
        name,
        f"the bias of the {which} projection is not added",
        operators_changed(_forgotten(op)),
        refusal=absent(lambda config: has_bias(config, op), f"the {which} projection has no bias"),
    )


FAULTS = (
    _projection("query_bias_missing", "q_proj", "query"),
    _projection("output_bias_missing", "o_proj", "output"),
    _projection("up_bias_missing", "up_proj", "up"),
    Fault(
        "norm_bias_missing",
        "the bias of the MLP norm is not added",
        operators_changed(_norm_bias_forgotten),
        refusal=absent(lambda config: has_bias(config, "mlp_norm"), "norms have no bias"),
    ),
)
