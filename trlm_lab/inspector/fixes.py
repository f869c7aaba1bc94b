"""The likely fix of every finding of the inspector, by its code."""

from __future__ import annotations

PACK_AGAIN = "fetch or pack the file again; whoever wrote it broke the format"

_CHANGED = "the bytes changed after packing: fetch the file again, or pack it again"
_NEWER = "read it with a version that knows this, or pack it again with this one"
_CODES = "pack again with this version, whose quantizer never writes such a thing"

FIXES = {
    "SLM1_VERSION": _NEWER,
    "SLM1_FLAGS": _NEWER,
    "SLM1_UNKNOWN_NUMBER": _NEWER,
    "SLM1_LENGTH": _CHANGED,
    "SLM1_CHECKSUM": _CHANGED,
    "SLM1_CHECKSUM_PROFILE": "ask the program that wrote it; here nobody can tell if bytes changed",
    "SLM_VERSION": f"{_NEWER}; `trlm pack SOURCE --out FILE` makes a file that can be read",
    "SLM_FLAGS": _NEWER,
    "SLM_UNKNOWN_NUMBER": _NEWER,
    "SLM_UNSUPPORTED": _NEWER,
    "SLM_LENGTH": _CHANGED,
    "SLM_HASH": _CHANGED,
    "SLM_PIECES": _CHANGED,
    "QUANT_NONFINITE": "repair the source weights, then pack again; no writer stores such values",
    "QUANT_CODE": _CODES,
    "QUANT_PADDING": _CODES,
    "QUANT_SCALE": _CODES,
    "QUANT_INDEX": _CODES,
    "SLM_CONFIG": "pack again from the snapshot, whose configuration is checked first",
    "TOKENIZER": "pack again from the snapshot, or compile the tokenizer again",
    "SLM_MODEL": "pack again from weights that belong to this configuration",
}
