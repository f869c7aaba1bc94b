"""Tokenizers in a browser: the runner page loads a TOK2 block and answers about texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from trlm_lab.backends.abi_tokenizer import Ids, require_words, text_error
from trlm_lab.backends.browser.find import find_chromium
from trlm_lab.backends.browser.host import PageHost
from trlm_lab.backends.browser.problems import error_of
from trlm_lab.backends.browser.resources import ARTIFACT_PATH, Resource, resources
from trlm_lab.backends.wasm_module import read_module

#: Seconds without an answer after which the browser is given up.
IDLE_LIMIT_S = 300.0


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
        spans = [place for span in content for place in span]
        asked = {"texts": [{"hex": text.hex(), "content": spans}], "special": add_special_tokens}
        (row,) = self._answer("tokenize", asked)
        if "problem" in row:
            raise text_error(error_of(row["problem"]))
        return np.array(row["ids"], np.uint32), np.array(row["offsets"], np.uint32).reshape(-1, 2)

    def decode(self, ids: Sequence[int], mode: str = "raw") -> tuple[bytes, str]:
        """Bytes and text of ids.

        Raises:
            TokenIdError: an id without token.
        """
        require_words(ids)
        (row,) = self._answer("decode", {"lists": [list(ids)], "mode": mode})
        if "problem" in row:
            raise text_error(error_of(row["problem"]), ids)
        return bytes.fromhex(row["bytes_hex"]), row["text"]

    def _answer(self, name: str, *args: Any) -> Any:
        work = self.host.command(
            name, *args, on_progress=lambda *_: None, idle_limit_s=IDLE_LIMIT_S
        )
        answer = work.result()
        if "problem" in answer:
            raise error_of(answer["problem"])
        return answer["result"]
