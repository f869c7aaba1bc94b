"""Added tokens: found in the text before everything else, by the source's order of precedence.

Leftmost, then longest; first those that match the text as given, then, in what is left and after
the normalizer, those that match the normalized text. `single_word` discards a match beside a word
character (the search goes on behind it), `lstrip` and `rstrip` take the white space along.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from trlm_lab.text.coordinates import Span
from trlm_lab.text.scalar_sets import ScalarSet
from trlm_lab.text.text_sets import TextSets

Found = tuple[int | None, Span]


@dataclass(frozen=True, slots=True)
class AddedToken:
    """One added token with its five flags."""

    id: int
    content: str
    single_word: bool
    lstrip: bool
    rstrip: bool
    normalized: bool
    special: bool


#: Whether a token may stand at scalars `start` to `end`; a forbidden match is passed over.
Allowed = Callable[[AddedToken, int, int], bool]


class Splitter(Protocol):
    """A way to find added tokens."""

    def split(self, text: str, allowed: Allowed | None = None) -> list[Found]:
        """The whole text in pieces, each an added token's id or None with its scalars."""


class Matcher:
    """Finds one group of added tokens, by the texts that they are looked for with."""

    def __init__(self, wanted: Iterable[tuple[str, AddedToken]], sets: TextSets) -> None:
        self._sets = sets
        self._by_text: dict[str, AddedToken] = {}
        for text, token in wanted:
            if text:
                self._by_text[text] = token
        lengths: dict[str, set[int]] = {}
        for text in self._by_text:
            lengths.setdefault(text[0], set()).add(len(text))
        #: By the first scalar, the longest first; thousands of tokens have few lengths.
        self._lengths = {first: sorted(rows, reverse=True) for first, rows in lengths.items()}
        firsts = "".join(map(re.escape, self._lengths))
        self._first = re.compile(f"[{firsts}]") if firsts else None

    def split(self, text: str, allowed: Allowed | None = None) -> list[Found]:
        """The whole text in pieces, each an added token's id or None with its scalars."""
        out: list[Found] = []
        done = 0
        for token, start, end in self._found(text):
            if allowed and not allowed(token, start, end):
                continue
            if token.single_word and _inside_word(text, start, end, self._sets.word):
                continue
            if token.lstrip:
                start = max(_before_space(text, start, self._sets.space), done)
            if token.rstrip:
                end = _behind_space(text, end, self._sets.space)
            if end <= start:  # the white space of the token before it took all of it
                continue
            if done < start:
                out.append((None, (done, start)))
            out.append((token.id, (start, end)))
            done = end
        if done != len(text):
            out.append((None, (done, len(text))))
        return out

    def _found(self, text: str) -> Iterator[tuple[AddedToken, int, int]]:
        """Matches from left to right, the longest of one place, none inside another."""
        at = self._first.search(text) if self._first else None
        while self._first and at:
            start = end = at.start()
            for length in self._lengths[text[start]]:
                token = self._by_text.get(text[start : start + length])
                if token and start + length <= len(text):
                    end = start + length
                    yield token, start, end
                    break
            at = self._first.search(text, max(end, start + 1))


def matchers(
    tokens: Iterable[AddedToken], forms: Iterable[str], sets: TextSets
) -> tuple[Matcher, Matcher]:
    """For the given and for the normalized text; `forms` are what the tokens are looked for with.

    No two tokens of one group have one form.
    """
    rows = list(zip(forms, tokens, strict=True))
    given = [row for row in rows if not row[1].normalized]
    normalized = [row for row in rows if row[1].normalized]
    return Matcher(given, sets), Matcher(normalized, sets)


def border_sets(
    tokens: Collection[AddedToken], sets: TextSets
) -> tuple[ScalarSet | None, ScalarSet | None]:
    """Word characters and white space, each where a flag of a token asks for them."""
    word = any(token.single_word for token in tokens)
    space = any(token.lstrip or token.rstrip for token in tokens)
    return sets.word if word else None, sets.space if space else None


def _inside_word(text: str, start: int, end: int, word: ScalarSet) -> bool:
    before = start > 0 and text[start - 1] in word
    return before or (end < len(text) and text[end] in word)


def _before_space(text: str, at: int, space: ScalarSet) -> int:
    while at > 0 and text[at - 1] in space:
        at -= 1
    return at


def _behind_space(text: str, at: int, space: ScalarSet) -> int:
    while at < len(text) and text[at] in space:
        at += 1
    return at
