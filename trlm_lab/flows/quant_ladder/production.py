"""The steps of a block format as packer and readers take them, for either container."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from trlm_lab.quant import ABSMAX, Search, block_format
from trlm_lab.quant.clipping import codes_of
from trlm_lab.quant.grouped import Grouped
from trlm_lab.slm1 import scales as old_scales
from trlm_lab.slm1.codecs import CODECS, Codec, DType

if TYPE_CHECKING:
    from trlm_lab.flows.quant_ladder.subject import LadderSubject
    from trlm_lab.rungs import Storage

Array = NDArray[Any]

_DENSE_WORDS = {"f32": "<u4", "f16": "<u2", "bf16": "<u2"}
_Q = {"q8_0": 127, "q4_0": 7}


def _grouped(storage: Storage) -> Grouped:
    clipping = Search(storage.fractions) if storage.fractions else ABSMAX
    form = block_format(storage.name, storage.scales, clipping)
    assert isinstance(form, Grouped)
    return form


def _old(storage: Storage) -> Codec:
    return CODECS[DType[storage.name]]


def _groups(rows: Array, group: int) -> Array:
    """(R, G, N) with zeros behind the last column."""
    count = -(-rows.shape[1] // group)
    found = np.zeros((len(rows), count, group), np.float32)
    found.reshape(len(rows), -1)[:, : rows.shape[1]] = rows
    return found


def scale_words(subject: LadderSubject, rows: Array) -> Array:
    """The packer's scale words of rows, (R, G)."""
    storage = subject.stored.storage
    if storage.dense:
        return np.zeros((len(rows), 0), np.int64)
    groups = _groups(rows, storage.group)
    if storage.name in _Q:
        found = old_scales.absmax_scales(groups, _Q[storage.name])
        return found.view(np.uint32).astype(np.int64)
    form = _grouped(storage)
    absmax = np.abs(groups).max(axis=2)
    words = form.clipping.choose(
        groups, absmax, form.q, form.encoding, where=subject.name, first_row=0
    )
    return words.astype(np.int64)


def quantized(subject: LadderSubject, rows: Array, words: Array) -> Array:
    """The packer's codes of rows under these scale words, (R, C)."""
    storage, cols = subject.stored.storage, rows.shape[1]
    if storage.dense:
        return _dense_words(storage, rows)
    groups = _groups(rows, storage.group)
    if storage.name in _Q:
        scales = words.astype(np.uint32).view(np.float32)
        codes: Array = old_scales.codes_of(groups, scales, _Q[storage.name])
    else:
        form = _grouped(storage)
        values = form.encoding.values(words.astype(form.encoding.dtype))
        codes = codes_of(groups, values, form.q)
    return codes.reshape(len(rows), -1)[:, :cols].astype(np.int64)


def _dense_words(storage: Storage, rows: Array) -> Array:
    data = rows.tobytes()
    if storage.name != "f32":
        data, _ = block_format(storage.name).quantize(rows)
    words = np.frombuffer(data, _DENSE_WORDS[storage.name])
    return words.reshape(rows.shape).astype(np.int64)


def packed_codes(subject: LadderSubject, codes: Array) -> Array:
    """The packer's bytes of codes, (R, row bytes)."""
    storage, cols = subject.stored.storage, codes.shape[1]
    if storage.dense:
        return codes.astype(_DENSE_WORDS[storage.name]).view(np.uint8).reshape(len(codes), -1)
    if storage.name == "q8_0":
        return codes.astype(np.int8).view(np.uint8)
    if storage.name == "q4_0":
        nibbles = codes.astype(np.uint8) & np.uint8(15)
        return nibbles[:, 0::2] | nibbles[:, 1::2] << np.uint8(4)
    form = _grouped(storage)
    padded = np.zeros((len(codes), storage.padded(cols)), np.int8)
    padded[:, :cols] = codes
    return np.asarray(form.pack(padded))


def unpacked(subject: LadderSubject, stored: Array) -> Array:
    """The reader's codes of stored rows, padding included, (R, P)."""
    storage = subject.stored.storage
    if storage.dense:
        words = np.ascontiguousarray(stored).view(_DENSE_WORDS[storage.name])
        return words.reshape(len(stored), -1).astype(np.int64)
    if storage.name in _Q:
        cols, block = subject.cols, storage.group
        ones = np.ones((len(stored), cols // block), "<f4").tobytes()
        data = memoryview(np.ascontiguousarray(stored).tobytes())
        return _old(storage).decode(data, memoryview(ones), cols, block).astype(np.int64)
    return np.asarray(_grouped(storage).unpack(np.ascontiguousarray(stored))).astype(np.int64)


def dequantized(subject: LadderSubject, stored: Array, words: Array) -> Array:
    """The strict reader's weights of stored rows, (R, C).

    Raises:
        QuantScaleError, QuantCodeError, QuantPaddingError, Slm1ScaleError: what no writer stores.
    """
    held, storage, cols = subject.stored, subject.stored.storage, subject.cols
    data = memoryview(np.ascontiguousarray(stored).tobytes())
    scales = memoryview(held.scale_bytes(words) if words.size else b"")
    if storage.name == "f32":
        return np.frombuffer(data, "<f4").reshape(len(stored), cols)
    if storage.name in _Q:
        codec = _old(storage)
        codec.check(data, scales, cols, storage.group, subject.name, 0)
        return codec.decode(data, scales, cols, storage.group)
    form = block_format(storage.name, storage.scales if not storage.dense else "fp16")
    return form.dequantize(data, scales, len(stored), cols, where=subject.name)
