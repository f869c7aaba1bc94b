"""Content of the payloads: the values that no writer produces."""

from __future__ import annotations

import numpy as np

from trlm_lab.base.records.inspection import InspectedTensor
from trlm_lab.inspector.codes import BITS, GROUPS, scale_faults, unit_codes
from trlm_lab.inspector.report import Report
from trlm_lab.inspector.residuals import check_entries

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
            report.add("NONFINITE", f"tensor {row.name}", f"element {low + int(bad[0])}")
            return


def _check_grouped(
    report: Report, row: InspectedTensor, data: memoryview, scales: memoryview
) -> None:
    cols, group = row.dims[-1], GROUPS[row.dtype]
    stored = np.frombuffer(data, np.uint8).reshape(-1, row.row_stride)
    word = np.dtype("u1" if row.scale_encoding == "e8m0" else "<u2")
    words = np.frombuffer(scales, word).reshape(len(stored), -1)
    lowest = -(1 << (BITS[row.dtype] - 1))
    step = max(1, BATCH // (8 * row.row_stride))
    for low in range(0, len(stored), step):
        part, scale = unit_codes(row.dtype, stored[low : low + step]), words[low : low + step]
        used = np.add.reduceat(part[:, :cols] != 0, np.arange(0, cols, group), axis=1) > 0
        for what, bad in (
            (f"the code {lowest}", part == lowest),
            ("nonzero padding", part[:, cols:] != 0),
            *scale_faults(scale, row.scale_encoding, row.dtype),
            ("scale 0 with codes", (scale == 0) & used),
        ):
            hits = np.argwhere(bad)
            if hits.size:
                place = f"row {low + int(hits[0][0])}, index {int(hits[0][1])}"
                report.add("CODES", f"tensor {row.name}", f"{what} at {place}")
                return
