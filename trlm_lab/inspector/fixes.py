"""The likely fix of every finding of the inspector, by its code."""

from __future__ import annotations

PACK_AGAIN = "fetch or pack the file again; whoever wrote it broke the format"

_CHANGED = "the bytes changed after packing: fetch the file again, or pack it again"
_NEWER = "read it with a version that knows this, or pack it again with this one"

FIXES = {
    "SLM1_VERSION": _NEWER,
    "SLM1_FLAGS": _NEWER,
    "SLM1_UNKNOWN_NUMBER": _NEWER,
    "SLM1_LENGTH": _CHANGED,
    "SLM1_CHECKSUM": _CHANGED,
    "SLM1_CHECKSUM_PROFILE": "ask the program that wrote it; here nobody can tell if bytes changed",
    "FORMAT": "name a whole SLM2 file; `trlm pack SOURCE --out FILE` makes one",
    "HEADER": _NEWER,
    "FLAGS": _NEWER,
    "NUMBER": _NEWER,
    "UNSUPPORTED": _NEWER,
    "LENGTH": _CHANGED,
    "HASH": _CHANGED,
    "PIECES": _CHANGED,
    "SHARD": _CHANGED,
    "NONFINITE": "repair the source weights, then pack again; no writer stores NaN or infinity",
    "CODES": "pack again with this version, whose quantizer never writes such a code",
    "CONFIG": "pack again from the snapshot, whose configuration is checked first",
    "TOKENIZER": "pack again from the snapshot, or compile the tokenizer again",
    "MODEL": "pack again from weights that belong to this configuration",
}
