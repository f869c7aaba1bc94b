"""Every decoder as a stage of a stream, and the chain of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol, runtime_checkable

from trlm_lab.text import decoders
from trlm_lab.text.byte_chars import joined
from trlm_lab.text.decoders import Decoder, named_byte
from trlm_lab.text.pattern_nodes import Literal
from trlm_lab.text.streams import (
    KEPT,
    REPLACED,
    AtEnd,
    Each,
    Fragment,
    Stream,
    Waiting,
    Whole,
    scalars,
)


class Spaced(Whole):
    """No decoder: spaces between the texts."""

    def __init__(self) -> None:
        super().__init__()
        self._between = ""

    def one(self, text: str) -> Iterable[Fragment]:
        """With a space before all but the first."""
        found, self._between = self._between + text, " "
        return ((found, True),)


class ByteLevel(Whole):
    """Bytes as soon as they make a scalar, or cannot make one."""

    def __init__(self, *, errors: str) -> None:
        super().__init__()
        self._errors, self._bytes = errors, b""

    def one(self, text: str) -> Iterable[Fragment]:
        """The scalars that are whole."""
        found, self._bytes = scalars(self._bytes + joined([text]), self._errors)
        return ((found, False),)

    def finish(self) -> Iterable[Fragment]:
        """The rest, which is no UTF-8."""
        return ((self._bytes.decode("utf-8", self._errors), True),)


class ByteRuns(Whole):
    """Runs of byte tokens with every byte kept: scalars as soon as they are whole."""

    def __init__(self) -> None:
        super().__init__()
        self._open, self._bytes = False, b""

    def one(self, text: str) -> Iterable[Fragment]:
        """A byte goes on with the run, anything else ends it."""
        byte = named_byte(text)
        if byte is None:
            return [*self.finish(), (text, True)]
        self._open = True
        found, self._bytes = scalars(self._bytes + bytes([byte]), KEPT)
        return ((found, False),)

    def finish(self) -> Iterable[Fragment]:
        """The end of a run, if there is one."""
        was_open, data = self._open, self._bytes
        self._open, self._bytes = False, b""
        return ((data.decode("utf-8", KEPT), True),) if was_open else ()


class LossyByteRuns(Whole):
    """Runs of byte tokens as the source shows them: one bad byte spoils the whole run."""

    def __init__(self) -> None:
        super().__init__()
        self._run: list[int] = []

    def one(self, text: str) -> Iterable[Fragment]:
        """Nothing before the end of a run."""
        byte = named_byte(text)
        if byte is None:
            return [*self.finish(), (text, True)]
        self._run.append(byte)
        return ()

    def finish(self) -> Iterable[Fragment]:
        """The run, if there is one."""
        data, self._run = bytes(self._run), []
        return [(text, True) for text in decoders.byte_run(data, lossy=True)]


class Suffixed(Whole):
    """A suffix is a space, but not in the last text: each waits for the next one."""

    def __init__(self, suffix: str) -> None:
        super().__init__()
        self._suffix = suffix
        self._last: str | None = None

    def one(self, text: str) -> Iterable[Fragment]:
        """The text before this one."""
        before, self._last = self._last, text
        return () if before is None else ((before.replace(self._suffix, " "), True),)

    def finish(self) -> Iterable[Fragment]:
        """The last text."""
        return () if self._last is None else ((self._last.replace(self._suffix, ""), True),)


class Unrepeated(Whole):
    """A text that repeats the one before it is left out."""

    def __init__(self, stage: decoders.Ctc, *, clean: bool) -> None:
        super().__init__()
        self._stage, self._clean = stage, clean
        self._last: str | None = None

    def one(self, text: str) -> Iterable[Fragment]:
        """The text if it is another one and anything is left of it."""
        before, self._last = self._last, text
        found = [] if text == before else self._stage.apply([text], lossy=False, clean=self._clean)
        return [(one, True) for one in found]


class Metaspace(Waiting):
    """The visible character is a space, whatever surrounds it."""

    def __init__(self, stage: decoders.Metaspace) -> None:
        self._replacement = stage.replacement
        self._space = " " if stage.prepend_scheme == "never" else ""

    def push(self, text: str, ends: bool) -> Iterable[Fragment]:
        """The fragment at once."""
        found = text.replace(self._replacement, self._space)
        if ends:
            self._space = " "
        return ((found, ends),)

    def finish(self) -> Iterable[Fragment]:
        """Nothing."""
        return ()


class Fuse(Waiting):
    """All texts are one, which ends when nothing follows."""

    def push(self, text: str, ends: bool) -> Iterable[Fragment]:
        """The fragment at once."""
        return ((text, False),)

    def finish(self) -> Iterable[Fragment]:
        """The end."""
        return (("", True),)


class Strip(Waiting):
    """The beginning goes at once; of a possible end so many characters wait as could go."""

    def __init__(self, stage: decoders.Strip) -> None:
        self._stage = stage
        self._left, self._held = stage.start, 0

    def push(self, text: str, ends: bool) -> Iterable[Fragment]:
        """What can be at neither end."""
        content = self._stage.content
        kept = text.lstrip(content)
        going = min(self._left, len(text) - len(kept))
        self._left = self._left - going if not kept else 0
        text = content * self._held + text[going:]
        self._held = min(self._stage.stop, len(text) - len(text.rstrip(content)))
        found = text[: len(text) - self._held]
        if ends:
            self._left, self._held = self._stage.start, 0
        return ((found, ends),)

    def finish(self) -> Iterable[Fragment]:
        """Nothing."""
        return ()


class LiteralReplace(Waiting):
    """A literal text replaced; the beginning of one waits."""

    def __init__(self, wanted: str, content: str) -> None:
        self._wanted, self._content, self._tail = wanted, content, ""

    def push(self, text: str, ends: bool) -> Iterable[Fragment]:
        """Everything up to what may be the beginning of a match."""
        *done, rest = (self._tail + text).split(self._wanted)
        longest = 0 if ends else min(len(rest), len(self._wanted) - 1)
        held = next((n for n in range(longest, 0, -1) if self._wanted.startswith(rest[-n:])), 0)
        self._tail = rest[len(rest) - held :]
        return ((self._content.join([*done, rest[: len(rest) - held]]), ends),)

    def finish(self) -> Iterable[Fragment]:
        """Nothing."""
        return ()


def _replace(stage: decoders.Replace, lossy: bool, clean: bool) -> Stream:
    if isinstance(stage.pattern.root, Literal):
        return LiteralReplace(stage.pattern.root.text, stage.content)
    return Each(stage, lossy=lossy, clean=clean)


_STREAMS: dict[type, Callable[..., Stream]] = {
    decoders.ByteLevel: lambda one, lossy, clean: ByteLevel(errors=REPLACED if lossy else KEPT),
    decoders.ByteFallback: lambda one, lossy, clean: LossyByteRuns() if lossy else ByteRuns(),
    decoders.WordPiece: lambda one, lossy, clean: Each(one, lossy=lossy, clean=clean),
    decoders.Metaspace: lambda one, lossy, clean: Metaspace(one),
    decoders.Bpe: lambda one, lossy, clean: Suffixed(one.suffix),
    decoders.Ctc: lambda one, lossy, clean: Unrepeated(one, clean=clean),
    decoders.Replace: _replace,
    decoders.Fuse: lambda one, lossy, clean: Fuse(),
    decoders.Strip: lambda one, lossy, clean: Strip(one),
}


@runtime_checkable
class Streamed(Protocol):
    """A decoder that brings its own stream; None where it has to see all texts."""

    def stream(self, *, lossy: bool, clean: bool) -> Stream | None:
        """The stream."""


def stream_of(stage: Decoder, *, lossy: bool, clean: bool) -> Stream:
    """The stream of one decoder; one that nobody brings waits for all texts."""
    make, found = _STREAMS.get(type(stage)), None
    if make:
        found = make(stage, lossy, clean)
    elif isinstance(stage, Streamed):
        found = stage.stream(lossy=lossy, clean=clean)
    return found or AtEnd(stage, lossy=lossy, clean=clean)


class Chain:
    """Decoders after one another, or spaces where there is none."""

    def __init__(self, stages: list[Stream]) -> None:
        self._stages = stages

    @classmethod
    def of(cls, stages: Iterable[Decoder], *, lossy: bool, clean: bool) -> Chain:
        """For decoders."""
        return cls([stream_of(one, lossy=lossy, clean=clean) for one in stages] or [Spaced()])

    def fork(self) -> Chain:
        """The same state once more."""
        return Chain([stage.fork() for stage in self._stages])

    def push(self, text: str) -> str:
        """What follows from the text of one more token."""
        fragments: Iterable[Fragment] = ((text, True),)
        for stage in self._stages:
            fragments = [new for one in fragments for new in stage.push(*one)]
        return "".join([text for text, _ in fragments])

    def finish(self) -> str:
        """What is left."""
        fragments: list[Fragment] = []
        for stage in self._stages:
            fragments = [new for one in fragments for new in stage.push(*one)]
            fragments += stage.finish()
        return "".join([text for text, _ in fragments])
