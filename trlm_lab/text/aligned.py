"""A text under change, each of whose scalars knows the scalar that it came from.

The source keeps a pair of byte offsets for every byte; since it moves them by whole scalars only,
one index a scalar says the same. An inserted scalar shares the origin of the one before it; at the
very start of a piece it has an empty origin, written -1 - place.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from trlm_lab.text.coordinates import Span

#: A scalar and its change: 1 inserted, 0 in place of the next one, -n also removes n after it.
Change = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Aligned:
    """A piece of text; `source[i]` is the original scalar of `text[i]`, `normal[i]` the normalized.

    `base` is where the piece begins in the original (shape of both sequences: one int a scalar).
    """

    text: str
    source: Sequence[int]
    normal: Sequence[int]
    base: int = 0

    @classmethod
    def whole(cls, text: str) -> Aligned:
        """An untouched text."""
        return cls(text, range(len(text)), range(len(text)))

    def part(self, start: int, end: int) -> Aligned:
        """The scalars `start` to `end`."""
        if (start, end) == (0, len(self.text)):
            return self
        return Aligned(
            self.text[start:end], self.source[start:end], self.normal[start:end], self.base
        )

    def rebased(self) -> Aligned:
        """The piece as one that begins where its first scalar came from."""
        return replace(self, base=self.source[0]) if self.text else self

    def as_normalized(self, start: int) -> Aligned:
        """The piece whose present text is the normalized text from scalar `start` on."""
        return replace(self, normal=range(start, start + len(self.text)))

    def transformed(self, changes: Iterable[Change], dropped: int = 0) -> Aligned:
        """Another text by `changes`, after `dropped` removed scalars at the beginning."""
        chars: list[str] = []
        source: list[int] = []
        normal: list[int] = []
        at = dropped
        for char, change in changes:
            chars.append(char)
            place = at - 1 if change > 0 else at
            source.append(self.source[place] if place >= 0 else -1 - self.base)
            normal.append(self.normal[place] if place >= 0 else -1)
            if change <= 0:
                at += 1 - change
        return Aligned("".join(chars), source, normal, self.base)

    def kept(self, places: Sequence[int]) -> Aligned:
        """Only the scalars at `places`, ascending."""
        if len(places) == len(self.text):
            return self
        return Aligned(
            "".join([self.text[i] for i in places]),
            [self.source[i] for i in places],
            [self.normal[i] for i in places],
            self.base,
        )

    def mapped(self, table: dict[int, str | int]) -> Aligned:
        """Every scalar in place of one scalar, by a table of `str.translate`."""
        text = self.text.translate(table)
        return self if text == self.text else replace(self, text=text)

    def replaced(self, spans: Iterable[Span], content: str) -> Aligned:
        """`content` in place of each span; its scalars come from the last scalar of the span."""
        chars: list[str] = []
        source: list[int] = []
        normal: list[int] = []
        done = 0
        for start, end in [*spans, (len(self.text), -1)]:
            chars.append(self.text[done:start])
            source.extend(self.source[done:start])
            normal.extend(self.normal[done:start])
            if end > start:
                chars.append(content)
                source.extend([self.source[end - 1]] * len(content))
                normal.extend([self.normal[end - 1]] * len(content))
                done = end
        return Aligned("".join(chars), source, normal, self.base)

    def prefixed(self, prefix: str) -> Aligned:
        """`prefix`, not empty, before a text that is not; it comes from the first scalar."""
        if not self.text:
            return self
        count = len(prefix)
        source = [self.source[0]] * count
        normal = [self.normal[0]] * count
        return Aligned(
            prefix + self.text, [*source, *self.source], [*normal, *self.normal], self.base
        )

    def origin(self, start: int, end: int) -> Span:
        """The original scalars of `text[start:end]`, which is not empty."""
        return _span(self.source[start], self.source[end - 1])

    def normal_span(self, start: int, end: int) -> Span:
        """The normalized scalars of `text[start:end]`, which is not empty."""
        return _span(self.normal[start], self.normal[end - 1])


def _span(first: int, last: int) -> Span:
    return (first if first >= 0 else -1 - first), (last + 1 if last >= 0 else -1 - last)
