"""The normalizer of SentencePiece: rules, symbols kept as they are, white space, the dummy prefix.

Source of facts: Normalizer::Normalize in normalizer.cc of sentencepiece 0.2.3.
"""

from __future__ import annotations

from dataclasses import dataclass

from trlm_lab.text.sentencepiece.prefixes import Rules, Symbols

SPACE = "\u2581"


@dataclass(frozen=True)
class Normalized:
    """A normalized text.

    `origin[i]` is where in the given text the i-th scalar came from, `origin[len(text)]` where the
    rest begins (scalars). It has no entries where nothing is left of the text.
    """

    text: str
    origin: list[int]


@dataclass(frozen=True)
class Normalizer:
    """The four switches with rules and symbols; `suffix` puts the dummy space at the end."""

    rules: Rules
    symbols: Symbols
    add_dummy_prefix: bool
    remove_extra_whitespaces: bool
    escape_whitespaces: bool
    suffix: bool = False

    def apply(self, text: str) -> Normalized:
        """The normalized text."""
        start = self._behind_spaces(text) if self.remove_extra_whitespaces else 0
        if start == len(text):
            return Normalized("", [])
        space = SPACE if self.escape_whitespaces else " "
        prefixed = self.add_dummy_prefix and not self.suffix
        chars, origin = ([space], [start]) if prefixed else ([], [])
        self._write(text, start, space, chars, origin)
        end = len(text)
        while self.remove_extra_whitespaces and chars and chars[-1] == space:
            chars.pop()
            end = origin.pop()
        if self.add_dummy_prefix and self.suffix:
            chars.append(space)
            origin.append(end)
        return Normalized("".join(chars), [*origin, end])

    def _write(self, text: str, at: int, space: str, chars: list[str], origin: list[int]) -> None:
        after_space = self.remove_extra_whitespaces
        while at < len(text):
            length, instead = self._prefix(text, at)
            if after_space:
                instead = instead.lstrip(" ")
            if instead:
                chars += [space if char == " " else char for char in instead]
                origin += [at] * len(instead)
                after_space = self.remove_extra_whitespaces and instead.endswith(" ")
            at += length

    def _behind_spaces(self, text: str) -> int:
        at = 0
        while at < len(text):
            length, instead = self._prefix(text, at)
            if instead != " ":
                break
            at += length
        return at

    def _prefix(self, text: str, at: int) -> tuple[int, str]:
        """How many scalars are taken at a place, and what stands in their place."""
        length = self.symbols.length(text, at)
        return (length, text[at : at + length]) if length else self.rules.longest(text, at)
