"""Whether a candidate's top k is that of its own logits; exact, no limit takes part.

A runtime samples from its top k: one that sorts wrongly speaks other tokens than its logits say.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from trlm_lab.base.bits import bits_hex
from trlm_lab.base.records import Outcome
from trlm_lab.metrics.inputs import int64_hex
from trlm_lab.metrics.judgement import Judgement
from trlm_lab.metrics.logits import top_ids

Array = NDArray[Any]

TOP_IDS: Final = "logits.topk_ids"
TOP_VALUES: Final = "logits.topk_values"
ORDER: Final = "descending value, then ascending id"


def judge_own_top_k(logits: Array, ids: Array | None, values: Array | None) -> Judgement | None:
    """None where ids and values (T, k) are the k highest of finite logits (T, V), in order.

    WRONG names the first position and rank that is not; INFRA another dtype or shape. Either of
    the two arrays may be missing.
    """
    for name, array, dtype in ((TOP_IDS, ids, np.int64), (TOP_VALUES, values, np.float32)):
        problem = None if array is None else _form_problem(logits, array, dtype)
        if problem:
            return Judgement(Outcome.INFRA, note=f"{name}: {problem}", array=name)
    width = next(array.shape[1] for array in (ids, values) if array is not None)
    own = np.array([top_ids(row, width) for row in logits])
    if ids is not None and (own != ids).any():
        t, rank = (int(i) for i in np.argwhere(own != ids)[0])
        left, right = int(own[t, rank]), int(ids[t, rank])
        note = f"{right} instead of {left} at position {t}, rank {rank}, by {ORDER}"
        return _wrong(TOP_IDS, (t, rank), int64_hex(left), int64_hex(right), own != ids, note)
    highest = np.take_along_axis(logits, own, axis=-1)
    other = None if values is None else highest.view(np.uint32) != values.view(np.uint32)
    if values is None or other is None or not other.any():
        return None
    t, rank = (int(i) for i in np.argwhere(other)[0])
    note = f"position {t}, rank {rank} is not the logit that stands there"
    bits = bits_hex(highest[t, rank]), bits_hex(values[t, rank])
    return _wrong(TOP_VALUES, (t, rank), *bits, other, note)


def disordered(ids: Array, values: Array) -> Judgement | None:
    """WRONG where a listed top k (T, k) is not in its order, else None."""
    falls = values[:, :-1] > values[:, 1:]
    ties = (values[:, :-1] == values[:, 1:]) & (ids[:, :-1] < ids[:, 1:])
    bad = ~(falls | ties)
    if not bad.any():
        return None
    t, rank = (int(i) for i in np.argwhere(bad)[0])
    left, right = int(ids[t, rank]), int(ids[t, rank + 1])
    note = f"{right} stands behind {left} at position {t}, rank {rank + 1}, against {ORDER}"
    return _wrong(TOP_IDS, (t, rank + 1), None, int64_hex(right), bad, note)


def _form_problem(logits: Array, array: Array, dtype: type) -> str | None:
    if array.dtype != dtype:
        return f"dtype {array.dtype}, not {np.dtype(dtype)}"
    rows, vocabulary = logits.shape
    if array.ndim != 2 or array.shape[0] != rows or not 0 < array.shape[1] <= vocabulary:
        return f"shape {list(array.shape)} beside logits {list(logits.shape)}"
    return None


def _wrong(
    name: str,
    index: tuple[int, int],
    reference_bits: str | None,
    candidate_bits: str,
    bad: NDArray[np.bool_],
    note: str,
) -> Judgement:
    return Judgement(
        Outcome.WRONG,
        failing=int(np.count_nonzero(bad)),
        flat=index[0] * bad.shape[1] + index[1],
        index=index,
        reference_bits=reference_bits,
        candidate_bits=candidate_bits,
        note=f"{name}: {note}",
        array=name,
    )
