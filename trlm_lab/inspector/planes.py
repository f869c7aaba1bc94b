"""Content of the payloads: the values that no writer produces."""

from __future__ import annotations

import numpy as np

from trlm_lab.base.records.inspection import InspectedTensor
from trlm_lab.inspector.report import Report

#: Rows looked at together, in elements.
BATCH = 1 << 20


def check_planes(report: Report, row: InspectedTensor) -> None:
    """Note the first value of a stored tensor that no writer produces."""
    data = report.view[row.data_range[0] : row.data_range[1]]
    if row.dtype == "q8_r128":
        scales = report.view[row.scales_range[0] : row.scales_range[1]]
        _check_q8(report, row, data, scales)
        return
    # Exponent bits all ones mean NaN or infinity, in each of the three formats.
    mask = {"f32": 0x7F800000, "f16": 0x7C00, "bf16": 0x7F80}[row.dtype]
    words = np.frombuffer(data, "<u4" if row.dtype == "f32" else "<u2")
    for low in range(0, words.size, BATCH):
        bad = np.flatnonzero((words[low : low + BATCH] & mask) == mask)
        if bad.size:
            report.add("NONFINITE", f"tensor {row.name}", f"element {low + int(bad[0])}")
            return


def _check_q8(report: Report, row: InspectedTensor, data: memoryview, scales: memoryview) -> None:
    cols, stride = row.dims[-1], row.row_stride
    codes = np.frombuffer(data, np.int8).reshape(-1, stride)
    words = np.frombuffer(scales, "<u2").reshape(codes.shape[0], -1)
    step = max(1, BATCH // stride)
    for low in range(0, codes.shape[0], step):
        part, scale = codes[low : low + step], words[low : low + step]
        used = np.add.reduceat(part[:, :cols] != 0, np.arange(0, cols, 128), axis=1) > 0
        exponent = scale >> 10 & 31
        for what, bad in (
            ("a code -128", part == -128),
            ("nonzero padding", part[:, cols:] != 0),
            ("a negative scale", scale >= 0x8000),
            ("a scale that is not finite", exponent == 31),
            ("a subnormal scale", (exponent == 0) & ((scale & 1023) != 0)),
            ("scale 0 with codes", (scale == 0) & used),
        ):
            hits = np.argwhere(bad)
            if hits.size:
                place = f"row {low + int(hits[0][0])}, index {int(hits[0][1])}"
                report.add("CODES", f"tensor {row.name}", f"{what} at {place}")
                return
