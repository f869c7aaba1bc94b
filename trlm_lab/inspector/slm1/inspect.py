"""One SLM1 file: header, tokenizer, directory, payloads, checksum; findings, never exceptions."""

from __future__ import annotations

import struct

from trlm_lab.base.records.inspection import InspectedField, InspectedTensor, Inspection
from trlm_lab.inspector.report import Report
from trlm_lab.inspector.slm1.checksum import check_sum
from trlm_lab.inspector.slm1.directory import check_directory
from trlm_lab.inspector.slm1.small_tokenizer import inspect_small

#: name, byte offset, bytes.
FIELDS: tuple[tuple[str, int, int], ...] = (
    ("version", 4, 4),
    ("header_length", 8, 4),
    ("model_type", 12, 4),
    ("flags", 16, 4),
    ("vocab", 20, 4),
    ("special_token_count", 24, 4),
    ("hidden", 28, 4),
    ("layers", 32, 4),
    ("heads", 36, 4),
    ("kv_heads", 40, 4),
    ("head_dim", 44, 4),
    ("ffn", 48, 4),
    ("max_context", 52, 4),
    ("rope_theta", 56, 4),
    ("rms_eps", 60, 4),
    ("tokenizer_offset", 64, 8),
    ("tokenizer_length", 72, 8),
    ("tensor_directory_offset", 80, 8),
    ("tensor_count", 88, 4),
    ("tensor_data_offset", 92, 8),
    ("checksum", 100, 8),
)
SIZE = 108
_RANGES = {
    "vocab": (1, 16777216),
    "hidden": (1, 131072),
    "layers": (1, 1024),
    "heads": (1, 4096),
    "kv_heads": (1, 4096),
    "head_dim": (2, 4096),
    "ffn": (1, 524288),
    "max_context": (1, 2147483647),
}


def inspect_slm1(report: Report, digest: str) -> Inspection:
    """Everything about a buffer that begins with SLM1's magic."""
    size = len(report.view)
    if size < SIZE:
        report.add("SLM1_LENGTH", 0, f"{size} bytes cannot hold a header of {SIZE}")
        return Inspection("SLM1", size, digest, findings=tuple(report.findings))
    header = {name: report.number(at, width) for name, at, width in FIELDS}
    rows = [InspectedField("magic", 0, 4, "SLM1")]
    rows += [
        InspectedField(n, at, width, _shown(report, n, at, header[n])) for n, at, width in FIELDS
    ]
    tokenizer: tuple[InspectedField, ...] = ()
    tensors: tuple[InspectedTensor, ...] = ()
    sound = _check_versions(report, header) and _check_shape(report, header)
    if sound and _check_sections(report, header):
        tokenizer = inspect_small(report, header)
        tensors = check_directory(report, header)
    check_sum(report, header["checksum"])
    return Inspection(
        "SLM1", size, digest, header=tuple(rows), tokenizer=tokenizer, tensors=tensors,
        hashes=tuple(report.hashes), findings=tuple(report.findings),
    )  # fmt: skip


def _shown(report: Report, name: str, at: int, value: int) -> int | float | str:
    """Floats as they read, the checksum as hex."""
    if name == "checksum":
        return f"{value:016x}"
    if name not in ("rope_theta", "rms_eps"):
        return value
    number: float = struct.unpack("<f", report.raw(at, 4))[0]
    return number if abs(number) < float("inf") else f"{value:08x}"


def _check_versions(report: Report, header: dict[str, int]) -> bool:
    known = len(report.findings)
    for name, at in (("version", 4), ("model_type", 12)):
        if header[name] != 1:
            report.add("SLM1_VERSION", at, f"{name} is {header[name]}, not 1")
    if header["header_length"] < SIZE:
        report.add("SLM1_VERSION", 8, f"header_length is {header['header_length']}")
    if header["flags"] > 1:
        report.add("SLM1_FLAGS", 16, f"flags {header['flags']:#x}")
    if len(report.view) % 64:
        report.add("SLM1_LENGTH", 0, f"{len(report.view)} bytes are no multiple of 64")
    return len(report.findings) == known


def _check_shape(report: Report, header: dict[str, int]) -> bool:
    known = len(report.findings)
    for name, (low, high) in _RANGES.items():
        if not low <= header[name] <= high:
            report.add("SLM1_SHAPE", name, f"{header[name]} is not in {low} to {high}")
    for name, at, least, most in (("rope_theta", 56, 1.0, 1e12), ("rms_eps", 60, 2.0**-126, 1.0)):
        value = struct.unpack("<f", report.raw(at, 4))[0]
        if not least <= value <= most:
            report.add("SLM1_SHAPE", at, f"{name} is {value}")
    if len(report.findings) > known:
        return False
    facts = (
        (header["heads"] % header["kv_heads"] == 0, "kv_heads do not divide heads"),
        (header["head_dim"] % 2 == 0, "head_dim is odd"),
        (header["special_token_count"] == 4, "special_token_count is not 4"),
    )
    for holds, detail in facts:
        if not holds:
            report.add("SLM1_SHAPE", "the header", detail)
    missing = 9 * header["layers"] + 3 - header["tensor_count"]
    if missing not in ((0, 1) if header["flags"] else (0,)):
        report.add("SLM1_SHAPE", 88, f"tensor_count is {header['tensor_count']}")
    return len(report.findings) == known


def _check_sections(report: Report, header: dict[str, int]) -> bool:
    """Whether header, tokenizer, directory and data stand in this order, each in the file."""
    at, end = header["header_length"], len(report.view)
    if at > end:
        report.add("SLM1_RANGE", 8, f"header_length is {at}")
        return False
    report.zeros("SLM1_RESERVED", SIZE, at, "the header's extension")
    parts = (
        ("tokenizer_offset", header["tokenizer_length"], 1),
        ("tensor_directory_offset", 64 * header["tensor_count"], 64),
        ("tensor_data_offset", 0, 64),
    )
    for name, length, alignment in parts:
        start = header[name]
        if start < at or start + length > end:
            report.add("SLM1_RANGE", name, f"{start}..{start + length} is outside {at}..{end}")
            return False
        if start % alignment:
            report.add("SLM1_ALIGNMENT", name, f"{start} is no multiple of {alignment}")
            return False
        report.zeros("SLM1_RESERVED", at, start, f"the padding before {name}")
        at = start + length
    return True
