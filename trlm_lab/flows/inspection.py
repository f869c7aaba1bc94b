"""The document of `trlm inspect`."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trlm_lab.base import canon
from trlm_lab.base.blobs import write_atomically
from trlm_lab.base.plain_file import require_plain
from trlm_lab.base.records import InspectedField, Inspection
from trlm_lab.errors import InspectRowsError, PathMissingError
from trlm_lab.flows.effective_bits import effective_bits, stored_bits
from trlm_lab.inspector import inspect, tensor_values
from trlm_lab.inspector.inspect import Progress, silent
from trlm_lab.pack.artifact_file import map_file

#: Values of a slice that are shown.
_SHOWN = 8


def inspection_document(path: Path, progress: Progress = silent) -> dict[str, Any]:
    """Header fields, configuration, tensors, hash checks and findings as JSON-ready rows.

    Raises:
        PathMissingError: no such file.
        NotPlainFileError: a pipe, device or directory.
    """
    if not path.exists():
        raise PathMissingError(where=str(path))
    require_plain(path)
    found = inspect(path, progress)
    return {
        "format": found.format,
        "verdict": "refuse" if found.findings else "accept",
        "file_sha256": found.file_sha256,
        "size": found.size,
        "header": _field_rows(found.header),
        "tokenizer": _field_rows(found.tokenizer),
        "config": found.config,
        "tensors": [
            {
                "name": t.name,
                "role": t.role,
                "dtype": t.dtype,
                "layout": t.layout,
                "dims": "x".join(map(str, t.dims)),
                "data": f"{t.data_range[0]}..{t.data_range[1]}",
                "bits": round(stored_bits(t), 4),
                "alias_of": t.alias_of,
            }
            for t in found.tensors
        ],
        "effective": effective_bits(found),
        "roles": role_rows(found),
        "pieces": len(found.pieces),
        "hashes": [{"hash": h.name, "holds": h.holds, "stored": h.stored} for h in found.hashes],
        "findings": [vars(f) for f in found.findings],
    }


def role_rows(found: Inspection) -> list[dict[str, Any]]:
    """Every byte of the file: front matter, codes and scales by role, padding; largest first."""
    sums: dict[str, list[int]] = {}
    for tensor in found.tensors:
        data, scales = (end - start for start, end in (tensor.data_range, tensor.scales_range))
        row = sums.setdefault(tensor.role, [0, 0])
        row[0], row[1] = row[0] + data, row[1] + scales
    rows: list[dict[str, Any]] = [
        {"part": role, "data": data, "scales": scales, "bytes": data + scales}
        for role, (data, scales) in sums.items()
    ]
    front = min((t.data_range[0] for t in found.tensors if t.data_range[1]), default=found.size)
    rows.append({"part": "front matter", "data": front, "scales": 0, "bytes": front})
    rest = found.size - sum(row["bytes"] for row in rows)
    rows.append({"part": "padding", "data": rest, "scales": 0, "bytes": rest})
    return sorted((row for row in rows if row["bytes"]), key=lambda row: -row["bytes"])


def slice_document(path: Path, tensor: str, rows: str, out: Path | None) -> dict[str, Any]:
    """Some rows of a tensor as the inspector decodes them; into a `.npy` file, too, if wished.

    Args:
        path: a file without findings.
        tensor: its name.
        rows: `LOW:HIGH`, or empty for all.
        out: where the float32 array goes.

    Raises:
        InspectTensorError, InspectRowsError: the file has no such tensor or rows.
    """
    found, view = inspect(path), map_file(path)
    values = tensor_values(view, found, tensor, *_span(tensor, rows))
    if out is not None:
        buffer = io.BytesIO()
        np.save(buffer, values, allow_pickle=False)
        write_atomically(out, buffer.getvalue())
    first = values.reshape(-1)[:_SHOWN]
    return {
        "tensor": tensor,
        "rows": rows or "all",
        "shape": "x".join(map(str, values.shape)),
        "sha256": canon.array_sha256(values),
        "lowest": float(values.min()),
        "highest": float(values.max()),
        "zeros": int((values == 0).sum()),
        "first": [f"{value!r} ({bits:08x})" for value, bits in _bits(first)],
    }


def _bits(values: NDArray[np.float32]) -> Iterable[tuple[float, int]]:
    return zip(values.tolist(), values.view(np.uint32).tolist(), strict=True)


def _span(tensor: str, rows: str) -> tuple[int, int | None]:
    if not rows:
        return 0, None
    match = re.fullmatch(r"(\d{1,12}):(\d{1,12})", rows)
    if match is None:
        raise InspectRowsError(where="--rows", got=rows, tensor=tensor, count="rows from 0 on")
    return int(match[1]), int(match[2])


def _field_rows(fields: Iterable[InspectedField]) -> list[dict[str, Any]]:
    return [{"field": f.name, "offset": f.offset, "size": f.size, "value": f.value} for f in fields]
