"""Ids back to text as llama.cpp writes them: each token by its kind, then tidied if asked for.

Source of facts: token_to_piece and detokenize in src/llama-vocab.cpp of llama-cpp-python 0.3.36.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from trlm_lab.text.byte_chars import BYTES
from trlm_lab.text.ggml.decoding_streams import PieceBytes, TidiedWords
from trlm_lab.text.streams import Passed

_SPACE = "\u2581"
_SIGNS = re.compile(r" ([?!.,])")
_APOSTROPHE = re.compile(r" ' ")
_ENDING = re.compile(r" ('(?:[sm]|re|ve))")


@dataclass(frozen=True)
class Pieces:
    """Tokens by kind: as they are, as the byte they name, as nothing, or decoded.

    `visible` characters stand for bytes; otherwise U+2581 stands for the space. A special token
    that is left out is still the first one where it comes first.
    """

    keeps_places: ClassVar[bool] = True
    visible: bool
    plain: frozenset[str]
    byte: frozenset[str]
    silent: frozenset[str]
    strip_first: bool

    def apply(self, texts: list[str], *, lossy: bool, clean: bool) -> list[str]:
        """One text; one space goes from the first token if the tokenizer puts one there."""
        data = [self._bytes(text) for text in texts]
        if self.strip_first and data:
            data[0] = data[0].removeprefix(b" ")
        return [b"".join(data).decode("utf-8", "replace" if lossy else "surrogateescape")]

    def stream(self, *, lossy: bool, clean: bool) -> PieceBytes:
        """The same token by token."""
        return PieceBytes(self._bytes, strip_first=self.strip_first, lossy=lossy)

    def _bytes(self, text: str) -> bytes:
        if text in self.silent:
            return b""
        if text in self.byte:
            return bytes([int(text[3:5], 16)])
        if text in self.plain:
            return text.encode("utf-8", "surrogateescape")
        if not self.visible:
            return text.replace(_SPACE, " ").encode("utf-8", "surrogateescape")
        return b"".join([_visible_byte(char, text) for char in text])


def _visible_byte(char: str, text: str) -> bytes:
    if char in BYTES:
        return bytes([BYTES[char]])
    code = char.encode("utf-8", "surrogateescape").hex()
    return f"[UNK_BYTE_0x{code}{text}]".encode("utf-8", "surrogateescape")


@dataclass(frozen=True)
class Tidied:
    """White space before signs and endings left out, where text is cleaned at all."""

    def apply(self, texts: list[str], *, lossy: bool, clean: bool) -> list[str]:
        """The same texts, or tidied ones."""
        return [_tidy(text) for text in texts] if clean else texts

    def stream(self, *, lossy: bool, clean: bool) -> TidiedWords | Passed:
        """The same as the text grows."""
        return TidiedWords(_tidy) if clean else Passed()


def _tidy(text: str) -> str:
    for pattern, instead in ((_SIGNS, r"\1"), (_APOSTROPHE, "'"), (_ENDING, r"\1")):
        text = pattern.sub(instead, text)
    return text
