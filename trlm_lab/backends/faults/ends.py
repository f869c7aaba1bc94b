"""Faults at both ends of the model: embedding and head."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from trlm_lab.backends.faults.fault import Change, Fault, absent, operators_changed
from trlm_lab.backends.operators import Ints, Operators
from trlm_lab.base.records import EffectiveConfig
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


def _unscaled(sound: Operators) -> Operators:
    return replace(sound, embedding_scale=lambda x, scale: x)


def _next_position(sound: Operators) -> Operators:
    def positions(x: Array, table: RowBlocks, at: Ints) -> Array:
        return sound.positions(x, table, (at + 1) % table.shape[0])

    return replace(sound, positions=positions)


def _no_positions(sound: Operators) -> Operators:
    return replace(sound, positions=lambda x, table, at: x)


def _uncapped(sound: Operators) -> Operators:
    return replace(sound, softcap=lambda name, x, cap: x)


def _scales(config: EffectiveConfig) -> bool:
    return config.embedding_scale != 1


def _learned(config: EffectiveConfig) -> bool:
    return config.rope_order == "none"


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
        refusal=absent(lambda c: not _scales(c), "the model scales its embeddings itself"),
    ),
    Fault(
        "embedding_scale_missing",
        "embeddings are taken as they are stored, without the model's scale",
        operators_changed(_unscaled),
        whole_model=True,
        refusal=absent(_scales, "the model does not scale its embeddings"),
    ),
    Fault(
        "learned_position_off_by_one",
        "learned positions count from 1",
        operators_changed(_next_position),
        whole_model=True,
        refusal=absent(_learned, "the model has no learned positions"),
    ),
    Fault(
        "learned_positions_missing",
        "learned positions are not added",
        operators_changed(_no_positions),
        whole_model=True,
        refusal=absent(_learned, "the model has no learned positions"),
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
        refusal=absent(
            lambda c: c.final_logit_softcapping is None, "the model caps its logits itself"
        ),
        parameters={"cap": CAP},
    ),
    Fault(
        "logits_softcap_missing",
        "logits pass without the model's soft cap",
        operators_changed(_uncapped),
        whole_model=True,
        refusal=absent(lambda c: c.final_logit_softcapping, "the model does not cap its logits"),
    ),
)
