"""Codes to bytes and back, bit by bit, by the table of positions."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Int64, UInt8
from numpy.typing import NDArray

from trlm_lab.rungs.storage import Storage, bit_positions

Array = NDArray[Any]


def pack_rows(codes: Int64[Array, "R C"], storage: Storage) -> UInt8[Array, "R B"]:
    """Stored rows; columns behind the last are codes 0. A code is cut to the format's bits."""
    rows, cols = codes.shape
    padded = np.zeros((rows, storage.padded(cols)), np.int64)
    padded[:, :cols] = codes
    units = padded.reshape(-1, storage.unit, 1) >> np.arange(storage.bits) & 1
    bits = np.zeros((len(units), 8 * storage.unit_bytes), np.uint8)
    bits[:, bit_positions(storage.bits, storage.order)] = units
    return np.packbits(bits, axis=1, bitorder="little").reshape(rows, -1)


def unpack_rows(stored: UInt8[Array, "R B"], storage: Storage) -> Int64[Array, "R P"]:
    """Codes of stored rows, padding included; two's complement, or a float's bits."""
    places = bit_positions(storage.bits, storage.order)
    units = stored.reshape(-1, storage.unit_bytes)
    bits = np.unpackbits(units, axis=1, bitorder="little")
    codes = np.zeros((len(units), storage.unit), np.int64)
    for bit in range(storage.bits):
        codes += bits[:, places[:, bit]].astype(np.int64) << bit
    if not storage.dense:
        codes -= (codes >> (storage.bits - 1)) << storage.bits
    return codes.reshape(len(stored), -1)
