"""Faults of weights in memory: the file and its hashes are sound, the engine reads them wrongly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from trlm_lab.backends.faults.fault import Fault, Planter
from trlm_lab.backends.reference import Plant
from trlm_lab.backends.weights import Weights
from trlm_lab.base.bits import round_to_bf16
from trlm_lab.base.model_parts import tensor_name
from trlm_lab.base.records import EffectiveConfig
from trlm_lab.ops.arithmetic import Array
from trlm_lab.ops.matmul import RowBlocks

#: Codes of one group share a scale, so swapping codes is swapping values.
GROUPS = {"q8_r128": 128, "q6_g64": 64, "q5_g64": 64, "q4_g64": 64}


@dataclass(frozen=True)
class RowsChanged:
    """A matrix whose blocks of rows pass through `change(first_row, rows)`."""

    sound: RowBlocks
    change: Callable[[int, Array], Array]

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows and columns."""
        return self.sound.shape

    def __getitem__(self, rows: slice) -> Array:
        """The changed rows of a slice."""
        return self.change(rows.indices(self.shape[0])[0], np.array(self.sound[rows]))


@dataclass(frozen=True)
class WeightsChanged:
    """Weights in which some matrices are answered by another function of the sound weights."""

    sound: Weights
    changes: dict[str, Callable[[Weights], RowBlocks]]

    def matrix(self, name: str) -> RowBlocks:
        """A rank-2 tensor, changed where the fault says so."""
        return self.changes[name](self.sound) if name in self.changes else self.sound.matrix(name)

    def vector(self, name: str) -> Array:
        """A rank-1 tensor, sound."""
        return self.sound.vector(name)


Change = Callable[[RowBlocks], RowBlocks]


def _matrix_changed(op: str, change: Change) -> Planter:
    def plant(config: EffectiveConfig, layer: int | None) -> Plant:
        name = tensor_name(config, op, layer or 0)
        changes = {name: lambda sound: change(sound.matrix(name))}
        return Plant(weights=lambda sound: WeightsChanged(sound, changes))

    return plant


def widest_neighbours(row: Array, group: int) -> int:
    """The first column of the adjacent pair inside one group whose values differ most."""
    gap = np.abs(np.diff(row))
    gap[group - 1 :: group] = -1.0
    return int(np.argmax(gap))


def _codes_swapped(group: int, sound: RowBlocks) -> RowBlocks:
    row = sound.shape[0] // 2
    column = widest_neighbours(sound[row : row + 1][0], group)

    def change(first: int, rows: Array) -> Array:
        if first <= row < first + len(rows):
            pair = [column, column + 1]
            rows[row - first, pair] = rows[row - first, pair[::-1]]
        return rows

    return RowsChanged(sound, change)


def _row_shifted(sound: RowBlocks) -> RowBlocks:
    row = sound.shape[0] // 2

    def change(first: int, rows: Array) -> Array:
        if first <= row < first + len(rows):
            rows[row - first] = np.roll(rows[row - first], 1)
        return rows

    return RowsChanged(sound, change)


def _columns_shifted(sound: RowBlocks) -> RowBlocks:
    return RowsChanged(sound, lambda first, rows: np.roll(rows, 1, axis=1))


def _transposed(sound: RowBlocks) -> RowBlocks:
    return np.ascontiguousarray(np.asarray(sound[0 : sound.shape[0]]).T)


def _bf16(sound: RowBlocks) -> RowBlocks:
    return RowsChanged(sound, lambda first, rows: round_to_bf16(rows))


def _gate_up_swapped(config: EffectiveConfig, layer: int | None) -> Plant:
    gate, up = (tensor_name(config, op, layer or 0) for op in ("gate_proj", "up_proj"))
    changes: dict[str, Callable[[Weights], RowBlocks]] = {
        gate: lambda sound: sound.matrix(up),
        up: lambda sound: sound.matrix(gate),
    }
    return Plant(weights=lambda sound: WeightsChanged(sound, changes))


def _needs(form: str, config: EffectiveConfig, quant: str) -> str | None:
    return None if quant == form else f"the artifact holds {quant} and no {form} codes"


def _swapped(form: str) -> Fault:
    return Fault(
        f"{form.partition('_')[0]}_codes_swapped",
        "two adjacent codes of one row of the query projection change places",
        _matrix_changed("q_proj", partial(_codes_swapped, GROUPS[form])),
        refusal=partial(_needs, form),
        parameters={"row": "the middle one", "columns": "the pair that differs most"},
    )


def _needs_square(config: EffectiveConfig, quant: str) -> str | None:
    columns = config.num_attention_heads * config.head_dim
    square = columns == config.hidden_size
    return None if square else f"o_proj is {config.hidden_size} x {columns}, not square"


FAULTS = (
    *map(_swapped, GROUPS),
    Fault(
        "row_shifted",
        "one row of the value projection is read one column off",
        _matrix_changed("v_proj", _row_shifted),
        parameters={"row": "the middle one"},
    ),
    Fault(
        "matrix_transposed",
        "the output projection is applied untransposed",
        _matrix_changed("o_proj", _transposed),
        refusal=_needs_square,
    ),
    Fault(
        "gate_up_rows_swapped",
        "the halves of a joined gate and up matrix are taken in the other order",
        _gate_up_swapped,
    ),
    Fault(
        "bf16_weights",
        "the query projection's weights are rounded to bfloat16",
        _matrix_changed("q_proj", _bf16),
    ),
    Fault(
        "columns_shifted",
        "every row of the down projection is read one column off",
        _matrix_changed("down_proj", _columns_shifted),
    ),
)
