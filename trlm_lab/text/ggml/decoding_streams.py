"""Decoding of GGUF tokenizers token by token."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from trlm_lab.text.streams import KEPT, REPLACED, Fragment, Waiting, Whole, scalars

#: A space here may begin what is tidied away, but not within it, and nothing before reaches it.
_NEVER_BEFORE = (" ", "'")


class PieceBytes(Whole):
    """Bytes of each token; scalars as soon as they are whole."""

    def __init__(self, bytes_of: Callable[[str], bytes], *, strip_first: bool, lossy: bool) -> None:
        super().__init__()
        self._bytes_of, self._strip = bytes_of, strip_first
        self._errors, self._bytes = REPLACED if lossy else KEPT, b""

    def one(self, text: str) -> Iterable[Fragment]:
        """What is decided; one space goes from the first token if the tokenizer put it there."""
        data = self._bytes_of(text)
        if self._strip:
            data, self._strip = data.removeprefix(b" "), False
        found, self._bytes = scalars(self._bytes + data, self._errors)
        return ((found, False),)

    def finish(self) -> Iterable[Fragment]:
        """The rest, which is no UTF-8."""
        return ((self._bytes.decode("utf-8", self._errors), True),)


class TidiedWords(Waiting):
    """Waits for the next space that nothing before it can take away."""

    def __init__(self, tidy: Callable[[str], str]) -> None:
        self._tidy, self._text = tidy, ""

    def push(self, text: str, ends: bool) -> Iterable[Fragment]:
        """Everything before the last such space."""
        text = self._text + text
        at = len(text) if ends else _last_cut(text)
        self._text = text[at:]
        return ((self._tidy(text[:at]), ends),)

    def finish(self) -> Iterable[Fragment]:
        """Nothing: the text has ended."""
        return ()


def _last_cut(text: str) -> int:
    at = text.rfind(" ")
    while at > 0 and text[at - 1] in _NEVER_BEFORE:
        at = text.rfind(" ", 0, at)
    return max(at, 0)
