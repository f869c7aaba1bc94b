"""Tokenizers of the Rust runtime by `trlm_text_*` (docs/abi.md), native and WebAssembly."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from trlm_lab.backends.abi_host import Host, Scratch, last_error
from trlm_lab.backends.abi_stream import AbiStream
from trlm_lab.backends.abi_trace import PARTS, Trace
from trlm_lab.backends.text_refusals import require_words, text_error
from trlm_lab.text import Encoding

Ids = NDArray[np.uint32]
ADD_SPECIAL_TOKENS = 1
#: Modes of decoding by their number in the ABI.
MODES = ("raw", "visible", "diagnostic")
_NEGATIVE = 1 << 31


class AbiTokenizer:
    """One TOK2 block, BTOK or BPE1 opened in a host; closed with it.

    Raises:
        RuntimeRefusedError: the block breaks a rule; `where` is the byte.
        RuntimeMemoryError: the runtime is short of memory.
    """

    def __init__(self, host: Host, block: bytes | memoryview) -> None:
        self._host = host
        self._memory = ExitStack()
        self._streams: WeakSet[AbiStream] = WeakSet()
        data = np.frombuffer(block, np.uint8)
        placed = self._memory.enter_context(Scratch(host, data))
        self._handle = host.call("trlm_text_load", placed.address, len(data))
        if self._handle == 0:
            error = last_error(host)
            self.close()
            raise error

    def __enter__(self) -> AbiTokenizer:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the tokenizer and its block back."""
        for stream in list(self._streams):
            stream.close()
        if self._handle:
            self._host.call("trlm_text_free", self._handle)
            self._handle = 0
        self._memory.close()

    @property
    def block(self) -> bytes:
        """The TOK2 block in use: what was given, or what the runtime made of it."""
        address = self._host.call("trlm_text_block_ptr", self._handle)
        length = self._host.call("trlm_text_block_len", self._handle)
        return self._host.bytes_at(address, length).tobytes()

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
        return self._encoded("encode", text, content, add_special_tokens)

    def trace(
        self,
        text: bytes,
        *,
        content: Sequence[tuple[int, int]] = (),
        add_special_tokens: bool = False,
    ) -> Encoding:
        """The same with every stage, as the reference has it.

        Raises:
            As `encode`; TextTooLongError where the stages take more memory than a trace may.
        """
        found = self._encoded("trace", text, content, add_special_tokens)
        parts = [self._part("trace", number) for number in range(len(PARTS))]
        return Trace(text, *found, parts).encoding()

    def _encoded(
        self, name: str, text: bytes, content: Sequence[tuple[int, int]], add_special_tokens: bool
    ) -> tuple[Ids, Ids]:
        # The stretches lie behind the text: one piece of memory a call.
        given = text + np.array(content, np.uint32).tobytes() if content else text
        flags = ADD_SPECIAL_TOKENS if add_special_tokens else 0
        with Scratch(self._host, np.frombuffer(given, np.uint8)) as placed:
            stretches = (placed.address + len(text) if content else 0, len(content))
            count = self._host.call(
                f"trlm_text_{name}", self._handle, placed.address, len(text), *stretches, flags
            )
        if count >= _NEGATIVE:
            raise text_error(last_error(self._host))
        return self._numbers("ids", count), self._numbers("offsets", 2 * count).reshape(-1, 2)

    def _numbers(self, name: str, count: int) -> Ids:
        address = self._host.call(f"trlm_text_{name}", self._handle)
        raw = self._host.bytes_at(address, 4 * count).copy()
        return raw.view(np.uint32)

    def decode(self, ids: Sequence[int], mode: str = "raw") -> tuple[bytes, str]:
        """Bytes and text of ids.

        Raises:
            TokenIdError: an id without token.
        """
        require_words(ids)
        numbers = np.array(ids, np.uint32)
        with Scratch(self._host, numbers) as given:
            where = (given.address, len(numbers), MODES.index(mode))
            status = self._host.call("trlm_text_decode", self._handle, *where)
        if status:
            raise text_error(last_error(self._host), ids)
        return self._part("decoded", 0), self._part("decoded", 1).decode()

    def _part(self, name: str, number: int) -> bytes:
        address = self._host.call(f"trlm_text_{name}_ptr", self._handle, number)
        length = self._host.call(f"trlm_text_{name}_len", self._handle, number)
        return self._host.bytes_at(address, length).tobytes() if length else b""

    def stream(self, mode: str = "raw") -> AbiStream:
        """Decoding as ids come; it ends with this tokenizer."""
        stream = AbiStream(self._host, self._handle, MODES.index(mode))
        self._streams.add(stream)
        return stream


def native_tokenizer(block: bytes | memoryview) -> AbiTokenizer:
    """In the native library, compiled where needed.

    Raises:
        InfrastructureError: no compiler, or the build failed.
        RuntimeRefusedError: the block breaks a rule.
    """
    from trlm_lab.backends.build_native import built, wanted_build
    from trlm_lab.backends.native import NativeHost

    return AbiTokenizer(NativeHost(built(wanted_build(()))), block)


def wasmtime_tokenizer(block: bytes | memoryview) -> AbiTokenizer:
    """In the committed WebAssembly module in wasmtime.

    Raises:
        EngineMissingError: wasmtime is not installed, or the module is not the recorded one.
        RuntimeRefusedError: the block breaks a rule.
    """
    from trlm_lab.backends.wasm_wasmtime import wasmtime_host

    return AbiTokenizer(wasmtime_host(), block)
