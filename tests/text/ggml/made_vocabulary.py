"""Small GGUF vocabularies: bytes of the container, and one in which every cut of a text shows."""

import struct
from collections.abc import Mapping
from typing import Any

from trlm_lab.text.byte_chars import visible

_KINDS = {bool: 7, int: 4, float: 6, str: 8}
#: Characters whose pairs are all merged, so that a cut between any two changes what follows.
PAIRED = (
    " \t\r\n\v\x85\u3000abzABZst'\u00e9\u0301\u4e00\u3042\ud55c019\u0663$+.,!-/([{`|\u201c\u20ac"
)


def gguf_bytes(fields: Mapping[str, Any]) -> bytes:
    """A file without tensors; numbers are u32 and f32, in `token_type` i32, bytes u8."""
    out = [b"GGUF", struct.pack("<IQQ", 3, 0, len(fields))]
    for key, value in fields.items():
        out += [_text(key), _value(value, signed=key.endswith("token_type"))]
    data = b"".join(out)
    return data + bytes(-len(data) % 32)


def _text(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def _scalar(value: Any, signed: bool) -> bytes:
    if isinstance(value, str):
        return _text(value)
    form = "<?" if isinstance(value, bool) else "<f" if isinstance(value, float) else "<i"
    return struct.pack(form if signed else form.replace("i", "I"), value)


def _value(value: Any, signed: bool) -> bytes:
    if not isinstance(value, list | bytes):
        return struct.pack("<I", _KINDS[type(value)]) + _scalar(value, signed)
    if isinstance(value, bytes):
        return struct.pack("<IIQ", 9, 0, len(value)) + value
    kind = 5 if signed else _KINDS[type(value[0])]
    rows = b"".join(_scalar(one, signed) for one in value)
    return struct.pack("<IIQ", 9, kind, len(value)) + rows


def byte_level(pre: str, *, more: tuple[str, ...] = (), raw: bool = False) -> dict[str, Any]:
    """A byte-level BPE of all bytes and all pairs of some characters; `more` are control tokens."""
    chars = [chr(0x100 + n) for n in range(68)]
    singles = list(dict.fromkeys([*map(visible, PAIRED), *_latin(), *chars]))
    if raw:
        names = [f"<0x{byte:02X}>" for byte in range(256)]
        singles = list(dict.fromkeys([*names, *PAIRED.replace(" ", "\u2581")]))
    tokens = list(singles)
    merges: list[str] = []
    made = [s for s in singles if len(s) > 1 and not raw]
    for text in made:
        merges += [f"{text[:cut]} {text[cut]}" for cut in range(1, len(text))]
        tokens += [text[:cut] for cut in range(2, len(text))]
    paired = PAIRED.replace(" ", "\u2581") if raw else [visible(char) for char in PAIRED]
    for left in paired:
        for right in paired:
            merges.append(f"{left} {right}")
            tokens.append(left + right)
    tokens = list(dict.fromkeys([*tokens, *more]))
    return {
        "general.architecture": "llama",
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": pre,
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": [3 if token in more else 1 for token in tokens],
        "tokenizer.ggml.merges": list(dict.fromkeys(merges)),
    }


def _latin() -> list[str]:
    return [visible(chr(code)) for code in range(0x80)] + [
        chr(code) for code in [*range(0xA1, 0xAD), *range(0xAE, 0x100)]
    ]
