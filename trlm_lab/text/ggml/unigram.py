"""llama.cpp's Unigram model: the best path in float64, and its own normalizer before it.

Source of facts: llm_tokenizer_ugm and its session in src/llama-vocab.cpp (lines 898 to 1245) of
llama-cpp-python 0.3.36.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field, replace

from trlm_lab.text.aligned import Aligned
from trlm_lab.text.ggml.vocabulary import NORMAL, UNUSED, USER_DEFINED, Vocabulary
from trlm_lab.text.models import Part
from trlm_lab.text.sentencepiece.prefixes import Rules

SPACE = "\u2581"
_UNKNOWN_PENALTY = 10.0


@dataclass(frozen=True)
class GgmlNormalizer:
    """Rules of the table, then white space: merged, or kept with a space put in front.

    `prefixes` are all beginnings of user-defined tokens: what begins like one is left alone.
    """

    rules: Rules
    prefixes: frozenset[str]
    prefix_space: bool
    merge_spaces: bool

    def apply(self, piece: Aligned) -> Aligned:
        """The normalized piece; a space that was put there comes from the scalar behind it."""
        chars: list[str] = []
        places: list[int] = []
        at, within, prefixed = 0, False, False
        while at < len(piece.text):
            length, instead = self._prefix(piece.text, at)
            for char in instead:
                begins = char != " " and not within
                if (begins and (self.merge_spaces or (self.prefix_space and not prefixed))) or (
                    char == " " and not self.merge_spaces
                ):
                    prefixed = prefixed or begins
                    chars.append(SPACE)
                    places.append(at)
                within = char != " "
                if within:
                    chars.append(char)
                    places.append(at)
            at += length
        source, normal = piece.source, piece.normal
        return Aligned(
            "".join(chars), [source[i] for i in places], [normal[i] for i in places], piece.base
        )

    def _prefix(self, text: str, at: int) -> tuple[int, str]:
        length = 0
        while at + length < len(text) and text[at : at + length + 1] in self.prefixes:
            length += 1
        return (length, text[at : at + length]) if length else self.rules.longest(text, at)


@dataclass(frozen=True)
class GgmlUnigram:
    """Scores (float64) by token; a scalar without token costs ten below the lowest score."""

    ids: dict[str, int]
    scores: dict[str, float] = field(repr=False)
    lengths: dict[str, tuple[int, ...]] = field(repr=False)
    unknown: int
    unknown_score: float
    names: dict[int, str] = field(repr=False)

    @classmethod
    def of(cls, vocabulary: Vocabulary, unknown: int) -> GgmlUnigram:
        """Normal, user-defined and unused tokens; user-defined ones cost nothing."""
        rows = zip(vocabulary.tokens, vocabulary.scores, vocabulary.kinds, strict=True)
        usable = [(t, 0.0 if k == USER_DEFINED else s) for t, s, k in rows if k in _USABLE]
        kinds = zip(vocabulary.scores, vocabulary.kinds, strict=True)
        lowest = min((score for score, kind in kinds if kind == NORMAL), default=0.0)
        lengths: dict[str, set[int]] = {}
        for text, _ in usable:
            lengths.setdefault(text[0], set()).add(len(text))
        return cls(
            vocabulary.ids,
            dict(usable),
            {first: tuple(sorted(rows)) for first, rows in lengths.items()},
            unknown,
            array("f", [lowest - _UNKNOWN_PENALTY])[0],
            {number: text for text, number in vocabulary.ids.items()},
        )

    def text_of(self, number: int) -> str | None:
        """The token of an id."""
        return self.names.get(number)

    def without(self, numbers: frozenset[int]) -> GgmlUnigram:
        """No path goes through these ids."""
        scores = {t: s for t, s in self.scores.items() if self.ids[t] not in numbers}
        return replace(self, scores=scores)

    def tokenize(self, text: str) -> tuple[Part, ...]:
        """The tokens of one piece; neighbours that are unknown are one token."""
        out: list[Part] = []
        end = len(text)
        starts = self._starts(text)
        while end > 0:
            start, known = starts[end]
            if not known and out and out[-1].id == self.unknown:
                out[-1] = Part(self.unknown, text[start : out[-1].end], start, out[-1].end)
            else:
                number = self.ids[text[start:end]] if known else self.unknown
                out.append(Part(number, text[start:end], start, end))
            end = start
        return tuple(reversed(out))

    def _starts(self, text: str) -> list[tuple[int, bool]]:
        """Where the last token of the best way to each place starts, and whether it is known."""
        sums: list[float | None] = [0.0, *[None] * len(text)]
        starts = [(0, False)] * (len(text) + 1)
        for start, first in enumerate(text):
            here = sums[start] or 0.0
            offers = [
                (length, score, True)
                for length in self.lengths.get(first, ())
                if start + length <= len(text)
                and (score := self.scores.get(text[start : start + length])) is not None
            ]
            if not offers or offers[0][0] > 1:
                offers.append((1, self.unknown_score, False))
            for length, score, known in offers:
                before = sums[start + length]
                if before is None or here + score > before:
                    sums[start + length], starts[start + length] = here + score, (start, known)
        return starts


_USABLE = (NORMAL, USER_DEFINED, UNUSED)


def prefixes_of(texts: list[str]) -> frozenset[str]:
    """Every beginning of some texts."""
    return frozenset(text[:size] for text in texts for size in range(1, len(text) + 1))
