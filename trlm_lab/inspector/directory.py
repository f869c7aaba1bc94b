"""The tensor directory as the inspector reads it: rows, then rules over single rows and pairs."""

from __future__ import annotations

import math

from trlm_lab.base.records.inspection import InspectedTensor
from trlm_lab.inspector.codes import GROUPS, SCALE_BYTES, UNITS
from trlm_lab.inspector.report import Report
from trlm_lab.inspector.residuals import VALUES, check_base, residual_sizes

ROLES = (
    "other",
    "embedding",
    "q_proj",
    "k_proj",
    "v_proj",
    "o_proj",
    "gate_proj",
    "up_proj",
    "down_proj",
    "attn_norm",
    "mlp_norm",
    "final_norm",
    "lm_head",
    "q_norm",
    "k_norm",
    "post_attn_norm",
    "post_mlp_norm",
    "position_embedding",
    "q_proj_bias",
    "k_proj_bias",
    "v_proj_bias",
    "o_proj_bias",
    "gate_proj_bias",
    "up_proj_bias",
    "down_proj_bias",
    "attn_norm_bias",
    "mlp_norm_bias",
    "final_norm_bias",
)
DTYPES = ("?", "f32", "f16", "bf16", "q8_r128", "q6_g64", "q5_g64", "q4_g64")
LAYOUTS = ("dense", "alias", "sparse_residual", "external_piece_map")
ENCODINGS = ("none", "fp16", "bf16", "e8m0")
#: dtype: (columns of a storage unit, its bytes, columns of a scale group or 0)
STORAGE = {"f32": (1, 4, 0), "f16": (1, 2, 0), "bf16": (1, 2, 0)} | {
    name: (64, UNITS[name], group) for name, group in GROUPS.items()
}
PIECE = 1048576
NONE = 0xFFFFFFFF
RESERVED = ((18, 20), (44, 48), (116, 128))


def read_tensors(
    report: Report, header: dict[str, int], texts: list[str]
) -> tuple[InspectedTensor, ...]:
    """All rows of the directory, whatever they say."""
    rows = []
    for index in range(header["tensor_count"]):
        at = header["tensor_dir_off"] + 128 * index
        for start, end in RESERVED:
            report.zeros(
                "SLM_RESERVED", at + start, at + end, f"a reserved range of tensor {index}"
            )
        rows.append(_tensor(report, at, index, texts))
    names = [row.name for row in rows]
    if len(set(names)) != len(names):
        report.add("SLM_TENSOR_SET", "the directory", "two tensors have one name")
    if all(row.layout != "dense" for row in rows):
        report.add("SLM_TENSOR_SET", "the directory", "no tensor is stored")
    return tuple(rows)


def _named(report: Report, at: int, table: tuple[str, ...], what: str) -> str:
    number = report.number(at, 2)
    if number >= len(table) or table[number] == "?":
        report.add("SLM_UNKNOWN_NUMBER", at, f"{what} {number} is not defined")
        return f"?{number}"
    return table[number]


def _tensor(report: Report, at: int, index: int, texts: list[str]) -> InspectedTensor:
    name_id, alias = report.number(at, 4), report.number(at + 84, 4)
    if name_id >= len(texts):
        report.add("SLM_STRINGS", at, f"name_id {name_id} of {len(texts)} strings")
    rank = report.number(at + 16, 1)
    data, aux = report.number(at + 56, 8), report.number(at + 72, 8)
    dims = tuple(report.number(at + 20 + 4 * i, 4) for i in range(6))
    if not 1 <= rank <= 6 or report.number(at + 17, 1) != rank:
        report.add("SLM_SHAPE", at + 16, f"rank {rank}, dim_count {report.number(at + 17, 1)}")
    elif 0 in dims[:rank] or any(dims[rank:]):
        report.add("SLM_SHAPE", at + 20, f"dims {dims} with rank {rank}")
    return InspectedTensor(
        index=index,
        name=texts[name_id] if name_id < len(texts) else f"?{index}",
        role=_named(report, at + 4, ROLES, "role"),
        dtype=_named(report, at + 6, DTYPES, "dtype"),
        layout=_named(report, at + 8, LAYOUTS, "layout"),
        scale_encoding=_named(report, at + 10, ENCODINGS, "scale encoding"),
        flags=report.number(at + 12, 4),
        dims=dims[: min(rank, 6)],
        data_range=(data, data + report.number(at + 64, 8)),
        scales_range=(aux, aux + report.number(at + 80, 4)),
        row_stride=report.number(at + 112, 4),
        alias_of=None if alias == NONE else f"#{alias}",
        first_piece=report.number(at + 88, 4),
        piece_count=report.number(at + 92, 4),
    )


def with_alias_names(rows: tuple[InspectedTensor, ...]) -> tuple[InspectedTensor, ...]:
    """The rows with `alias_of` as a tensor name where the index is one."""
    named = []
    for row in rows:
        target = int(row.alias_of[1:]) if row.alias_of else -1
        name = rows[target].name if 0 <= target < len(rows) else row.alias_of
        named.append(InspectedTensor(**{**vars(row), "alias_of": name}))
    return tuple(named)


def check_tensors(
    report: Report, header: dict[str, int], rows: tuple[InspectedTensor, ...]
) -> list[InspectedTensor]:
    """Rules over the rows; returns the stored tensors whose bytes can be read."""
    body, size = header["body_off"], len(report.view)
    readable, end = [], body
    for row in rows:
        at = header["tensor_dir_off"] + 128 * row.index
        if row.flags & ~7:
            report.add("SLM_FLAGS", at + 12, f"flags {row.flags:#x}")
        elif row.flags & 4:
            report.add("SLM_UNSUPPORTED", at + 12, f"flags {row.flags:#x}")
        if row.layout == "alias":
            _check_alias(report, at, row, rows)
        elif row.layout not in ("dense", "sparse_residual") or row.dtype not in STORAGE:
            report.add("SLM_UNSUPPORTED", at, f"layout {row.layout}, dtype {row.dtype}")
        elif _check_stored(report, at, row, rows, body):
            end = _check_order(report, row, end)
            readable.append(row)
        _check_tied(report, at, row, rows)
    report.zeros("SLM_RESERVED", end, size, "the padding at the end")
    return readable


def _dense_sizes(report: Report, row: InspectedTensor) -> tuple[int, int, int]:
    """row_stride, data_len and aux_len of a dense tensor; notes a scale encoding out of place."""
    unit, unit_bytes, group = STORAGE[row.dtype]
    lines, cols = math.prod(row.dims[:-1]), row.dims[-1]
    stride = -(-cols // unit) * unit_bytes
    if (row.scale_encoding == "none") == bool(group):
        detail = f"{row.dtype} with the scale encoding {row.scale_encoding}"
        report.add("SLM_SHAPE", f"tensor {row.name}", detail)
    groups = -(-cols // group) if group else 0
    return stride, lines * stride, lines * groups * SCALE_BYTES.get(row.scale_encoding, 0)


def _sizes(
    report: Report, row: InspectedTensor, rows: tuple[InspectedTensor, ...]
) -> tuple[int, int, int] | None:
    if row.layout == "dense":
        if row.alias_of is not None:
            report.add("SLM_ALIAS", f"tensor {row.name}", f"alias_of is {row.alias_of}, not None")
        return _dense_sizes(report, row)
    check_base(report, row, rows)
    found = residual_sizes(report, row)
    if found is None:
        return None
    if row.scale_encoding != VALUES[row.dtype][1]:
        detail = f"{row.dtype} values with the scale encoding {row.scale_encoding}"
        report.add("SLM_SHAPE", f"tensor {row.name}", detail)
    return 0, *found


def _check_stored(
    report: Report, at: int, row: InspectedTensor, rows: tuple[InspectedTensor, ...], body: int
) -> bool:
    if not row.dims or 0 in row.dims:
        return False
    if row.data_range[0] % 64:
        report.add("SLM_ALIGNMENT", f"tensor {row.name}", f"data at {row.data_range[0]}")
    sizes, size = _sizes(report, row, rows), len(report.view)
    if sizes is None:
        # A residual whose header cannot be read, perhaps because it is out of place.
        low, high = row.data_range
        report.inside(f"tensor {row.name}", low, high - low, body, size)
        return False
    stride, data, scales = sizes
    facts: dict[str, tuple[int, int]] = {
        "row_stride": (row.row_stride, stride),
        "data_len": (row.data_range[1] - row.data_range[0], data),
        "logical_nbytes": (report.number(at + 48, 8), data),
        "aux_len": (row.scales_range[1] - row.scales_range[0], scales),
        "first_piece": (row.first_piece, (row.data_range[0] - body) // PIECE),
    }
    if not scales:
        facts["aux_off"] = (row.scales_range[0], 0)
    last = (row.scales_range[1] if scales else row.data_range[1]) - body - 1
    facts["piece_count"] = (row.piece_count, last // PIECE - row.first_piece + 1)
    wrong = {name: pair for name, pair in facts.items() if pair[0] != pair[1]}
    for name, (got, wanted) in wrong.items():
        report.add("SLM_SHAPE", f"tensor {row.name}", f"{name} is {got}, not {wanted}")
    if scales and row.scales_range[0] % 64:
        report.add("SLM_ALIGNMENT", f"tensor {row.name}", f"scales at {row.scales_range[0]}")
    spans = [row.data_range, row.scales_range] if scales else [row.data_range]
    fits = [report.inside(f"tensor {row.name}", a, b - a, body, size) for a, b in spans]
    return all(fits) and not {"data_len", "aux_len", "row_stride"} & set(wrong)


def _check_order(report: Report, row: InspectedTensor, end: int) -> int:
    for start, stop in (row.data_range, row.scales_range):
        if start == stop:
            continue
        if start < end:
            report.add("SLM_OVERLAP", f"tensor {row.name}", f"{start} is before {end}")
        report.zeros("SLM_RESERVED", end, start, f"the padding before {row.name}")
        end = max(end, stop)
    return end


def _check_alias(
    report: Report, at: int, row: InspectedTensor, rows: tuple[InspectedTensor, ...]
) -> None:
    index = int(row.alias_of[1:]) if row.alias_of else -1
    target = rows[index] if 0 <= index < len(rows) else None
    if target is None or target.layout != "dense":
        report.add("SLM_ALIAS", f"tensor {row.name}", f"{row.alias_of} is no stored tensor")
        return
    other = at + 128 * (index - row.index)
    empty = (row.data_range, row.scales_range, row.row_stride, row.first_piece, row.piece_count)
    same = (
        row.dims == target.dims,
        row.dtype == target.dtype,
        report.raw(at + 48, 8) == report.raw(other + 48, 8),
        report.raw(at + 96, 16) == report.raw(other + 96, 16),
        empty == ((0, 0), (0, 0), 0, 0, 0),
        row.scale_encoding == "none",
    )
    if not all(same):
        report.add("SLM_ALIAS", f"tensor {row.name}", f"does not repeat {target.name}")


def _check_tied(
    report: Report, at: int, row: InspectedTensor, rows: tuple[InspectedTensor, ...]
) -> None:
    index = int(row.alias_of[1:]) if row.layout == "alias" and row.alias_of else -1
    target = rows[index].role if 0 <= index < len(rows) else ""
    tied = row.role == "lm_head" and target == "embedding"
    if bool(row.flags & 1) != tied:
        report.add(
            "SLM_FLAGS", at + 12, f"tied is {row.flags & 1} on {row.role} of {target or 'none'}"
        )
