"""Decoding as ids come in the runner page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from trlm_lab.backends.browser.problems import error_of
from trlm_lab.backends.text_refusals import require_words, text_error
from trlm_lab.errors import PatternStepsError, TextTooLongError
from trlm_lab.text import Decoded

#: Ask the page for a command with one request.
Ask = Callable[[str, dict[str, Any]], Any]
#: Ids of one list; each takes up to eight bytes in the message.
MOST_IDS = 1 << 20
_NOTHING = Decoded(b"", "")


class PageStream:
    """Ids in, bytes and text out, as the reference's stream gives them; every call is a message.

    The page keeps a stream from the first id to the flush.
    """

    def __init__(self, ask: Ask, mode: str) -> None:
        self._ask, self._mode = ask, mode
        self._number: int | None = None
        self._count = 0

    def push(self, *numbers: int) -> Decoded:
        """What is certain once these ids are known.

        Raises:
            TokenIdError: an id without token; nothing has changed, the stream goes on.
            PatternStepsError: a decoder's pattern; the stream is at its beginning again.
            TextTooLongError: more ids than go in one message.
        """
        require_words(numbers, self._count)
        if len(numbers) > MOST_IDS:
            raise TextTooLongError(got=len(numbers), unit="ids", limit=MOST_IDS)
        answer = self._asked({"runs": [list(numbers)]}, numbers)
        self._count += len(numbers)
        return _decoded(answer["given"][0])

    def flush(self) -> Decoded:
        """All that was held back; the next id begins a new stream."""
        last = self._last(end=True)
        self._count = 0
        return last

    @property
    def held(self) -> Decoded:
        """What is held back: what `flush` would give now."""
        return self._last(end=False)

    def _last(self, *, end: bool) -> Decoded:
        if self._number is None:
            return _NOTHING
        return _decoded(self._asked({"runs": [], "held": True, "end": end})["rest"])

    def _asked(self, request: dict[str, Any], numbers: Sequence[int] = ()) -> Any:
        answer = self._ask("streamed", {"stream": self._number, "mode": self._mode} | request)
        self._number = answer["stream"]
        if "problem" in answer:
            error = text_error(error_of(answer["problem"]), numbers, self._count)
            if isinstance(error, PatternStepsError):
                self._count = 0
            raise error
        return answer


def _decoded(row: dict[str, str]) -> Decoded:
    return Decoded(bytes.fromhex(row["bytes_hex"]), row["text"])
