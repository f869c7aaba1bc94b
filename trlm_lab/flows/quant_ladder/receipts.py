"""A climbed ladder as a chain of receipts: each rung a node that stands on the one below."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from trlm_lab.flows.quant_ladder.block import activations
from trlm_lab.flows.quant_ladder.climb import Ladder
from trlm_lab.flows.quant_ladder.document import rung_map
from trlm_lab.flows.quant_ladder.model_use import ModelUse
from trlm_lab.flows.quant_ladder.rung import Rung, little
from trlm_lab.flows.store_directory import seal_alone
from trlm_lab.receipts import ReceiptStore

#: Bytes of an array that a receipt holds itself; of a larger one it has the hash alone.
KEPT_BYTES = 1 << 20


def record_ladder(out: Path, ladder: Ladder) -> list[str]:
    """Store one node a rung, the ground first; returns their ids.

    The last becomes the root of a store that has none and is no run's.

    Raises:
        StoreWriteError: the disk is full, or this user may not write here.
    """
    store = ReceiptStore(out)
    nodes: list[str] = []
    for rung in ladder.rungs:
        facts: dict[str, Any] = {
            "rung": rung.name,
            "number": rung.number,
            "tensor": ladder.subject.name,
            "outcome": rung.outcome.value,
            "follows": rung.checked,
            "rung_blob": store.put_value(_value(ladder, rung)),
        }
        if rung.number == 0:
            facts |= _ground(store, ladder)
        nodes.append(store.add("ladder_rung", facts, nodes[-1:]))
    seal_alone(out, nodes[-1])
    return nodes


def _ground(store: ReceiptStore, ladder: Ladder) -> dict[str, Any]:
    """What the whole ladder is of."""
    subject = ladder.subject
    stored, part = subject.stored, subject.part
    storage = {**vars(stored.storage), "fractions": list(stored.storage.fractions)}
    span = list(ladder.span)
    about = {
        "storage": storage,
        "shape": [subject.rows, subject.cols],
        "source": {"tensor": part.stored.info.name, "dtype": part.stored.info.dtype},
        "transposed": part.transposed,
        "rotary": stored.rotary,
        "engine": ladder.upper.engine,
        "case": list(ladder.upper.case.token_ids),
        "codes_id": subject.codes.codes_id if subject.codes else "",
    }
    return {
        **subject.ids,
        "profile": subject.profile,
        "rows": span,
        "ladder_blob": store.put_value(about),
    }


def _value(ladder: Ladder, rung: Rung) -> dict[str, Any]:
    """What the rung says, and its array where that is small."""
    value = rung_map(rung)
    kept: dict[str, Any] = {"claim": rung.kept}
    if rung.name == "scalar_dot":
        kept["inputs"] = activations(ladder.subject, ladder.upper)
    if rung.name == "kernel_dot" and ladder.upper.lanes:
        kept["inputs"] = ladder.upper.lanes[ModelUse.of(ladder.subject).inputs]
    for name, array in kept.items():
        if array is not None and array.nbytes <= KEPT_BYTES:
            value[name] = _array(np.asarray(array))
    return value


def _array(array: np.ndarray[Any, Any]) -> dict[str, Any]:
    whole = array.dtype.kind in "iu" and array.dtype != np.uint8
    dtype = "int64" if whole else array.dtype.name
    return {"dtype": dtype, "shape": list(array.shape), "data": little(array)}
