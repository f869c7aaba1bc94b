"""What a weight costs in an artifact: bits of codes, with scales and residuals, with padding."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from trlm_lab.base.records import Inspection
from trlm_lab.base.records.inspection import InspectedTensor


def stored_bits(tensor: InspectedTensor) -> float:
    """Bits of data (row padding included) and scales, over the elements; 0 of an alias."""
    return 8 * _stored_bytes(tensor) / max(_elements(tensor), 1)


def effective_bits(found: Inspection) -> dict[str, Any]:
    """Bits a weight of everything that is stored, and of each storage form.

    A weight is an element of a dense tensor; an alias has none of its own, and a residual adds to
    the cost of its base's. `codes` are the data planes with the padding of their rows, `scales` the
    planes with scales and residuals too, `body` also the padding between planes, `file` all bytes.
    """
    dense = [t for t in found.tensors if t.layout == "dense"]
    weights = sum(map(_elements, dense))
    if not weights:
        return {}
    codes = sum(t.data_range[1] - t.data_range[0] for t in dense)
    stored = sum(map(_stored_bytes, found.tensors))
    header = {f.name: f.value for f in found.header}
    body = found.size - int(header.get("body_off", header.get("tensor_data_offset", 0)))
    sizes = {"codes": codes, "scales": stored, "body": body, "file": found.size}
    return {
        "weights": weights,
        "bits": {name: round(8 * size / weights, 4) for name, size in sizes.items()},
        "forms": _forms(found.tensors),
    }


def _forms(tensors: Iterable[InspectedTensor]) -> list[dict[str, Any]]:
    """Storage forms with tensors, weights, bytes, bits a weight (a residual: of its base)."""
    rows: dict[str, list[InspectedTensor]] = {}
    for tensor in tensors:
        if tensor.layout != "alias":
            rows.setdefault(_form(tensor), []).append(tensor)
    return [
        {
            "form": form,
            "tensors": len(group),
            "weights": 0 if form.startswith("residual") else sum(map(_elements, group)),
            "bytes": sum(map(_stored_bytes, group)),
            "bits": round(8 * sum(map(_stored_bytes, group)) / sum(map(_elements, group)), 4),
        }
        for form, group in rows.items()
    ]


def _form(tensor: InspectedTensor) -> str:
    if tensor.layout == "sparse_residual":
        return f"residual of {tensor.dtype}"
    scales = "" if tensor.scale_encoding == "none" else f", {tensor.scale_encoding}"
    return tensor.dtype + scales


def _elements(tensor: InspectedTensor) -> int:
    return math.prod(tensor.dims)


def _stored_bytes(tensor: InspectedTensor) -> int:
    (data, end), (scales, last) = tensor.data_range, tensor.scales_range
    return end - data + last - scales
