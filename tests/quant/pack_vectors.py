"""The golden pack vectors: `python -m tests.quant.pack_vectors` writes pack_vectors.json.

Rows are chosen so that every rule of the standard's list is met; the bytes come from the quantizer,
which tests hold against loops over exact fractions. The file is read by the runtime and by a
decoder in JavaScript, neither of which has seen the quantizer.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trlm_lab.quant import GROUPED, SCALES, block_format
from trlm_lab.quant.grouped import UNIT

FILE = Path(__file__).with_name("pack_vectors.json")
F32 = NDArray[np.float32]


def rows_of(q: int, group: int) -> dict[str, list[float]]:
    """Rows for codes up to q, whose scale is 1 where q is the largest magnitude."""
    top = float(q)
    ramp = [float(i * 7 % (2 * q + 1) - q) for i in range(UNIT)]
    return {
        "all zero": [0.0, -0.0] * 32,
        "constant": [0.75] * 64,
        "extrema": [top, -top, 1.0, -1.0],
        "halfway": [top, 0.5, 1.5, 2.5, 3.5, -0.5, -1.5, -2.5, -3.5],
        "next to halfway": [top, *np.nextafter(np.array([0.5, 1.5, 2.5], np.float32), 0).tolist(),
                            *np.nextafter(np.array([0.5, 1.5, 2.5], np.float32), 9).tolist()],
        "alternating": [top, -top] * 32,
        "every place": ramp,
        "every place, mirrored": [-x for x in reversed(ramp)],
        "scale rounded down, clamped": [top * (1 + 2.0**-11), -top * (1 + 2.0**-11), top],
        "scale raised": [2.0**-130, -(2.0**-131)],
        "smallest float32": [2.0**-149],
        "large": [60000.0 * top, -1.0],
        **{f"{cols} columns": (ramp * 4)[:cols] for cols in
           (1, 31, 32, 33, 63, 65, 127, 128, 129, group + 1)},
    }  # fmt: skip


def sound(name: str, encoding: str) -> list[dict[str, Any]]:
    form = block_format(name, encoding)
    cases = []
    for what, row in rows_of(GROUPED[name].q, GROUPED[name].group).items():
        x: F32 = np.array([row], np.float32)
        codes, scales = form.quantize(x)
        y = form.dequantize(memoryview(codes), memoryview(scales), 1, len(row))
        cases.append({
            "what": what, "cols": len(row), "x": x.tobytes().hex(), "codes": codes.hex(),
            "scales": scales.hex(), "y": y.tobytes().hex(),
        })  # fmt: skip
    return cases


def malformed(name: str, encoding: str) -> list[dict[str, Any]]:
    """Blocks that every strict reader refuses, each with the rule."""
    form = GROUPED[name]
    one = {"fp16": 0x3C00, "bf16": 0x3F80, "e8m0": 127}[encoding]
    words = {"fp16": (0x8000, 0xBC00, 1, 0x3FF, 0x7C00, 0x7E00),
             "bf16": (0x8000, 0xBF80, 1, 0x7F, 0x7F80, 0x7FC0),
             "e8m0": (255, 254)}[encoding]  # fmt: skip
    cases = []
    spoilt = [("lowest code", 2, -form.q - 1, one, "CODE"), ("padding", 40, 1, one, "PADDING"),
              ("scale 0 over a code", 2, 1, 0, "SCALE")]  # fmt: skip
    spoilt += [(f"scale word {word:#x}", 2, 0, word, "SCALE") for word in words]
    for what, place, code, word, rule in spoilt:
        codes = np.zeros((1, UNIT), np.int8)
        codes[0, place] = code
        stored = np.array([word], SCALES[encoding].dtype)
        cases.append({
            "what": what, "cols": 40, "codes": form.pack(codes).tobytes().hex(),
            "scales": stored.tobytes().hex(), "rule": rule,
        })  # fmt: skip
    return cases


def vectors() -> list[dict[str, Any]]:
    """Every format in every scale encoding."""
    return [
        {"format": name, "scales": encoding, "sound": sound(name, encoding),
         "malformed": malformed(name, encoding)}
        for name in GROUPED
        for encoding in SCALES
    ]  # fmt: skip


def text() -> str:
    """The file's content."""
    return json.dumps({"schema": "trlm.pack_vectors.v1", "vectors": vectors()}, indent=1) + "\n"


if __name__ == "__main__":
    FILE.write_text(text(), "utf-8")
