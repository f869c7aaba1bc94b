"""The four special ids of an SLM1 tokenizer."""

from __future__ import annotations

from typing import NamedTuple

VERSION = 1


class Specials(NamedTuple):
    """In the order of the header."""

    bos: int
    eos: int
    pad: int
    unk: int
