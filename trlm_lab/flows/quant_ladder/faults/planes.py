"""Faults of the packer's last step: codes laid down otherwise than the format says."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from trlm_lab.flows.quant_ladder import production
from trlm_lab.flows.quant_ladder.faults.fault import (
    LadderFault,
    formats,
    padded,
    several_rows,
    writing,
)
from trlm_lab.flows.quant_ladder.subject import LadderSubject
from trlm_lab.rungs import pack_rows

Array = NDArray[Any]

_NIBBLES = ("q4_g64", "q5_g64", "q6_g64", "q4_0")


def _nibbles(subject: LadderSubject, codes: Array) -> Array:
    stored = production.packed_codes(subject, codes)
    units = stored.reshape(-1, subject.stored.storage.unit_bytes).copy()
    low = units[:, : 32 if len(units[0]) > 1 else 1]
    low[:] = low >> np.uint8(4) | low << np.uint8(4)
    return units.reshape(stored.shape)


def swapped_pair(codes: Array) -> Array:
    """In each row the two neighbours that differ most change places."""
    out = codes.copy()
    for row in out:
        at = int(np.argmax(np.abs(np.diff(row))))
        row[[at, at + 1]] = row[[at + 1, at]]
    return out


def _codes(subject: LadderSubject, codes: Array) -> Array:
    return production.packed_codes(subject, swapped_pair(codes))


def _tail(subject: LadderSubject, codes: Array) -> Array:
    storage = subject.stored.storage
    full = np.ones((len(codes), storage.padded(codes.shape[1])), np.int64)
    full[:, : codes.shape[1]] = codes
    return pack_rows(full, storage)


def far_rows(stored: Array) -> Array:
    """Rows one byte farther from each other than declared."""
    rows, width = stored.shape
    flat = np.zeros(rows * (width + 1), np.uint8)
    flat.reshape(rows, width + 1)[:, :width] = stored
    return flat[: rows * width].reshape(rows, width)


def _stride(subject: LadderSubject, codes: Array) -> Array:
    return far_rows(production.packed_codes(subject, codes))


def _reversed(subject: LadderSubject, codes: Array) -> Array:
    stored = production.packed_codes(subject, codes)
    size = subject.stored.storage.bits // 8
    return np.ascontiguousarray(stored.reshape(-1, size)[:, ::-1]).reshape(stored.shape)


def _top_lost(subject: LadderSubject, codes: Array) -> Array:
    stored = production.packed_codes(subject, codes)
    units = stored.reshape(-1, subject.stored.storage.unit_bytes).copy()
    units[:, 32:] = 0
    return units.reshape(stored.shape)


FAULTS = (
    LadderFault(
        "nibbles_swapped",
        "the two nibbles of each byte change places",
        writing(pack=_nibbles),
        formats(*_NIBBLES),
    ),
    LadderFault(
        "codes_swapped",
        "in each row two neighbouring codes change places",
        writing(pack=_codes),
    ),
    LadderFault("tail_not_zero", "padding columns hold the code 1", writing(pack=_tail), padded),
    LadderFault(
        "row_stride",
        "rows are written one byte farther apart than declared",
        writing(pack=_stride),
        several_rows,
    ),
    LadderFault(
        "bytes_reversed",
        "words are written with the high byte first",
        writing(pack=_reversed),
        formats("f32", "f16", "bf16"),
    ),
    LadderFault(
        "top_bits_lost",
        "the plane of the top bits is left zero",
        writing(pack=_top_lost),
        formats("q5_g64", "q6_g64"),
    ),
)
