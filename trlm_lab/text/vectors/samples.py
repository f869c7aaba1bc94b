"""A text of the corpus, by its class and the bounds that hold for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from trlm_lab.text.utf8 import BOUNDS, Bounds


@dataclass(frozen=True)
class Sample:
    """`repeats` times `data` is the input of the text API; `insert` asks for the post-processor."""

    group: str
    data: bytes
    repeats: int = 1
    insert: bool = False
    bounds: Bounds = BOUNDS


def of_texts(group: str, texts: Iterable[str], *, insert: bool = False) -> Iterator[Sample]:
    """Samples of texts, each text once."""
    for text in dict.fromkeys(texts):
        yield Sample(group, text.encode(), insert=insert)
