"""What decoding gives: the bytes, and a text of them in a named mode."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from trlm_lab.text.decoders import Decoder, Placed
from trlm_lab.text.scalar_sets import ScalarSet
from trlm_lab.text.text_sets import text_sets

MODES = ("raw", "visible", "diagnostic")


@dataclass(frozen=True)
class Decoded:
    """Exact bytes, and their text: what is no UTF-8 is U+FFFD as the source has it, or escaped."""

    data: bytes
    text: str


@dataclass(frozen=True)
class LeftOut:
    """Texts of tokens that a mode leaves out: not there at all, or in their place an empty text."""

    texts: frozenset[str]
    placed: bool

    @classmethod
    def of(cls, texts: frozenset[str], stages: Iterable[Decoder]) -> LeftOut:
        """As the decoders want it."""
        placed = any(isinstance(one, Placed) and one.keeps_places for one in stages)
        return cls(texts, placed)

    def shown(self, text: str) -> str | None:
        """What the decoders get of a token; None where it is not there."""
        if text not in self.texts:
            return text
        return "" if self.placed else None


def decoded(
    texts: list[str], stages: list[Decoder], *, clean: bool, hidden: ScalarSet | None = None
) -> Decoded:
    """Texts of tokens through the decoders; without decoder they stand with spaces between.

    With `hidden` the text shows what has no shape.
    """
    exact = _through(texts, stages, lossy=False, clean=clean)
    data = exact.encode("utf-8", "surrogateescape")
    if hidden is not None:
        return Decoded(data, escaped(data, hidden))
    return Decoded(data, _through(texts, stages, lossy=True, clean=clean))


def _through(texts: list[str], stages: list[Decoder], *, lossy: bool, clean: bool) -> str:
    if not stages:
        return " ".join(texts)
    for stage in stages:
        texts = stage.apply(texts, lossy=lossy, clean=clean)
    return "".join(texts)


def escaped(data: bytes, hidden: ScalarSet | None = None) -> str:
    r"""Bytes as text that shows all: \xHH for a stray byte, \u{H} for what has no shape.

    `hidden` has no shape; the source engine's own set where none is given.
    """
    hidden = text_sets().hidden if hidden is None else hidden
    out: list[str] = []
    for char in data.decode("utf-8", "surrogateescape"):
        code = ord(char)
        if 0xDC80 <= code < 0xDD00:
            out.append(f"\\x{code - 0xDC00:02x}")
        elif char == "\\":
            out.append("\\\\")
        elif char in hidden:
            out.append(f"\\u{{{code:x}}}")
        else:
            out.append(char)
    return "".join(out)
