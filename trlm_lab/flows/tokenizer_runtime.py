"""The tokenizer of the Rust runtime, native and in WebAssembly, as a tokenizer engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from trlm_lab.backends.abi_tokenizer import AbiTokenizer, native_tokenizer, wasmtime_tokenizer
from trlm_lab.backends.browser.tokenizer import ChromiumTokenizer
from trlm_lab.base import strict_json
from trlm_lab.errors import StreamUnsupportedError
from trlm_lab.flows.compiled_tokenizer import (
    read_block,
    read_gguf_file,
    read_model,
    tokenizer_block,
)
from trlm_lab.flows.tokenizer_requests import SMALL, Request, Row, TokenizerFile, token_row
from trlm_lab.text import StreamingDecoder, read_tokenizer
from trlm_lab.text.coordinates import Coordinates, Span
from trlm_lab.text.tok2 import MAGIC, write_tok2
from trlm_lab.text.tok2.layout import Header
from trlm_lab.text.tok2.numbers import NOTES
from trlm_lab.text.utf8 import checked

Opener = Callable[[bytes | memoryview], AbiTokenizer | ChromiumTokenizer]


class RuntimeTokenizer:
    """A TOK2 block, BTOK or BPE1 in the runtime; a file of another kind is compiled first."""

    def __init__(self, file: TokenizerFile, name: str, opener: Opener) -> None:
        given = runtime_bytes(file)
        self._name = name
        self._tokenizer = opener(given)
        flags = 0 if file.kind in SMALL else Header.unpack(given).flags
        self.notes: Sequence[str] = [
            f"{note} is declared and switched off"
            for bit, note in enumerate(NOTES)
            if flags >> bit & 1
        ]

    def tokenize(self, request: Request) -> Row:
        """Ids and offsets; of the stages nothing is shown."""
        text = checked(request.text)
        place = Coordinates(text)
        ids, offsets = self._tokenizer.encode(
            text.encode(),
            content=[place.utf8(span) for span in _apart(request.content)],
            add_special_tokens=request.add_special_tokens,
        )
        return token_row(ids.tolist(), [(start, end) for start, end in offsets.tolist()])

    def tokenize_utf8(self, data: bytes, *, add_special_tokens: bool) -> Row:
        """Ids and offsets of bytes that nothing here has looked at."""
        ids, offsets = self._tokenizer.encode(data, add_special_tokens=add_special_tokens)
        return token_row(ids.tolist(), [(start, end) for start, end in offsets.tolist()])

    def decode(self, ids: list[int], mode: str) -> Row:
        """Exact bytes in every mode."""
        data, text = self._tokenizer.decode(ids, mode)
        return {"bytes_hex": data.hex(), "text": text}

    def close(self) -> None:
        """End what the tokenizer runs in: a browser, or nothing."""
        if isinstance(self._tokenizer, ChromiumTokenizer):
            self._tokenizer.close()

    def stream(self, mode: str) -> StreamingDecoder:
        """It has none.

        Raises:
            StreamUnsupportedError: always.
        """
        raise StreamUnsupportedError(where="--engine", engine=self._name)


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
    return RuntimeTokenizer(file, "native", native_tokenizer)


def wasm(file: TokenizerFile) -> RuntimeTokenizer:
    """In the WebAssembly module in wasmtime."""
    return RuntimeTokenizer(file, "wasm", wasmtime_tokenizer)


def chromium(file: TokenizerFile) -> RuntimeTokenizer:
    """In the WebAssembly module in a browser, which ends with this process."""
    return RuntimeTokenizer(file, "wasm@chromium", ChromiumTokenizer)


def _apart(spans: Iterable[Span]) -> list[Span]:
    """Ascending spans that are not empty, those that touch joined."""
    out: list[Span] = []
    for start, end in sorted(span for span in spans if span[0] < span[1]):
        if out and start <= out[-1][1]:
            out[-1] = (out[-1][0], max(end, out[-1][1]))
        else:
            out.append((start, end))
    return out
