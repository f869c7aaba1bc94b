"""Added tokens: found in the text before everything else, by the source's order of precedence.

Leftmost, then longest; first those that match the text as given, then, in what is left and after
the normalizer, those that match the normalized text. `single_word` discards a match beside a word
character (the search goes on behind it), `lstrip` and `rstrip` take the white space along.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from trlm_lab.text.coordinates import Span
from trlm_lab.text.tables import scalar_set

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


class Matcher:
    """Finds one group of added tokens, by the texts that they are looked for with."""

    def __init__(self, wanted: Iterable[tuple[str, AddedToken]]) -> None:
        self._by_text: dict[str, AddedToken] = {}
        for text, token in wanted:
            if text:
                self._by_text.setdefault(text, token)
        # Alternatives are tried in order, so that the longest of one place is the one found.
        longest = sorted(self._by_text, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest))) if longest else None

    def split(self, text: str, allowed: Allowed | None = None) -> list[Found]:
        """The whole text in pieces, each an added token's id or None with its scalars."""
        out: list[Found] = []
        done = 0
        for match in self._pattern.finditer(text) if self._pattern else ():
            token = self._by_text[match[0]]
            start, end = match.span()
            if allowed and not allowed(token, start, end):
                continue
            if token.single_word and _inside_word(text, start, end):
                continue
            if token.lstrip:
                start = max(_before_space(text, start), done)
            if token.rstrip:
                end = _behind_space(text, end)
            if done < start:
                out.append((None, (done, start)))
            out.append((token.id, (start, end)))
            done = end
        if done != len(text):
            out.append((None, (done, len(text))))
        return out


def matchers(
    tokens: Iterable[AddedToken], normalize: Callable[[str], str]
) -> tuple[Matcher, Matcher]:
    """For the given and for the normalized text; special tokens come first where texts agree."""
    order = sorted(tokens, key=lambda token: not token.special)
    given = Matcher((one.content, one) for one in order if not one.normalized)
    normalized = [one for one in order if one.normalized]
    return given, Matcher((normalize(one.content), one) for one in normalized)


def _inside_word(text: str, start: int, end: int) -> bool:
    word = scalar_set("added_word")
    before = start > 0 and text[start - 1] in word
    return before or (end < len(text) and text[end] in word)


def _before_space(text: str, at: int) -> int:
    space = scalar_set("added_space")
    while at > 0 and text[at - 1] in space:
        at -= 1
    return at


def _behind_space(text: str, at: int) -> int:
    space = scalar_set("added_space")
    while at < len(text) and text[at] in space:
        at += 1
    return at
