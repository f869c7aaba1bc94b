"""Stages of a stream: what each can say of a text that may still grow, and what it waits for.

A text between two stages comes in fragments, the last of which is marked; what all fragments give,
joined, is what the stage gives for the whole texts.
"""

from __future__ import annotations

import codecs
import copy
from collections.abc import Iterable
from functools import partial
from typing import Protocol, Self

from trlm_lab.text.decoders import Decoder

#: A part of a text, and whether the text ends with it.
Fragment = tuple[str, bool]
KEPT, REPLACED = "surrogateescape", "replace"


class Waiting:
    """What a stage holds back: values that do not change, and lists of them."""

    def fork(self) -> Self:
        """The same state once more, to be run ahead."""
        other = copy.copy(self)
        vars(other).update({k: list(v) for k, v in vars(self).items() if isinstance(v, list)})
        return other


class Stream(Protocol):
    """One stage that is fed fragment by fragment."""

    def push(self, text: str, ends: bool) -> Iterable[Fragment]:
        """What follows from one more fragment."""

    def finish(self) -> Iterable[Fragment]:
        """What is left when no text follows; the last one has ended."""

    def fork(self) -> Self:
        """The same state once more."""


class Whole(Waiting):
    """Waits for the end of every text, and hands it on to `one`."""

    def __init__(self) -> None:
        self._parts: list[str] = []

    def push(self, text: str, ends: bool) -> Iterable[Fragment]:
        """Nothing before the end of a text."""
        if self._parts or not ends:
            self._parts.append(text)
            text = "".join(self._parts) if ends else ""
        if not ends:
            return ()
        self._parts = []
        return self.one(text)

    def one(self, text: str) -> Iterable[Fragment]:
        """What follows from one whole text."""
        raise NotImplementedError

    def finish(self) -> Iterable[Fragment]:
        """Nothing: no text is left open."""
        return ()


class Each(Whole):
    """A stage that looks at one text at a time, and knows only whether it is the first."""

    def __init__(self, stage: Decoder, *, lossy: bool, clean: bool) -> None:
        super().__init__()
        self._apply = partial(stage.apply, lossy=lossy, clean=clean)
        self._before: list[str] = []

    def one(self, text: str) -> Iterable[Fragment]:
        """Its own text."""
        found = self._apply([*self._before, text])[-1]
        self._before = [""]
        return ((found, True),)


class AtEnd(Whole):
    """A stage that has to see all texts."""

    def __init__(self, stage: Decoder, *, lossy: bool, clean: bool) -> None:
        super().__init__()
        self._apply = partial(stage.apply, lossy=lossy, clean=clean)
        self._texts: list[str] = []

    def one(self, text: str) -> Iterable[Fragment]:
        """Nothing yet."""
        self._texts.append(text)
        return ()

    def finish(self) -> Iterable[Fragment]:
        """Everything."""
        return [(text, True) for text in self._apply(self._texts)]


class Passed(Waiting):
    """Every fragment as it is."""

    def push(self, text: str, ends: bool) -> Iterable[Fragment]:
        """The fragment at once."""
        return ((text, ends),)

    def finish(self) -> Iterable[Fragment]:
        """Nothing."""
        return ()


def scalars(data: bytes, errors: str) -> tuple[str, bytes]:
    """What is decided of bytes that more may follow, and the rest: at most three bytes."""
    found, used = codecs.utf_8_decode(data, errors, False)
    return found, data[used:]
