"""The tokenizer of the Rust runtime, native and in WebAssembly, as a tokenizer engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from trlm_lab.backends.abi_tokenizer import AbiTokenizer, native_tokenizer, wasmtime_tokenizer
from trlm_lab.backends.browser.tokenizer import ChromiumTokenizer
from trlm_lab.base import strict_json
from trlm_lab.flows.compiled_tokenizer import (
    read_block,
    read_gguf_file,
    read_model,
    tokenizer_block,
)
from trlm_lab.flows.tokenizer_requests import (
    SMALL,
    Request,
    Row,
    TokenizerFile,
    encoding_row,
    token_row,
)
from trlm_lab.text import TokenStream, read_tokenizer
from trlm_lab.text.coordinates import Coordinates, Span
from trlm_lab.text.tok2 import MAGIC, write_tok2
from trlm_lab.text.tok2.layout import Header
from trlm_lab.text.tok2.numbers import NOTES
from trlm_lab.text.utf8 import checked

Opener = Callable[[bytes | memoryview], AbiTokenizer | ChromiumTokenizer]


class RuntimeTokenizer:
    """A TOK2 block, BTOK or BPE1 in the runtime; a file of another kind is compiled first."""

    def __init__(self, file: TokenizerFile, opener: Opener) -> None:
        given = runtime_bytes(file)
        self._tokenizer = opener(given)
        flags = 0 if file.kind in SMALL else Header.unpack(given).flags
        self.notes: Sequence[str] = [
            f"{note} is declared and switched off"
            for bit, note in enumerate(NOTES)
            if flags >> bit & 1
        ]

    def tokenize(self, request: Request) -> Row:
        """Every stage is there on request."""
        text = checked(request.text)
        place = Coordinates(text)
        content = [place.utf8(span) for span in _apart(request.content)]
        return self._row(text.encode(), content, request.add_special_tokens, request.trace)

    def tokenize_utf8(self, data: bytes, *, add_special_tokens: bool, trace: bool = False) -> Row:
        """The same of bytes that nothing here has looked at."""
        return self._row(data, (), add_special_tokens, trace)

    def _row(
        self, data: bytes, content: Sequence[Span], add_special_tokens: bool, trace: bool
    ) -> Row:
        asked: dict[str, Any] = {"content": content, "add_special_tokens": add_special_tokens}
        if trace:
            return encoding_row(self._tokenizer.trace(data, **asked), trace=True)
        ids, offsets = self._tokenizer.encode(data, **asked)
        return token_row(ids.tolist(), [(start, end) for start, end in offsets.tolist()])

    def decode(self, ids: list[int], mode: str) -> Row:
        """Exact bytes in every mode."""
        data, text = self._tokenizer.decode(ids, mode)
        return {"bytes_hex": data.hex(), "text": text}

    def close(self) -> None:
        """End what the tokenizer runs in: a browser, or nothing."""
        if isinstance(self._tokenizer, ChromiumTokenizer):
            self._tokenizer.close()

    def stream(self, mode: str) -> TokenStream:
        """Exact bytes in every mode."""
        return self._tokenizer.stream(mode)


def runtime_bytes(file: TokenizerFile) -> bytes | memoryview:
    """What the runtime opens: the file itself, its TOK2, or one compiled from it."""
    if file.kind == "GGUF":
        return write_tok2(read_gguf_file(file.path))
    if file.kind == "SentencePiece":
        return write_tok2(read_model(file.path))
    if file.kind == "tokenizer.json":
        return write_tok2(read_tokenizer(strict_json.load_object(file.path)))
    block = tokenizer_block(file.path)
    if file.kind in SMALL:
        return block
    # An artifact may hold a tokenizer.json instead.
    return block if bytes(block[:4]) == MAGIC else write_tok2(read_block(file.path))


def native(file: TokenizerFile) -> RuntimeTokenizer:
    """In the native library."""
    return RuntimeTokenizer(file, native_tokenizer)


def wasm(file: TokenizerFile) -> RuntimeTokenizer:
    """In the WebAssembly module in wasmtime."""
    return RuntimeTokenizer(file, wasmtime_tokenizer)


def chromium(file: TokenizerFile) -> RuntimeTokenizer:
    """In the WebAssembly module in a browser, which ends with this process."""
    return RuntimeTokenizer(file, ChromiumTokenizer)


def _apart(spans: Iterable[Span]) -> list[Span]:
    """Ascending spans that are not empty, those that touch joined."""
    out: list[Span] = []
    for start, end in sorted(span for span in spans if span[0] < span[1]):
        if out and start <= out[-1][1]:
            out[-1] = (out[-1][0], max(end, out[-1][1]))
        else:
            out.append((start, end))
    return out
