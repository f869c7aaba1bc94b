"""What decoding gives: the bytes, and a text of them in a named mode."""

from __future__ import annotations

from dataclasses import dataclass

from trlm_lab.text.decoders import Decoder
from trlm_lab.text.tables import category

MODES = ("raw", "visible", "diagnostic")
_ESCAPED = ("Cc", "Cf", "Co", "Cn", "Zl", "Zp", "Zs")


@dataclass(frozen=True)
class Decoded:
    """Exact bytes, and their text: what is no UTF-8 is U+FFFD as the source has it, or escaped."""

    data: bytes
    text: str


def decoded(texts: list[str], stages: list[Decoder], *, clean: bool, escape: bool) -> Decoded:
    """Texts of tokens through the decoders; without decoder they stand with spaces between."""
    exact = _through(texts, stages, lossy=False, clean=clean)
    data = exact.encode("utf-8", "surrogateescape")
    if escape:
        return Decoded(data, escaped(data))
    return Decoded(data, _through(texts, stages, lossy=True, clean=clean))


def _through(texts: list[str], stages: list[Decoder], *, lossy: bool, clean: bool) -> str:
    if not stages:
        return " ".join(texts)
    for stage in stages:
        texts = stage.apply(texts, lossy=lossy, clean=clean)
    return "".join(texts)


def escaped(data: bytes) -> str:
    r"""Bytes as text that shows all: \xHH for a stray byte, \u{H} for what has no shape."""
    hidden = [category(name) for name in _ESCAPED]
    out: list[str] = []
    for char in data.decode("utf-8", "surrogateescape"):
        code = ord(char)
        if 0xDC80 <= code < 0xDD00:
            out.append(f"\\x{code - 0xDC00:02x}")
        elif char == "\\":
            out.append("\\\\")
        elif char != " " and any(char in one for one in hidden):
            out.append(f"\\u{{{code:x}}}")
        else:
            out.append(char)
    return "".join(out)
