"""Decoding token by token: bytes and text as soon as they are certain, never half a character."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from trlm_lab.errors import PatternStepsError
from trlm_lab.text.decoded import Decoded, LeftOut, escaped
from trlm_lab.text.decoder_streams import Chain
from trlm_lab.text.decoders import Decoder
from trlm_lab.text.scalar_sets import ScalarSet
from trlm_lab.text.streams import KEPT, scalars


class TokenStream(Protocol):
    """Ids in, bytes and text out, whoever decodes."""

    def push(self, *numbers: int) -> Decoded:
        """What is certain once these ids are known."""

    def flush(self) -> Decoded:
        """All that was held back; the next id begins a new stream."""

    @property
    def held(self) -> Decoded:
        """What is held back: what `flush` would give now."""


class StreamingDecoder:
    """Ids in, bytes and text out; what all calls give, joined, is what `decode` gives for all ids.

    Bytes come once the character that they belong to is whole, or once they cannot belong to one.
    The text follows the source to the letter: within a run of byte tokens it waits for the end of
    the run, since there one bad byte spoils all of them.
    """

    def __init__(
        self,
        text_of: Callable[[int, int], str],
        left_out: LeftOut,
        stages: Iterable[Decoder],
        *,
        clean: bool,
        hidden: ScalarSet | None,
    ) -> None:
        """Args:
        text_of: the text of an id at an index; raises TokenIdError.
        left_out: tokens that are left out.
        stages: the decoders.
        clean: whether decoders tidy up.
        hidden: scalars that have no shape; the text is escaped where they are given.
        """
        self._text_of, self._left_out, self._hidden = text_of, left_out, hidden
        stages = tuple(stages)
        self._exact = Chain.of(stages, lossy=False, clean=clean)
        self._shown = Chain.of(stages, lossy=True, clean=clean)
        self._fresh = self._exact.fork(), self._shown.fork()
        self._bytes = b""
        self._count = 0

    def push(self, *numbers: int) -> Decoded:
        """What is certain once these ids are known.

        Raises:
            TokenIdError: an id without token; nothing has changed, the stream goes on.
            PatternStepsError: a decoder's pattern; the stream is at its beginning again.
        """
        texts = [self._text_of(number, index) for index, number in enumerate(numbers, self._count)]
        self._count += len(texts)
        shown = [self._left_out.shown(text) for text in texts]
        try:
            found = [self._push(text) for text in shown if text is not None]
        except PatternStepsError:
            self._begin()
            raise
        return Decoded(b"".join([one.data for one in found]), "".join([one.text for one in found]))

    def _push(self, text: str) -> Decoded:
        data = self._bytes + self._exact.push(text).encode("utf-8", KEPT)
        whole, self._bytes = scalars(data, KEPT)
        return self._decoded(whole, self._shown.push(text))

    def flush(self) -> Decoded:
        """All that was held back; the next id begins a new stream."""
        try:
            return self.held
        finally:
            self._begin()

    def _begin(self) -> None:
        self._exact, self._shown = self._fresh[0].fork(), self._fresh[1].fork()
        self._bytes, self._count = b"", 0

    @property
    def held(self) -> Decoded:
        """What is held back: what `flush` would give now."""
        data = self._bytes + self._exact.fork().finish().encode("utf-8", KEPT)
        return self._decoded(data.decode("utf-8", KEPT), self._shown.fork().finish())

    def _decoded(self, whole: str, shown: str) -> Decoded:
        data = whole.encode("utf-8", KEPT)
        return Decoded(data, shown if self._hidden is None else escaped(data, self._hidden))
