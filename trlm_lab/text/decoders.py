"""Decoders: texts of tokens become the text, stage by stage.

Bytes that are no UTF-8 stand as lone surrogates (Python's surrogateescape) between the stages, so
that none is lost; with `lossy` they become U+FFFD where the source puts it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from trlm_lab.text.byte_chars import joined
from trlm_lab.text.pattern import Pattern
from trlm_lab.text.splitting import parts

_CLEANED = (
    (" .", "."), (" ?", "?"), (" !", "!"), (" ,", ","), (" ' ", "'"), (" n't", "n't"),
    (" 'm", "'m"), (" do not", " don't"), (" 's", "'s"), (" 've", "'ve"), (" 're", "'re"),
)  # fmt: skip


class Decoder(Protocol):
    """One stage."""

    def apply(self, texts: list[str], *, lossy: bool, clean: bool) -> list[str]:
        """The texts after it; without `clean` nothing is tidied up."""


@runtime_checkable
class Placed(Protocol):
    """A decoder for which a token that is left out still has its place, as an empty text.

    To the others such a token is not there at all.
    """

    keeps_places: bool


def _cleaned(text: str) -> str:
    for before, after in _CLEANED:
        text = text.replace(before, after)
    return text


@dataclass(frozen=True)
class ByteLevel:
    """Visible characters back to bytes."""

    def apply(self, texts: list[str], *, lossy: bool, clean: bool) -> list[str]:
        """One text."""
        return [joined(texts).decode("utf-8", "replace" if lossy else "surrogateescape")]


@dataclass(frozen=True)
class ByteFallback:
    """Runs of tokens <0xHH> as the bytes that they name."""

    def apply(self, texts: list[str], *, lossy: bool, clean: bool) -> list[str]:
        """A run is one text if it is UTF-8; if not, each of its bytes is a text."""
        out: list[str] = []
        waiting = bytearray()
        for text in texts:
            byte = named_byte(text)
            if byte is not None:
                waiting.append(byte)
                continue
            out += byte_run(bytes(waiting), lossy=lossy)
            waiting.clear()
            out.append(text)
        return out + byte_run(bytes(waiting), lossy=lossy)


def named_byte(text: str) -> int | None:
    if len(text) != 6 or not (text.startswith("<0x") and text.endswith(">")):
        return None
    digits = text[3:5]
    hexadecimal = all(char in "0123456789abcdefABCDEF" for char in digits)
    return int(digits, 16) if hexadecimal else None


def byte_run(data: bytes, *, lossy: bool) -> list[str]:
    if not data:
        return []
    try:
        return [data.decode()]
    except UnicodeDecodeError:
        if lossy:
            return ["\N{REPLACEMENT CHARACTER}"] * len(data)
        return [data.decode("utf-8", "surrogateescape")]


@dataclass(frozen=True)
class WordPiece:
    """Words with spaces between; pieces with the prefix stick to what is before."""

    prefix: str
    cleanup: bool

    def apply(self, texts: list[str], *, lossy: bool, clean: bool) -> list[str]:
        """A text for each token."""
        rows = [
            text if index == 0
            else text[len(self.prefix) :] if text.startswith(self.prefix) else f" {text}"
            for index, text in enumerate(texts)
        ]  # fmt: skip
        return [_cleaned(row) for row in rows] if self.cleanup and clean else rows


@dataclass(frozen=True)
class Metaspace:
    """The visible character back to a space; dropped in the first token if it was put there."""

    replacement: str
    prepend_scheme: str

    def apply(self, texts: list[str], *, lossy: bool, clean: bool) -> list[str]:
        """A text for each token."""
        first = " " if self.prepend_scheme == "never" else ""
        return [
            text.replace(self.replacement, " " if index else first)
            for index, text in enumerate(texts)
        ]


@dataclass(frozen=True)
class Bpe:
    """The suffix that ends a word becomes a space, at the end nothing."""

    suffix: str

    def apply(self, texts: list[str], *, lossy: bool, clean: bool) -> list[str]:
        """A text for each token."""
        last = len(texts) - 1
        return [text.replace(self.suffix, "" if i == last else " ") for i, text in enumerate(texts)]


@dataclass(frozen=True)
class Ctc:
    """Repeated tokens once, padding out, the delimiter as a space."""

    pad: str
    delimiter: str
    cleanup: bool

    def apply(self, texts: list[str], *, lossy: bool, clean: bool) -> list[str]:
        """A text for each token that is left."""
        out: list[str] = []
        for index, text in enumerate(texts):
            if index and text == texts[index - 1]:
                continue
            row = text.replace(self.pad, "")
            if self.cleanup:
                # The delimiter is part of the alphabet; only the rest is tidying up.
                row = (_cleaned(row) if clean else row).replace(self.delimiter, " ")
            out.append(row)
        return [row for row in out if row]


@dataclass(frozen=True)
class Replace:
    """A content in place of every match."""

    pattern: Pattern
    content: str

    def apply(self, texts: list[str], *, lossy: bool, clean: bool) -> list[str]:
        """A text for each token."""
        return [self._one(text) for text in texts]

    def _one(self, text: str) -> str:
        rows = parts(self.pattern.spans(text), len(text))
        return "".join(self.content if match else text[a:b] for (a, b), match in rows)


@dataclass(frozen=True)
class Fuse:
    """All texts as one."""

    def apply(self, texts: list[str], *, lossy: bool, clean: bool) -> list[str]:
        """One text."""
        return ["".join(texts)]


@dataclass(frozen=True)
class Strip:
    """At most so many of one character off the ends of every text."""

    content: str
    start: int
    stop: int

    def apply(self, texts: list[str], *, lossy: bool, clean: bool) -> list[str]:
        """A text for each token."""
        return [self._one(text) for text in texts]

    def _one(self, text: str) -> str:
        start, end = 0, len(text)
        while start < min(self.start, end) and text[start] == self.content:
            start += 1
        least = max(start, len(text) - self.stop)
        while end > least and text[end - 1] == self.content:
            end -= 1
        return text[start:end]
