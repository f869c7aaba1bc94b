"""llama.cpp's search for special tokens: token by token, the longest first, each from the left.

So a long token is found even where a shorter one begins further left. Source of facts:
tokenizer_st_partition in src/llama-vocab.cpp of llama-cpp-python 0.3.36. Tokens of one length are
taken by id here; there their order is that of an unstable sort.
"""

from __future__ import annotations

from collections.abc import Iterable

from trlm_lab.text.added_tokens import AddedToken, Allowed, Found

_SPACE = " \t\n\v\f\r"


class Partition:
    """Finds the special tokens of one vocabulary."""

    def __init__(self, tokens: Iterable[AddedToken]) -> None:
        self._tokens = sorted(tokens, key=lambda token: -len(token.content.encode()))

    def split(self, text: str, allowed: Allowed | None = None) -> list[Found]:
        """The whole text in pieces, each a token's id or None with its scalars."""
        pieces: list[Found] = [(None, (0, len(text)))] if text else []
        for token in self._tokens:
            if token.content in text:
                pieces = [part for piece in pieces for part in _parts(text, token, piece, allowed)]
        return pieces

    def ambiguous(self) -> tuple[str, str] | None:
        """Two tokens of one length that can overlap, so that their order counts."""
        begins: dict[tuple[int, str], str] = {}
        for token in self._tokens:
            size = len(token.content.encode())
            for at in range(1, len(token.content)):
                begins.setdefault((size, token.content[:at]), token.content)
        for token in self._tokens:
            size = len(token.content.encode())
            for at in range(1, len(token.content)):
                other = begins.get((size, token.content[at:]))
                if other is not None and other != token.content:
                    return token.content, other
        return None


def _parts(text: str, token: AddedToken, piece: Found, allowed: Allowed | None) -> list[Found]:
    number, (start, end) = piece
    if number is not None:
        return [piece]
    out: list[Found] = []
    at = start
    while (match := text.find(token.content, at, end)) >= 0:
        behind = match + len(token.content)
        if allowed and not allowed(token, match, behind):
            at = match + 1
            continue
        left, right = match, behind
        while token.lstrip and left > start and text[left - 1] in _SPACE:
            left -= 1
        while token.rstrip and right < end and text[right] in _SPACE:
            right += 1
        if left > start:
            out.append((None, (start, left)))
        out.append((token.id, (left, right)))
        start = at = right
    if start < end:
        out.append((None, (start, end)))
    return out
