"""Decoding as ids come by `trlm_stream_*` (docs/abi.md), native and WebAssembly."""

from __future__ import annotations

import weakref

import numpy as np

from trlm_lab.backends.abi_host import Host, Scratch, last_error
from trlm_lab.backends.text_refusals import require_words, text_error
from trlm_lab.errors import PatternStepsError
from trlm_lab.text import Decoded


class AbiStream:
    """Ids in, bytes and text out, as the reference's stream gives them; closed by its tokenizer.

    One that nobody holds any more gives its memory back.
    """

    def __init__(self, host: Host, tokenizer: int, mode: int) -> None:
        self._host = host
        self._handle = host.call("trlm_stream_open", tokenizer, mode)
        if self._handle == 0:
            raise last_error(host)
        self._count = 0
        self._free = weakref.finalize(self, host.call, "trlm_stream_free", self._handle)
        self._free.atexit = False

    def close(self) -> None:
        """Give its memory back. May be called again."""
        self._handle = 0
        self._free()

    def push(self, *numbers: int) -> Decoded:
        """What is certain once these ids are known.

        Raises:
            TokenIdError: an id without token; nothing has changed, the stream goes on.
            PatternStepsError: a decoder's pattern; the stream is at its beginning again.
        """
        require_words(numbers, self._count)
        with Scratch(self._host, np.array(numbers, np.uint32)) as given:
            asked = (self._handle, given.address, len(numbers))
            status = self._host.call("trlm_stream_push", *asked)
        if status:
            error = text_error(last_error(self._host), numbers, self._count)
            if isinstance(error, PatternStepsError):
                self._count = 0
            raise error
        self._count += len(numbers)
        return self._given()

    def flush(self) -> Decoded:
        """All that was held back; the next id begins a new stream."""
        self._count = 0
        return self._asked("flush")

    @property
    def held(self) -> Decoded:
        """What is held back: what `flush` would give now."""
        return self._asked("held")

    def _asked(self, name: str) -> Decoded:
        if self._host.call(f"trlm_stream_{name}", self._handle):
            raise text_error(last_error(self._host))
        return self._given()

    def _given(self) -> Decoded:
        return Decoded(self._part(0), self._part(1).decode())

    def _part(self, number: int) -> bytes:
        address = self._host.call("trlm_stream_given_ptr", self._handle, number)
        length = self._host.call("trlm_stream_given_len", self._handle, number)
        return self._host.bytes_at(address, length).tobytes() if length else b""
