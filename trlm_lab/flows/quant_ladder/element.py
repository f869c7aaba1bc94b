"""One element at every rung: bytes, ratio, code, place in the file, weight, share of the sums."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from trlm_lab.base.bits import bits_hex
from trlm_lab.errors import LadderRowError
from trlm_lab.flows.quant_ladder.block import activations
from trlm_lab.flows.quant_ladder.climb import Ladder
from trlm_lab.flows.quant_ladder.model_use import multiplies
from trlm_lab.flows.quant_ladder.stored import WORDS
from trlm_lab.rungs import parameters, rounded, scale_values
from trlm_lab.rungs.storage import bit_positions

Array = NDArray[Any]
Row = dict[str, Any]


def element_rows(ladder: Ladder, column: int) -> list[Row]:
    """What each rung says of one column of a ladder of one row: rung, what, value.

    Raises:
        LadderRowError: no such column, or a ladder of more rows than one.
    """
    subject = ladder.subject
    if ladder.span[1] - ladder.span[0] != 1:
        raise LadderRowError(
            where="trlm ladder", axis="row of an element", got="left out", tensor=subject.name,
            count=subject.rows, last=subject.rows - 1,
        )  # fmt: skip
    subject.require_column(column)
    rows = [
        *_source(ladder, column),
        *_quantized(ladder, column),
        *_stored(ladder, column),
        *_used(ladder, column),
    ]
    return [{"rung": rung, "what": what, "value": value} for rung, what, value in rows]


def _kept(ladder: Ladder, name: str) -> Array:
    kept = ladder.rung(name).kept
    assert kept is not None
    return kept


def _number(value: Any) -> str:
    return repr(float(value))


def _float(value: Any) -> str:
    return f"{value!s} ({bits_hex(value)})"


def _source(ladder: Ladder, column: int) -> list[tuple[str, str, str]]:
    part = ladder.subject.part
    info = part.stored.info
    steps = ", ".join(step.kind for step in part.steps)
    if ladder.subject.stored.rotary:
        steps = "rotary permutation of rows"
    value = np.float32(_kept(ladder, "semantic")[0, column])
    return [
        ("source", "tensor", f"{info.name} of {part.stored.path.name}, {info.dtype} {info.shape}"),
        ("semantic", "steps", steps or "none"),
        ("semantic", "weight", _float(value)),
    ]


def _quantized(ladder: Ladder, column: int) -> list[tuple[str, str, str]]:
    storage = ladder.subject.stored.storage
    if storage.dense:
        word = int(_kept(ladder, "codes")[0, column])
        return [
            ("parameters", "scale", f"{storage.name} has none"),
            ("codes", "word", f"{word:0{storage.bits // 4}x}"),
        ]
    rows, group = _kept(ladder, "semantic"), column // storage.group
    words = _kept(ladder, "parameters")
    reach, scales = parameters(rows, storage), scale_values(words, storage.scales)
    made, word = rounded(rows, scales, storage), int(words[0, group])
    digits = 2 * np.dtype(WORDS[storage.scales]).itemsize
    nearest, code = int(made.nearest[0, column]), int(_kept(ladder, "codes")[0, column])
    last = min((group + 1) * storage.group, ladder.subject.cols) - 1
    return [
        ("parameters", "group", f"{group}: columns {group * storage.group} to {last}"),
        ("parameters", "largest magnitude", _number(reach.absmax[0, group])),
        ("parameters", "kept fraction", _number(reach.fraction[0, group])),
        (
            "parameters",
            "scale",
            f"{_number(scales[0, group])} ({storage.scales} {word:0{digits}x})",
        ),
        ("codes", "ratio, unrounded", _number(made.ratio[0, column])),
        ("codes", "nearest, ties to even", str(nearest)),
        ("codes", "saturated", "yes" if abs(nearest) > storage.q else "no"),
        ("codes", "code", str(code)),
    ]


def _stored(ladder: Ladder, column: int) -> list[tuple[str, str, str]]:
    stored, row = ladder.subject.stored, ladder.span[0]
    storage = stored.storage
    unit, place = divmod(column, storage.unit)
    bits = bit_positions(storage.bits, storage.order)[place]
    plane, at = _kept(ladder, "packed")[0], unit * storage.unit_bytes
    used = sorted({at + int(bit) // 8 for bit in bits})
    start = stored.data_at + row * storage.row_bytes(stored.cols)
    held = " ".join(f"{plane[b]:02x}" for b in used)
    where = ", ".join(str(start + b) for b in used)
    spots = ", ".join(f"{int(b) // 8}.{int(b) % 8}" for b in bits) if len(bits) < 16 else "all"
    weight = np.float32(_kept(ladder, "dequantized")[0, column])
    found = [
        ("packed", "bytes", held),
        ("packed", "at byte of the file", where),
        ("packed", "bits of its unit (byte.bit, from bit 0 up)", spots),
        ("unpacked", "code", str(int(_kept(ladder, "unpacked")[0, column]))),
        ("dequantized", "weight", _float(weight)),
    ]
    gap = float(weight) - float(_kept(ladder, "semantic")[0, column])
    found.append(("dequantized", "error", f"{gap!r}"))
    if storage.dense:
        return found
    group = column // storage.group
    scale = float(scale_values(_kept(ladder, "parameters"), storage.scales)[0, group])
    at_scale = stored.scales_at + (row * storage.groups(stored.cols) + group) * (
        np.dtype(WORDS[storage.scales]).itemsize
    )
    found.insert(2, ("packed", "its scale at byte", str(at_scale)))
    found.append(("dequantized", "error in steps", f"{gap / scale if scale else 0.0:.4f}"))
    return found


def _used(ladder: Ladder, column: int) -> list[tuple[str, str, str]]:
    subject, x = ladder.subject, activations(ladder.subject, ladder.upper)
    factor = np.float32(x[-1, column])
    weight = np.float32(_kept(ladder, "dequantized")[0, column])
    dot = _kept(ladder, "scalar_dot")[0]
    lanes = _kept(ladder, "kernel_dot")[0]
    rows = [
        ("scalar_dot", "meets" if multiplies(subject) else "meets (a probe)", _float(factor)),
        ("scalar_dot", "product", _float(np.float32(factor * weight))),
        ("scalar_dot", "sum of the row", _float(dot[-1])),
        ("kernel_dot", "sum in sixteen lanes", _float(lanes[1, -1])),
        ("kernel_dot", "its lane", str(column % 16)),
    ]
    operator = ladder.rung("operator")
    if operator.kept is not None and operator.kept.size:
        shown = operator.kept[0]
        own = shown if multiplies(subject) else shown[..., column % shown.shape[-1]]
        rows.append(("operator", "shows, last token", _float(np.float32(own.reshape(-1)[-1]))))
    for name in ("operator", "layer", "logits"):
        cost = ladder.rung(name).cost
        if cost:
            rows.append((name, "largest distance from the source's", f"{cost.largest!r}"))
    if not ladder.upper.refused:
        rows.append(("token", "chosen", str(int(_kept(ladder, "token")[0]))))
    return rows
