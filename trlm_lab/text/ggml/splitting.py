"""llama.cpp's cutting of a text by patterns, on the text with one character for each class.

Every scalar beyond ASCII stands for its class there, so that no set of a pattern can name it; a
pattern without class runs on the scalars themselves. Each pattern cuts what the one before left.
Source of facts: unicode_regex_split in src/unicode.cpp of llama-cpp-python 0.3.36.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise

from trlm_lab.text.aligned import Aligned
from trlm_lab.text.coordinates import Span
from trlm_lab.text.ggml import tables
from trlm_lab.text.ggml.pre_names import DIGIT_GROUPS

VERTICAL_TAB, _OTHER = 0x0B, 0xD0
STANDS_FOR = {
    tables.NUMBER: 0xD1,
    tables.LETTER: 0xD2,
    tables.PUNCTUATION: 0xD3,
    tables.MARK: 0xD4,
    tables.SYMBOL: 0xD5,
}
#: The inside of a set, by property: what stands for it, and its members in ASCII.
_SETS = {
    "N": "\xd10-9",
    "L": "\xd2A-Za-z",
    "P": r"\xd3!-#%-*,-/:-;?-@\[-\]_\{\}",
    "M": "\xd4",
    "S": r"\xd5\$\+<->^`\|\~",
}
_PROPERTY = re.compile(r"\\p\{([NLPMS])[a-z]?\}")
_NUMBERS = re.compile("[\xd10-9]+")


def stands_for(flags: int) -> int:
    """The character in place of a scalar beyond ASCII with these flags."""
    return VERTICAL_TAB if flags & tables.SPACE else STANDS_FOR.get(flags & 0xFF, _OTHER)


class _Classes(dict[int, int]):
    """A character in place of every scalar beyond ASCII."""

    def __missing__(self, code: int) -> int:
        self[code] = self._of(code)
        return self[code]

    def _of(self, code: int) -> int:
        return code if code < 0x80 else stands_for(tables.flags()[code])


class _Spaces(dict[int, int]):
    """White space beyond ASCII as one character of it."""

    def __missing__(self, code: int) -> int:
        space = code > 0x7F and tables.flags()[code] & tables.SPACE
        self[code] = VERTICAL_TAB if space else code
        return self[code]


_CLASSES, _SPACES = _Classes(), _Spaces()


@lru_cache(maxsize=128)
def compiled(pattern: str) -> re.Pattern[str]:
    """A pattern of llama.cpp, over classes where it names any."""
    out: list[str] = []
    inside = False
    at = 0
    while at < len(pattern):
        found = _PROPERTY.match(pattern, at)
        if found:
            members = _SETS[found[1]]
            out.append(members if inside else f"[{members}]")
            at = found.end()
            continue
        char = pattern[at]
        if char == "\\":
            out.append(pattern[at : at + 2])
            at += 2
            continue
        inside = char == "[" or (inside and char != "]")
        out.append(char)
        at += 1
    return re.compile("".join(out), re.ASCII)


@dataclass(frozen=True)
class GgmlSplit:
    """A pre-tokenizer: the patterns in order."""

    patterns: tuple[str, ...]

    def split(self, piece: Aligned) -> list[Aligned]:
        """The pieces, none of them empty."""
        return [piece.part(start, end) for start, end in self.spans(piece.text)]

    def spans(self, text: str) -> list[Span]:
        """The whole text in spans of scalars."""
        spans = [(0, len(text))] if text else []
        classes, plain = text.translate(_CLASSES), text.translate(_SPACES)
        for pattern, on_classes in self._steps:
            if pattern is None:
                spans = [part for span in spans for part in _digit_groups(classes, span)]
            else:
                shown = classes if on_classes else plain
                spans = [part for span in spans for part in _cut(pattern, shown, span)]
        return spans

    @cached_property
    def _steps(self) -> list[tuple[re.Pattern[str] | None, bool]]:
        return [
            (None if source == DIGIT_GROUPS else compiled(source), r"\p{" in source)
            for source in self.patterns
        ]


def _cut(pattern: re.Pattern[str], text: str, span: Span) -> list[Span]:
    """Matches and what lies between them; nothing outside the span is seen."""
    start, end = span
    cuts = [start]
    for match in pattern.finditer(text, start, end):
        cuts += match.span()
    cuts.append(end)
    return [(a, b) for a, b in pairwise(cuts) if a < b]


def _digit_groups(classes: str, span: Span) -> list[Span]:
    """Numbers in threes from the right; what stands before a number stays with its first group."""
    start, end = span
    cuts = [start]
    for match in _NUMBERS.finditer(classes, start, end):
        size = match.end() - match.start()
        first = match.start() + (size % 3 or 3)
        cuts += range(first, match.end() + 1, 3)
    cuts.append(end)
    return [(a, b) for a, b in pairwise(cuts) if a < b]
