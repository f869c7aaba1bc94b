"""Sparse residuals as the inspector reads them: header, row pointers, columns, values."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from trlm_lab.base.records.inspection import InspectedTensor
from trlm_lab.inspector.codes import GROUPS, scale_faults
from trlm_lab.inspector.report import Report

HEAD = 40
Pointers = NDArray[np.uint32]
#: Entries looked at together.
BATCH = 1 << 17
#: Bytes of a value, and the scale encoding of the dtype.
VALUES = {"f16": (2, "none"), "q8_r128": (1, "fp16")}
NUMBERS = {"f16": 2, "q8_r128": 4}


def residual_sizes(report: Report, row: InspectedTensor) -> tuple[int, int] | None:
    """data_len and aux_len that the header asks for; None where it cannot be read or is wrong."""
    start, end = row.data_range
    if row.dtype not in VALUES or not 0 <= start <= end - HEAD or end > len(report.view):
        report.add(
            "SLM_SHAPE", f"tensor {row.name}", f"no residual of {row.dtype} in {end - start}"
        )
        return None
    lines, cols = math.prod(row.dims[:-1]), row.dims[-1]
    nnz = report.number(start + 12, 4)
    columns = HEAD + 4 * (lines + 1)
    values = columns + nnz * (2 if cols <= 65536 else 4)
    wanted = [1, NUMBERS[row.dtype], lines, cols, HEAD, columns, values]
    places = ((0, 2), (2, 2), (4, 4), (8, 4), (16, 8), (24, 8), (32, 8))
    found = [report.number(start + at, size) for at, size in places]
    if found != wanted or nnz == 0:
        report.add("SLM_SHAPE", start, f"the residual's header is {found}, not {wanted}, nnz {nnz}")
        return None
    return values + nnz * VALUES[row.dtype][0], 2 * lines if row.dtype == "q8_r128" else 0


def check_base(report: Report, row: InspectedTensor, rows: tuple[InspectedTensor, ...]) -> None:
    """A residual has dimensions and role of a dense tensor of codes, and is named after it."""
    index = int(row.alias_of[1:]) if row.alias_of else -1
    base = rows[index] if 0 <= index < len(rows) else None
    if base is None or base.layout != "dense" or base.dtype not in GROUPS:
        report.add("SLM_ALIAS", f"tensor {row.name}", f"{row.alias_of} is no dense tensor of codes")
    elif (base.dims, base.role, base.name + ".residual") != (row.dims, row.role, row.name):
        report.add("SLM_ALIAS", f"tensor {row.name}", f"is no residual of {base.name}")


def check_entries(report: Report, row: InspectedTensor) -> None:
    """Note the first entry of a residual that no writer produces."""
    code, what = _entry_fault(report, row)
    if what:
        report.add(code, f"tensor {row.name}", what)


def _entry_fault(report: Report, row: InspectedTensor) -> tuple[str, str]:
    """The rule and what breaks it; an empty text where nothing does."""
    data = report.view[row.data_range[0] : row.data_range[1]]
    lines, cols = math.prod(row.dims[:-1]), row.dims[-1]
    nnz = int.from_bytes(data[12:16], "little")
    pointers = np.frombuffer(data, "<u4", lines + 1, HEAD)
    kind = np.dtype("<u2" if cols <= 65536 else "<u4")
    at = HEAD + 4 * (lines + 1)
    columns, before = np.frombuffer(data, kind, nnz, at), -1
    if pointers[0] != 0 or pointers[-1] != nnz or (pointers[1:] < pointers[:-1]).any():
        return "QUANT_INDEX", f"row pointers do not ascend from 0 to {nnz}"
    for low in range(0, nnz, BATCH):
        part = columns[low : low + BATCH].astype(np.int64)
        # Entries of all rows ascend exactly if row x cols + column does.
        places = _owners(pointers, low, low + len(part)) * cols + part
        ascend = places[0] > before and (places[1:] > places[:-1]).all()
        if (part >= cols).any() or not ascend:
            return "QUANT_INDEX", f"columns of a row do not ascend below {cols}"
        before = places[-1]
    return _value_fault(report, row, data[at + nnz * kind.itemsize :], pointers)


def _owners(pointers: Pointers, low: int, high: int) -> NDArray[np.int64]:
    """The rows of some entries."""
    entries = np.arange(low, high, dtype=pointers.dtype)
    return np.searchsorted(pointers, entries, side="right").astype(np.int64) - 1


def _value_fault(
    report: Report, row: InspectedTensor, values: memoryview, pointers: Pointers
) -> tuple[str, str]:
    if row.dtype == "f16":
        bad = (np.frombuffer(values, "<u2") & 0x7C00) == 0x7C00
        return "QUANT_NONFINITE", "a value that is not finite" if bad.any() else ""
    codes = np.frombuffer(values, np.int8)
    if (codes == -128).any():
        return "QUANT_CODE", "the code -128"
    scales = np.frombuffer(report.view[row.scales_range[0] : row.scales_range[1]], "<u2")
    for what, bad in scale_faults(scales, "fp16", "q8_r128"):
        if bad.any():
            return "QUANT_SCALE", what
    for low in range(0, len(codes), BATCH):
        part = codes[low : low + BATCH]
        if ((scales[_owners(pointers, low, low + len(part))] == 0) & (part != 0)).any():
            return "QUANT_SCALE", "scale 0 with codes"
    return "", ""
