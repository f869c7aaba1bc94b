"""Content of the payloads: the values that no writer produces."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from trlm_lab.base.records.inspection import InspectedTensor
from trlm_lab.inspector.codes import BITS, GROUPS, UNITS, scale_faults, unit_codes
from trlm_lab.inspector.report import Report
from trlm_lab.inspector.residuals import check_entries

Bytes = NDArray[np.uint8]
Words = NDArray[Any]
#: Rows looked at together, in elements.
BATCH = 1 << 20


def check_planes(report: Report, row: InspectedTensor) -> None:
    """Note the first value of a stored tensor that no writer produces."""
    data = report.view[row.data_range[0] : row.data_range[1]]
    if row.layout == "sparse_residual":
        check_entries(report, row)
        return
    if row.dtype in GROUPS:
        scales = report.view[row.scales_range[0] : row.scales_range[1]]
        _check_grouped(report, row, data, scales)
        return
    # Exponent bits all ones mean NaN or infinity, in each of the three formats.
    mask = {"f32": 0x7F800000, "f16": 0x7C00, "bf16": 0x7F80}[row.dtype]
    words = np.frombuffer(data, "<u4" if row.dtype == "f32" else "<u2")
    for low in range(0, words.size, BATCH):
        bad = np.flatnonzero((words[low : low + BATCH] & mask) == mask)
        if bad.size:
            report.add("QUANT_NONFINITE", f"tensor {row.name}", f"element {low + int(bad[0])}")
            return


def _check_grouped(
    report: Report, row: InspectedTensor, data: memoryview, scales: memoryview
) -> None:
    stored = np.frombuffer(data, np.uint8).reshape(-1, row.row_stride)
    word = np.dtype("u1" if row.scale_encoding == "e8m0" else "<u2")
    words = np.frombuffer(scales, word).reshape(len(stored), -1)
    unit, group = UNITS[row.dtype], GROUPS[row.dtype]
    # A whole row where it is short; of a long one whole groups, so that memory stays bounded.
    width = max(2, BATCH // (8 * unit) // 2 * 2)
    step = max(1, BATCH // (8 * row.row_stride))
    for low in range(0, len(stored), step):
        for first in range(0, row.row_stride // unit, width):
            part = stored[low : low + step, first * unit : (first + width) * unit]
            scale = words[low : low + step, first * 64 // group : (first + width) * 64 // group]
            cols = min(row.dims[-1] - first * 64, width * 64)
            fault = _fault(row, part, scale, cols)
            if fault:
                code, what, line, index = fault
                place = f"row {low + line}, index {index}, columns from {first * 64}"
                report.add(code, f"tensor {row.name}", f"{what} at {place}")
                return


def _fault(
    row: InspectedTensor, stored: Bytes, scale: Words, cols: int
) -> tuple[str, str, int, int] | None:
    """The rule that some units of rows break first, what breaks it, and where."""
    part, group = unit_codes(row.dtype, stored), GROUPS[row.dtype]
    lowest = -(1 << (BITS[row.dtype] - 1))
    used = np.add.reduceat(part[:, :cols] != 0, np.arange(0, cols, group), axis=1) > 0
    faults = scale_faults(scale, row.scale_encoding, row.dtype)
    for code, what, bad in (
        ("QUANT_CODE", f"the code {lowest}", part == lowest),
        ("QUANT_PADDING", "nonzero padding", part[:, cols:] != 0),
        *(("QUANT_SCALE", *fault) for fault in faults),
        ("QUANT_SCALE", "scale 0 with codes", (scale == 0) & used),
    ):
        hits = np.argwhere(bad)
        if hits.size:
            return code, what, int(hits[0][0]), int(hits[0][1])
    return None
