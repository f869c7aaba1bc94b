"""Golden vectors of f16, bf16 and sparse residuals: `python -m tests.quant.stored_vectors`.

Like pack_vectors.json, for the forms that have no groups. The residuals are those of a tensor of
zeros, so that what a reader sees of a row is the residual alone.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trlm_lab.quant import block_format
from trlm_lab.quant.sparse import Sparse, decode_sparse, encode_sparse

FILE = Path(__file__).with_name("stored_vectors.json")
F32 = NDArray[np.float32]
COLS = 8
#: dtype: fraction bits, exponent of the smallest normal, largest finite value.
_FORMS = {"f16": (10, -14, 65504.0), "bf16": (7, -126, 3.3895313892515355e38)}


def float_rows(name: str) -> dict[str, list[float]]:
    """Rows of eight: ties to both sides, subnormals, the largest value, zeros of both signs."""
    bits, least, most = _FORMS[name]
    step = 2.0**-bits
    half = step / 2
    return {
        "zeros and ones": [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0],
        "ties": [1 + half, 1 + step + half, -(1 + half), -(1 + step + half), 2 - half,
                 4 + 4 * half, 4 + 4 * (step + half), -(2 - half)],
        "next to ties": np.nextafter(np.full(4, 1 + half, np.float32), np.float32(9)).tolist()
        + np.nextafter(np.full(4, 1 + step + half, np.float32), np.float32(0)).tolist(),
        "smallest normals and subnormals": [
            2.0**least, -(2.0**least), 2.0 ** (least - 1), 2.0 ** (least - bits),
            -(2.0 ** (least - bits)), 2.0 ** (least - bits - 1), 3 * 2.0 ** (least - bits - 1),
            2.0**-149],
        "largest": [most, -most, most, 1.0, -most, 0.25, most, -1.0],
    }  # fmt: skip


def floats() -> list[dict[str, Any]]:
    found = []
    for name in _FORMS:
        rows = float_rows(name)
        x: F32 = np.array(list(rows.values()), np.float32)
        data, _ = block_format(name).quantize(x)
        y = block_format(name).dequantize(memoryview(data), memoryview(b""), len(x), COLS)
        found.append({
            "format": name, "rows": list(rows), "cols": COLS, "x": x.tobytes().hex(),
            "data": data.hex(), "y": y.tobytes().hex(),
            "malformed": [{"what": what, "word": word} for what, word in _BAD_WORDS[name].items()],
        })  # fmt: skip
    return found


_BAD_WORDS = {
    "f16": {"infinity": 0x7C00, "-infinity": 0xFC00, "NaN": 0x7E00, "NaN of one bit": 0x7C01},
    "bf16": {"infinity": 0x7F80, "-infinity": 0xFF80, "NaN": 0x7FC0, "NaN of one bit": 0x7F81},
}


def residual() -> Sparse:
    """Five rows: two entries, none, a full row, first column, last column."""
    columns = [1, 7, *range(8), 0, 7]
    values = [0.5, -3.0, *(0.75 * 2.0**i for i in range(-4, 4)), -1e-3, 200.0]
    pointers = np.array([0, 2, 2, 10, 11, 12], np.int64)
    return Sparse(5, COLS, pointers, np.array(columns, np.int64), np.array(values, np.float32))


def residuals() -> list[dict[str, Any]]:
    found = []
    for name in ("f16", "q8_r128"):
        sparse = residual()
        data, scales = encode_sparse(sparse, name)
        shape = (sparse.rows, sparse.cols, sparse.nnz)
        y = decode_sparse(memoryview(data), memoryview(scales), shape, name, "vector").dense(0, 5)
        found.append({
            "values": name, "rows": 5, "cols": COLS, "nnz": sparse.nnz, "data": data.hex(),
            "scales": scales.hex(), "y": y.tobytes().hex(),
            "malformed": list(_malformed(name, data, scales)),
        })  # fmt: skip
    return found


def _malformed(name: str, data: bytes, scales: bytes) -> list[dict[str, Any]]:
    """Changed bytes, each with the rule that they break."""
    at = 4 * 6 + 2 * 12
    edits = {
        "pointers from 1": (0, b"\1", "INDEX"),
        "a pointer that descends": (8, b"\1", "INDEX"),
        "a pointer beyond the entries": (12, b"\x63", "INDEX"),
        "another last pointer": (20, b"\x0b", "INDEX"),
        "a column twice": (24, b"\7", "INDEX"),
        "columns that descend": (28, b"\5\0\4\0", "INDEX"),
        "a column beyond the last": (26, b"\x08", "INDEX"),
    }
    if name == "f16":
        edits |= {"infinity": (at, b"\0\x7c", "NONFINITE"), "NaN": (at + 2, b"\1\x7e", "NONFINITE")}
    else:
        edits["the code -128"] = (at, b"\x80", "CODE")
    found = []
    for what, (place, new, rule) in edits.items():
        bad = data[:place] + new + data[place + len(new) :]
        found.append({"what": what, "data": bad.hex(), "scales": scales.hex(), "rule": rule})
    if name == "q8_r128":
        words = {"a negative scale": b"\0\xbc", "a subnormal scale": b"\1\0",
                 "an infinite scale": b"\0\x7c", "scale 0 over a code": b"\0\0"}  # fmt: skip
        found += [
            {"what": what, "data": data.hex(), "scales": (word + scales[2:]).hex(), "rule": "SCALE"}
            for what, word in words.items()
        ]
    return found


def text() -> str:
    """The file's content."""
    content = {"schema": "trlm.stored_vectors.v1", "floats": floats(), "residuals": residuals()}
    return json.dumps(content, indent=1) + "\n"


if __name__ == "__main__":
    FILE.write_text(text(), "utf-8")
