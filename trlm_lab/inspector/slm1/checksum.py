"""`trlm-checksum64-v1`, written a second time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trlm_lab.base.records.inspection import HashCheck
from trlm_lab.inspector.report import Report

_STEP = np.uint64(0x9E3779B97F4B)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE5), np.uint64(0x94D049BB1331)
_BITS = np.uint64(0xFFFFFFFFFFFF)
_HALF = np.uint64(24)
_MARK = 0x3174
_BATCH = 1 << 16


def check_sum(report: Report, stored: int) -> None:
    """Note a checksum that the bytes do not have, or one of a profile that nobody here knows."""
    if stored >> 48 != _MARK:
        detail = f"{stored:016x} is of no checksum profile that is known here"
        report.add("SLM1_CHECKSUM_PROFILE", 100, detail)
        return
    computed = _computed(report.view)
    report.hashes.append(HashCheck("checksum", f"{stored:016x}", f"{computed:016x}"))
    if stored != computed:
        report.add("SLM1_CHECKSUM", 100, f"stored {stored:016x}, computed {computed:016x}")


def _computed(view: memoryview) -> int:
    """48 bits under the mark; a word cut short by the end of the file is filled with zeros."""
    total, size = 0, len(view)
    for low in range(0, size, 4 * _BATCH):
        part = bytearray(view[low : low + 4 * _BATCH])
        if low == 0:
            part[100:108] = bytes(len(part[100:108]))
        part += bytes(-len(part) % 4)
        words = np.frombuffer(part, "<u4").astype(np.uint64)
        places = np.arange(low // 4 + 1, low // 4 + 1 + words.size, dtype=np.uint64)
        total += int(_scrambled(words + places * _STEP).sum(dtype=np.uint64))
    last = np.asarray([total + size * int(_STEP) & int(_BITS)], np.uint64)
    return _MARK << 48 | int(_scrambled(last)[0])


def _scrambled(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    for factor in (_FIRST, _SECOND):
        x = (x & _BITS) * factor & _BITS
        x = x ^ x >> _HALF
    return x
