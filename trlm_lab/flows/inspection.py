"""The document of `trlm inspect`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from trlm_lab.base.plain_file import require_plain
from trlm_lab.base.records import InspectedField
from trlm_lab.errors import PathMissingError
from trlm_lab.flows.effective_bits import effective_bits, stored_bits
from trlm_lab.inspector import inspect
from trlm_lab.inspector.inspect import Progress, silent


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
        "pieces": len(found.pieces),
        "hashes": [{"hash": h.name, "holds": h.holds, "stored": h.stored} for h in found.hashes],
        "findings": [vars(f) for f in found.findings],
    }


def _field_rows(fields: Iterable[InspectedField]) -> list[dict[str, Any]]:
    return [{"field": f.name, "offset": f.offset, "size": f.size, "value": f.value} for f in fields]
