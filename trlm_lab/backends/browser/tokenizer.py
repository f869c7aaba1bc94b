"""Tokenizers in a browser: the runner page loads a TOK2 block and answers about texts."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any

import numpy as np

from trlm_lab.backends.abi_tokenizer import Ids
from trlm_lab.backends.abi_trace import Trace
from trlm_lab.backends.browser.find import find_chromium
from trlm_lab.backends.browser.frames import Assembler, digest_from_row
from trlm_lab.backends.browser.host import PageHost
from trlm_lab.backends.browser.problems import error_of
from trlm_lab.backends.browser.resources import ARTIFACT_PATH, Resource, resources
from trlm_lab.backends.browser.token_stream import MOST_IDS, PageStream
from trlm_lab.backends.text_refusals import require_words, text_error
from trlm_lab.backends.wasm_module import read_module
from trlm_lab.errors import RuntimeRefusedError, TextTooLongError
from trlm_lab.text import Encoding

Answer = Future[dict[str, Any]]

#: Seconds without an answer after which the browser is given up.
IDLE_LIMIT_S = 300.0
#: A debugger's message ends at 100 MB, which kills the browser; ids take many times their text.
MOST_IN_A_MESSAGE = 1 << 20


class ChromiumTokenizer:
    """One TOK2 block in one browser; close it, or use it as a context manager.

    Raises:
        InfrastructureError: no browser, no module, or they fail.
        RuntimeRefusedError: the block breaks a rule; `where` is the byte.
    """

    def __init__(self, block: bytes | memoryview) -> None:
        read_module()
        served = Resource("application/octet-stream", body=bytes(block))
        # It closes itself when the process ends, if nobody did before.
        self.host = PageHost(find_chromium(), resources() | {ARTIFACT_PATH: served})
        try:
            self._answer("load", {"url": ARTIFACT_PATH, "name": "tokenizer.tok2"}, {})
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> ChromiumTokenizer:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """End the browser. May be called again."""
        self.host.close()

    def encode(
        self,
        text: bytes,
        *,
        content: Sequence[tuple[int, int]] = (),
        add_special_tokens: bool = False,
    ) -> tuple[Ids, Ids]:
        """Ids, shape (N,), and offsets in bytes, shape (N, 2); `content` are spans of bytes.

        Raises:
            Utf8Error: ill-formed; the first invalid byte is named.
            TextTooLongError: beyond the bound of one call.
            UnknownTokenMissingError: the model has nothing for a part of the text.
        """
        about = {"content": [place for span in content for place in span]}
        if len(text) > MOST_IN_A_MESSAGE:
            return self._encode_served(text, about | {"special": add_special_tokens})
        asked = {"texts": [about | {"hex": text.hex()}], "special": add_special_tokens}
        (row,) = self._answer("tokenize", asked)
        if "problem" in row:
            raise text_error(error_of(row["problem"]))
        return np.array(row["ids"], np.uint32), np.array(row["offsets"], np.uint32).reshape(-1, 2)

    def trace(
        self,
        text: bytes,
        *,
        content: Sequence[tuple[int, int]] = (),
        add_special_tokens: bool = False,
    ) -> Encoding:
        """The same with every stage, as the reference has it.

        Raises:
            As `encode`; TextTooLongError, BrowserPageError: what is longer than a message.
        """
        if len(text) > MOST_IN_A_MESSAGE:
            raise TextTooLongError(got=len(text), unit="bytes", limit=MOST_IN_A_MESSAGE)
        about = {"content": [place for span in content for place in span]}
        row = self._answer("traced", about | {"hex": text.hex(), "special": add_special_tokens})
        if "problem" in row:
            raise text_error(error_of(row["problem"]))
        ids = np.array(row["ids"], np.uint32)
        offsets = np.array(row["offsets"], np.uint32).reshape(-1, 2)
        return Trace(text, ids, offsets, [bytes.fromhex(part) for part in row["parts"]]).encoding()

    def stream(self, mode: str = "raw") -> PageStream:
        """Decoding as ids come; it ends with this tokenizer."""
        return PageStream(self._answer, mode)

    def _encode_served(self, text: bytes, about: dict[str, Any]) -> tuple[Ids, Ids]:
        """A long text: it is served as a file, ids and offsets come back as frames."""
        frames = Assembler()
        with self.host.giving(text) as url, self.host.listening() as (path, channel):
            asked = about | {"url": url, "channel": path}
            # While frames come, their consumer watches the clock.
            work = self._start("tokenizeServed", asked, idle_limit_s=None)
            work.add_done_callback(channel.end_with)
            found = {
                row.name: row.values
                for frame in channel.frames(IDLE_LIMIT_S)
                for row in frames.feed(frame)
            }
        try:
            rows = _result(work)["arrays"]
        except RuntimeRefusedError as error:
            raise text_error(error) from error
        frames.finish([digest_from_row(row) for row in rows])
        ids, offsets = (found.get(name, np.empty(0, np.int64)) for name in ("ids", "offsets"))
        return ids.astype(np.uint32), offsets.astype(np.uint32).reshape(-1, 2)

    def decode(self, ids: Sequence[int], mode: str = "raw") -> tuple[bytes, str]:
        """Bytes and text of ids.

        Raises:
            TokenIdError: an id without token.
            TextTooLongError: more ids than go in one message.
        """
        require_words(ids)
        if len(ids) > MOST_IDS:
            raise TextTooLongError(got=len(ids), unit="ids", limit=MOST_IDS)
        (row,) = self._answer("decode", {"lists": [list(ids)], "mode": mode})
        if "problem" in row:
            raise text_error(error_of(row["problem"]), ids)
        return bytes.fromhex(row["bytes_hex"]), row["text"]

    def _answer(self, name: str, *args: Any) -> Any:
        return _result(self._start(name, *args, idle_limit_s=IDLE_LIMIT_S))

    def _start(self, name: str, *args: Any, idle_limit_s: float | None) -> Answer:
        return self.host.command(
            name, *args, on_progress=lambda *_: None, idle_limit_s=idle_limit_s
        )


def _result(work: Answer) -> Any:
    answer = work.result()
    if "problem" in answer:
        raise error_of(answer["problem"])
    return answer["result"]
