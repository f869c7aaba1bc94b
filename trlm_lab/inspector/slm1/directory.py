"""The directory and the payloads: names by their hashes, sizes, places and stored values."""

from __future__ import annotations

import math

import numpy as np

from trlm_lab.base.records.inspection import InspectedTensor
from trlm_lab.inspector.report import Report

_DTYPES = {1: "f32", 2: "q8_0", 3: "q4_0"}
_ROLES = {
    "attn_norm": "attn_norm",
    "wq": "q_proj",
    "wk": "k_proj",
    "wv": "v_proj",
    "wo": "o_proj",
    "ffn_norm": "mlp_norm",
    "w1": "gate_proj",
    "w2": "down_proj",
    "w3": "up_proj",
}
#: A scale above it times the lowest code of a byte is not finite in float32.
_TOP = np.finfo(np.float32).max / np.float32(128)
_BATCH = 1 << 20

Model = dict[str, tuple[str, tuple[int, ...]]]


def name_hash(name: str) -> int:
    """FNV-1a of the name."""
    value = 14695981039346656037
    for byte in name.encode("utf-8"):
        value ^= byte
        value = value * 1099511628211 % 18446744073709551616
    return value


def model_of(header: dict[str, int]) -> Model:
    """Role and dimensions of every tensor, by name; the head is the last one."""
    d, f, v = header["hidden"], header["ffn"], header["vocab"]
    q, k = (header[name] * header["head_dim"] for name in ("heads", "kv_heads"))
    dims: dict[str, tuple[int, ...]] = {
        "attn_norm": (d,), "wq": (q, d), "wk": (k, d), "wv": (k, d), "wo": (d, q),
        "ffn_norm": (d,), "w1": (f, d), "w2": (d, f), "w3": (f, d),
    }  # fmt: skip
    rows: Model = {"tok_embeddings.weight": ("embedding", (v, d))}
    for layer in range(header["layers"]):
        for name, role in _ROLES.items():
            rows[f"layers.{layer}.{name}.weight"] = (role, dims[name])
    rows["norm.weight"] = ("final_norm", (d,))
    rows["output.weight"] = ("lm_head", (v, d))
    return rows


def check_directory(report: Report, header: dict[str, int]) -> tuple[InspectedTensor, ...]:
    """All entries; notes what is wrong with each, and with all of them together."""
    model = model_of(header)
    names = {name_hash(name): name for name in model}
    before, rows = len(report.findings), []
    for index in range(header["tensor_count"]):
        at = header["tensor_directory_offset"] + 64 * index
        name = names.pop(report.number(at, 8), "")
        if not name:
            report.add("SLM1_TENSOR_SET", at, "the hash of no tensor, or of one that is there")
            continue
        rows.append(_entry(report, header, at, index, name, *model[name]))
    missing = sorted(set(names.values()) - ({"output.weight"} if header["flags"] else set()))
    if missing:
        report.add("SLM1_TENSOR_SET", "the directory", f"{', '.join(missing[:3])} missing")
    if len(report.findings) == before:
        _check_places(report, header, rows)
        _check_head(report, header, rows)
        for row in rows:
            _check_values(report, row)
    return tuple(rows)


def _entry(
    report: Report,
    header: dict[str, int],
    at: int,
    index: int,
    name: str,
    role: str,
    dims: tuple[int, ...],
) -> InspectedTensor:
    number, block = report.number(at + 8, 4), report.number(at + 56, 4)
    dtype, cols, lines = _DTYPES.get(number, ""), dims[-1], math.prod(dims[:-1])
    report.zeros("SLM1_RESERVED", at + 60, at + 64, f"the reserved word of {name}")
    if not dtype:
        report.add("SLM1_UNKNOWN_NUMBER", at + 8, f"dtype {number} of {name}")
    stored = tuple(report.number(at + 16 + 4 * i, 4) for i in range(4))
    if report.number(at + 12, 4) != len(dims) or stored != (*dims, 0, 0, 0)[:4]:
        report.add("SLM1_SHAPE", at + 12, f"{name} has dims {stored}, the model {dims}")
    good = {"f32": block == 0, "q8_0": block == cols}
    if dtype and not good.get(dtype, block > 0 and block % 2 == 0 and cols % max(block, 1) == 0):
        report.add("SLM1_SHAPE", at + 56, f"block_size {block} of {name}")
        block = 0
    size = {"f32": 4 * cols, "q8_0": cols, "q4_0": cols // 2}.get(dtype, 0) * lines
    scales = 4 * lines * (cols // block) if block else 0
    start, scale_start = report.number(at + 32, 8), report.number(at + 48, 8)
    if dtype and report.number(at + 40, 8) != size:
        report.add("SLM1_SHAPE", at + 40, f"{name} has {report.number(at + 40, 8)} bytes")
    if dtype == "f32" and scale_start:
        report.add("SLM1_SHAPE", at + 48, f"{name} has scales at {scale_start}")
    spans = [(start, start + size)] + ([(scale_start, scale_start + scales)] if scales else [])
    for low, high in spans:
        if low < header["tensor_data_offset"] or high > len(report.view):
            report.add("SLM1_RANGE", at + 32, f"{name} covers {low}..{high}")
        elif low % 64:
            report.add("SLM1_ALIGNMENT", at + 32, f"{name} begins at {low}")
    return InspectedTensor(
        index=index,
        name=name,
        role=role,
        dtype=dtype or f"?{number}",
        layout="dense",
        scale_encoding="f32" if scales else "none",
        flags=0,
        dims=dims,
        data_range=(start, start + size),
        scales_range=(scale_start, scale_start + scales),
        row_stride=size // lines,
        alias_of=None,
        first_piece=0,
        piece_count=0,
    )


def _check_places(report: Report, header: dict[str, int], rows: list[InspectedTensor]) -> None:
    spans = [(*span, row.name) for row in rows for span in (row.data_range, row.scales_range)]
    end = header["tensor_data_offset"]
    for start, stop, name in sorted(span for span in spans if span[0] < span[1]):
        if start < end:
            report.add("SLM1_OVERLAP", f"tensor {name}", f"{start} is before {end}")
        else:
            report.zeros("SLM1_RESERVED", end, start, f"the padding before {name}")
        end = max(end, stop)
    left = len(report.view) - end
    if left >= 64:
        report.add("SLM1_SHAPE", end, f"{left} bytes behind the last payload")
    report.zeros("SLM1_RESERVED", end, len(report.view), "the padding at the end")


def _check_head(report: Report, header: dict[str, int], rows: list[InspectedTensor]) -> None:
    named = {row.name: row for row in rows}
    head, embedding = named.get("output.weight"), named.get("tok_embeddings.weight")
    if not header["flags"] or head is None or embedding is None:
        return
    same = head.dtype == embedding.dtype
    for one, other in (
        (head.data_range, embedding.data_range),
        (head.scales_range, embedding.scales_range),
    ):
        same = same and report.view[slice(*one)] == report.view[slice(*other)]
    if not same:
        report.add("SLM1_TENSOR_SET", "tensor output.weight", "is not the embedding, yet tied")


def _check_values(report: Report, row: InspectedTensor) -> None:
    """Weights are finite; scales are above 0 and small enough for every code."""
    scaled = row.dtype != "f32"
    low, high = row.scales_range if scaled else row.data_range
    values = np.frombuffer(report.view[low:high], "<f4")
    for first in range(0, values.size, _BATCH):
        part = values[first : first + _BATCH]
        good = (part > 0) & (part <= _TOP) if scaled else np.isfinite(part)
        if not good.all():
            at = first + int(np.argmin(good))
            code = "SLM1_SCALE" if scaled else "SLM1_NONFINITE"
            report.add(code, f"tensor {row.name}", f"index {at} holds {values[at]}")
            return
