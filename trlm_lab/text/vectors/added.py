"""Samples of added tokens: every one of them alone, and beside whatever may change the match."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from typing import Literal

from trlm_lab.text.vectors.samples import Sample, of_texts

#: Vocabularies have up to some thousand added tokens, most of them reserved and of one form.
MOST = 256
_FORMS: tuple[Literal["NFC", "NFD", "NFKC", "NFKD"], ...] = ("NFC", "NFD", "NFKC", "NFKD")
_WIDE = {code: code + 0xFEE0 for code in range(0x21, 0x7F)}


def added_samples(contents: Sequence[str]) -> Iterator[Sample]:
    """Alone and twice for every token; of more than `MOST` the rest for evenly spaced ones."""
    after = dict(zip(contents, [*contents[1:], *contents[:1]], strict=True))
    few = contents[:: -(-len(contents) // MOST)] if contents else []
    yield from of_texts("added_alone", contents)
    adjacent = (text for t in contents for text in (t + t, t + after[t], t + t + t))
    yield from of_texts("added_adjacent", adjacent)
    yield from of_texts("added_overlapping", (text for t in few for text in _overlapping(t)))
    yield from of_texts("added_inside_word", (text for t in few for text in _inside(t)))
    yield from of_texts("added_spaces", (text for t in few for text in _spaced(t)))
    yield from of_texts("added_denormalised", (text for t in few for text in _changed(t)))


def _overlapping(text: str) -> Iterator[str]:
    middle = len(text) // 2
    yield text[:-1] + text
    yield text + text[1:]
    yield text[:middle] + text + text[middle:]
    yield text[:middle] + text[:-1]


def _inside(text: str) -> Iterator[str]:
    yield f"ab{text}cd"
    yield f"\xe9{text}\xe9"
    yield f"1{text}2"
    yield f"_{text}."


def _spaced(text: str) -> Iterator[str]:
    yield f" {text} "
    yield f"a  {text}  b"
    yield f"\n{text}\t"
    yield f"a\xa0{text}\u3000b"
    yield f"a {text} {text} b"


def _changed(text: str) -> Iterator[str]:
    """Forms that are equivalent or look alike; those that change nothing are left out."""
    forms = [unicodedata.normalize(form, text) for form in _FORMS]
    forms += [text.lower(), text.upper(), text.translate(_WIDE)]
    forms += [f"{text}\u0301", f"{text[:1]}\u200d{text[1:]}"]
    return (form for form in forms if form != text)
