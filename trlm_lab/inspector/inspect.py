"""Inspect one `.slm` file: every field, table, payload and hash; findings instead of exceptions."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from trlm_lab.base.records.inspection import (
    InspectedField,
    InspectedPiece,
    InspectedTensor,
    Inspection,
)
from trlm_lab.errors import InspectPathError
from trlm_lab.inspector.configuration import configuration_fault
from trlm_lab.inspector.directory import check_tensors, read_tensors, with_alias_names
from trlm_lab.inspector.header import FIELDS, SIZE, check_header, header_rows
from trlm_lab.inspector.model import check_model
from trlm_lab.inspector.pieces import check_piece_hashes, check_shard, read_pieces
from trlm_lab.inspector.planes import check_planes
from trlm_lab.inspector.report import Report
from trlm_lab.inspector.sections import check_sections, read_configuration, read_texts
from trlm_lab.inspector.slm1 import inspect_slm1
from trlm_lab.inspector.tokenizer import MAGIC, inspect_tokenizer

#: Called with what is being done, the units done, and all units.
Progress = Callable[[str, int, int], None]


def silent(what: str, done: int, total: int) -> None:
    """Report nothing."""


def inspect(path: Path, progress: Progress = silent) -> Inspection:
    """Read a file. Raises InspectPathError only where there is none to read."""
    if not path.is_file():
        raise InspectPathError(where=str(path), detail="there is no such plain file")
    if path.stat().st_size == 0:
        return inspect_bytes(memoryview(b""))
    return inspect_bytes(np.memmap(path, np.uint8, "r").data, progress)


def inspect_bytes(view: memoryview, progress: Progress = silent) -> Inspection:
    """Read a buffer; never raises on its content.

    What the magic or the declared length refuses is not read whole: its `file_sha256` is None.
    """
    report = Report(view)
    magic = bytes(view[:4])
    if magic == MAGIC:
        return _tokenizer_file(report, _sha256(view))
    if magic == b"SLM1":
        return inspect_slm1(report, _sha256(view))
    if magic != b"SLM2" or len(view) < SIZE:
        # Bytes too few for a magic may be the beginning of any file.
        code = "SLM_LENGTH" if magic == b"SLM2" or len(view) < 4 else "SLM_VERSION"
        detail = f"magic {magic!r} and {len(view)} bytes are no SLM1, SLM2 or TOK2 file"
        report.add(code, 0, detail)
        return Inspection("unknown", len(view), None, findings=tuple(report.findings))
    header = {name: report.number(at, size) for name, at, size in FIELDS}
    rows = header_rows(report)
    parts: dict[str, Any] = {}
    if check_header(report, header) and check_sections(report, header):
        parts = _inspect_sections(report, header, progress)
    whole = header["artifact_len"] == len(view)
    if whole:
        _check_self(report)
    return Inspection(
        format="SLM2",
        size=len(view),
        file_sha256=_sha256(view) if whole else None,
        header=rows,
        hashes=tuple(report.hashes),
        findings=tuple(report.findings),
        **parts,
    )


def _sha256(view: memoryview) -> str:
    return hashlib.sha256(view).hexdigest()


def _tokenizer_file(report: Report, digest: str) -> Inspection:
    size = len(report.view)
    rows = inspect_tokenizer(report, 0, size)
    return Inspection(
        "TOK2", size, digest, tokenizer=rows, hashes=tuple(report.hashes),
        findings=tuple(report.findings),
    )  # fmt: skip


def _inspect_sections(report: Report, header: dict[str, int], progress: Progress) -> dict[str, Any]:
    texts = read_texts(report, header["string_table_off"], header["string_table_len"])
    before = len(report.findings)
    config = read_configuration(report, header)
    fault = configuration_fault(config) if len(report.findings) == before else ""
    if fault:
        report.add("SLM_CONFIG", header["config_off"], fault)
    config_is_sound = len(report.findings) == before
    tokenizer = _inspect_tokenizer(report, header)
    tensors = read_tensors(report, header, texts)
    sound = list(check_tensors(report, header, tensors))
    for done, row in enumerate(sound):
        progress("inspect tensors", done, len(sound))
        check_planes(report, row)
        _check_tensor_hash(report, header, row)
    progress("inspect tensors", len(sound), len(sound))
    if config_is_sound:
        check_model(report, config, tensors)
    pieces: tuple[InspectedPiece, ...] = read_pieces(report, header)
    check_piece_hashes(report, header, pieces)
    if header["shard_count"] == 1:
        check_shard(report, header)
    return {
        "config": config, "tensors": with_alias_names(tensors), "pieces": pieces,
        "tokenizer": tokenizer,
    }  # fmt: skip


def _inspect_tokenizer(report: Report, header: dict[str, int]) -> tuple[InspectedField, ...]:
    """Rows of a TOK2 block; a section that holds anything else is not looked into."""
    start, length = header["tokenizer_off"], header["tokenizer_len"]
    if report.raw(start, min(length, 4)) != MAGIC:
        return ()
    return inspect_tokenizer(report, start, length)


def _check_tensor_hash(report: Report, header: dict[str, int], row: InspectedTensor) -> None:
    at = header["tensor_dir_off"] + 128 * row.index + 96
    digest = hashlib.sha256(report.view[row.data_range[0] : row.data_range[1]])
    if row.scales_range[1] > row.scales_range[0]:
        digest.update(report.view[row.scales_range[0] : row.scales_range[1]])
    report.hash(f"tensor {row.name}", report.raw(at, 16), digest.digest()[:16])


def _check_self(report: Report) -> None:
    """The file's hash of itself, with bytes 136 to 208 read as zero."""
    digest = hashlib.sha256(report.view[:136])
    digest.update(bytes(72))
    digest.update(report.view[208:])
    report.hash("self", report.raw(136, 32), digest.digest())
