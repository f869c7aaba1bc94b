"""Chat templates in the Rust runtime by `trlm_chat_*` (docs/abi.md), native and WebAssembly."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from trlm_lab.backends.abi_host import Host, Scratch, last_error
from trlm_lab.chat import Conversation, Rendered, encode_conversation
from trlm_lab.errors import (
    ChatInputError,
    NondeterministicTemplateError,
    RuntimeRefusedError,
    TemplateEvaluationError,
    TemplateIrError,
    TemplateLimitError,
    TemplateRaisedError,
    TemplateUnsupportedError,
    TrlmError,
)

#: Owners by their number in the ABI.
OWNERS = ("template", "content", "bos", "eos", "generation_prefix")
_LIMIT = re.compile(r"(.*): (.*) is above the limit (.*)", re.DOTALL)


class ChatRuntime:
    """A compiled template in the runtime; `close` gives everything back."""

    def __init__(self, host: Host, compiled: bytes, *, where: str = "template") -> None:
        """Load a compiled template.

        Raises:
            TemplateIrError, TemplateLimitError: the runtime refuses the bytes.
        """
        self.host = host
        self.where = where
        with Scratch(host, np.frombuffer(compiled, dtype=np.uint8)) as placed:
            self.handle = host.call("trlm_chat_load", placed.address, len(compiled))
        if self.handle == 0:
            raise chat_error(host, where)

    def render(self, given: Conversation) -> Rendered:
        """Render a conversation; raises as `trlm_lab.chat.render`."""
        data = encode_conversation(given)
        with Scratch(self.host, np.frombuffer(data, dtype=np.uint8)) as placed:
            status = self.host.call("trlm_chat_render", self.handle, placed.address, len(data))
        if status != 0:
            raise chat_error(self.host, self.where)
        return self._rendered()

    def _rendered(self) -> Rendered:
        length = self.host.call("trlm_chat_text_len", self.handle)
        address = self.host.call("trlm_chat_text_ptr", self.handle)
        text = self.host.bytes_at(address, length).tobytes().decode()
        count = self.host.call("trlm_chat_run_count", self.handle)
        address = self.host.call("trlm_chat_runs_ptr", self.handle)
        runs = self.host.bytes_at(address, 12 * count).view(np.uint32).reshape(-1, 3).tolist()
        return Rendered(text, tuple((start, end, OWNERS[owner]) for start, end, owner in runs))

    def forget(self) -> None:
        """Give the template back; the host goes on."""
        self.host.call("trlm_chat_free", self.handle)
        self.handle = 0

    def close(self) -> None:
        """Give the template and the host back."""
        self.forget()
        self.host.close()


def chat_error(host: Host, where: str) -> TrlmError:
    """The runtime's last error as the exception that the Python renderer raises."""
    error = last_error(host)
    make = (
        _ERRORS.get(error.facts["error_name"]) if isinstance(error, RuntimeRefusedError) else None
    )
    if make is None:
        return error
    line = re.fullmatch(r"line \d+", error.where)
    place = f"{where} {error.where}" if line else error.where
    return make(place, error.facts["detail"])


def _limit(where: str, detail: str) -> TrlmError:
    found = _LIMIT.fullmatch(detail)
    what, got, limit = found.groups() if found else (detail, "more", "allowed")
    return TemplateLimitError(where=where, what=what, got=got, limit=limit)


_ERRORS: dict[str, Callable[[str, str], TrlmError]] = {
    "CHAT_INPUT": lambda where, detail: ChatInputError(where=where, detail=detail),
    "CBOR": lambda where, detail: TemplateIrError(where=where, detail=detail),
    "TEMPLATE_IR": lambda where, detail: TemplateIrError(where=where, detail=detail),
    "TEMPLATE_LIMIT": _limit,
    "TEMPLATE_UNSUPPORTED": lambda where, text: TemplateUnsupportedError(
        where=where, construct=text
    ),
    "TEMPLATE_EVALUATION": lambda where, text: TemplateEvaluationError(where=where, detail=text),
    "TEMPLATE_RAISED": lambda where, text: TemplateRaisedError(where=where, message=text),
    "NONDETERMINISTIC_TEMPLATE": lambda where, text: NondeterministicTemplateError(
        where=where, format=text
    ),
}


def native_chat(compiled: bytes, *, where: str = "template") -> ChatRuntime:
    """A template in the native library, compiled where needed.

    Raises:
        InfrastructureError: no compiler, or the build failed.
        TemplateIrError, TemplateLimitError: the runtime refuses the bytes.
    """
    from trlm_lab.backends.abi_operators import native_operators

    return ChatRuntime(native_operators().host, compiled, where=where)


def wasmtime_chat(compiled: bytes, *, where: str = "template") -> ChatRuntime:
    """A template in the committed WebAssembly module.

    Raises:
        EngineMissingError: wasmtime is not installed, or the module is not the recorded one.
        TemplateIrError, TemplateLimitError: the runtime refuses the bytes.
    """
    from trlm_lab.backends.abi_operators import wasmtime_operators

    return ChatRuntime(wasmtime_operators().host, compiled, where=where)
