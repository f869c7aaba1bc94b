"""Faults of single values: rounding in one operator, one element that is no number."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from trlm_lab.backends.faults.fault import Fault, operators_changed
from trlm_lab.backends.operators import Operators
from trlm_lab.backends.reference import Plant
from trlm_lab.base.bits import round_to_bf16
from trlm_lab.base.names import layer_checkpoint
from trlm_lab.base.records import EffectiveConfig
from trlm_lab.ops.arithmetic import Array
from trlm_lab.ops.matmul import RowBlocks


def _bf16_rounding(sound: Operators) -> Operators:
    def project(name: str, x: Array, weight: RowBlocks) -> Array:
        y = sound.project(name, x, weight)
        return round_to_bf16(y).astype(y.dtype) if name == "up_proj" else y

    return replace(sound, project=project)


def _nan(config: EffectiveConfig, layer: int | None) -> Plant:
    place = layer_checkpoint(layer or 0, "k_proj")

    def perturb(name: str, values: Array) -> Array:
        if name != place:
            return values
        wrong = values.copy()
        wrong[-1, wrong.shape[1] // 2] = np.nan
        return wrong

    return Plant(perturb=perturb)


FAULTS = (
    Fault(
        "bf16_rounding",
        "the up projection's result is rounded to bfloat16",
        operators_changed(_bf16_rounding),
    ),
    Fault(
        "nan_at_one_element",
        "one element of the key projection of the last token is NaN",
        _nan,
    ),
)
