"""Faults at both ends of the model: embedding and head."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from trlm_lab.backends.faults.fault import Change, Fault, operators_changed
from trlm_lab.backends.operators import Ints, Operators
from trlm_lab.ops.arithmetic import Array
from trlm_lab.ops.matmul import RowBlocks

CAP = 30.0


def _row_shifted(sound: Operators) -> Operators:
    def embedding(table: RowBlocks, token_ids: Ints) -> Array:
        return sound.embedding(table, (token_ids + 1) % table.shape[0])

    return replace(sound, embedding=embedding)


def _scaled(sound: Operators) -> Operators:
    def embedding(table: RowBlocks, token_ids: Ints) -> Array:
        x = sound.embedding(table, token_ids)
        return np.asarray(x * x.dtype.type(math.sqrt(x.shape[1])))

    return replace(sound, embedding=embedding)


def _logits_changed(change: Callable[[Array], Array]) -> Change:
    def changed(sound: Operators) -> Operators:
        def project(name: str, x: Array, weight: RowBlocks) -> Array:
            y = sound.project(name, x, weight)
            return change(y) if name == "logits" else y

        return replace(sound, project=project)

    return changed


def _rows_rolled(logits: Array) -> Array:
    """What a head gives whose rows stand one place too late."""
    return np.roll(logits, 1, axis=1)


def _capped(logits: Array) -> Array:
    return np.asarray(CAP * np.tanh(logits / CAP), dtype=logits.dtype)


FAULTS = (
    Fault(
        "embedding_row_shifted",
        "the embedding reads the row after the token's own",
        operators_changed(_row_shifted),
        whole_model=True,
    ),
    Fault(
        "embedding_scaled",
        "embeddings are multiplied by sqrt(D), as another family does",
        operators_changed(_scaled),
        whole_model=True,
    ),
    Fault(
        "tied_head_wrong",
        "the head's rows are those of the embedding, one row late",
        operators_changed(_logits_changed(_rows_rolled)),
        whole_model=True,
    ),
    Fault(
        "logits_softcapped",
        "logits pass a soft cap that the model does not have",
        operators_changed(_logits_changed(_capped)),
        whole_model=True,
        parameters={"cap": CAP},
    ),
)
