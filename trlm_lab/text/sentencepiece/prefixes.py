"""What stands at the beginning of a text: a user-defined symbol, or the longest rule of the table.

Source of facts: PrefixMatcher and NormalizePrefix in normalizer.cc of sentencepiece 0.2.3.
"""

from __future__ import annotations

from collections.abc import Iterable

from trlm_lab.errors import TokenizerFieldError
from trlm_lab.text.charsmap import Charsmap, CharsmapError

#: The source looks at so many matches, the shortest first.
_SYMBOLS_SEEN, _RULES_SEEN = 64, 32


class Symbols:
    """User-defined symbols, the longest match first."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = frozenset(texts)
        lengths: dict[str, set[int]] = {}
        for text in self._texts:
            lengths.setdefault(text[0], set()).add(len(text))
        self._lengths = {first: sorted(rows) for first, rows in lengths.items()}

    def length(self, text: str, at: int) -> int:
        """Scalars of the symbol that begins at a place; 0 for none."""
        found = 0
        seen = 0
        for length in self._lengths.get(text[at], ()):
            if at + length <= len(text) and text[at : at + length] in self._texts:
                found, seen = length, seen + 1
                if seen == _SYMBOLS_SEEN:
                    break
        return found


class Rules:
    """The compiled table of characters."""

    def __init__(self, charsmap: Charsmap | None) -> None:
        self._charsmap = charsmap
        self._steps: dict[tuple[int, str], tuple[int, str | None]] = {}

    def longest(self, text: str, at: int) -> tuple[int, str]:
        """Scalars of the longest rule at a place and its text; without rule the scalar itself.

        Raises:
            TokenizerFieldError: a rule ends within a character.
        """
        table = self._charsmap
        found = (1, text[at])
        if table is None:
            return found
        place, seen = table.root, 0
        for index in range(at, len(text)):
            place, instead = self._step(table, place, text[index])
            if instead is not None:
                found, seen = (index + 1 - at, instead), seen + 1
            if place < 0 or seen == _RULES_SEEN:
                break
        return found

    def _step(self, table: Charsmap, place: int, char: str) -> tuple[int, str | None]:
        known = self._steps.get((place, char))
        if known is None:
            try:
                known = self._steps[place, char] = table.step(place, char)
            except CharsmapError as error:
                # The source would go on within the character; no table that it compiles does so.
                raise TokenizerFieldError(
                    where="precompiled_charsmap", detail=str(error)
                ) from error
        return known
