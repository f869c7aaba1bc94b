"""The runtime's ABI as Python sees it, whichever engine carries it (docs/abi.md)."""

from __future__ import annotations

import ctypes
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from trlm_lab.errors import (
    AllKeysMaskedError,
    RuntimeMemoryError,
    RuntimeRefusedError,
    TrlmError,
)

ABI_VERSION = 1
APPEND = 1
LAST_LOGITS = 2

#: Codes of docs/abi.md that Python tells apart.
CONTEXT, NO_VISIBLE_KEY, OUT_OF_MEMORY = 404, 405, 501

#: Argument and result types of every export: p address, z length, u u32, i i32.
SIGNATURES: dict[str, str] = {
    "trlm_abi_version": "u",
    "trlm_build_flags": "u",
    "trlm_register_lanes": "u",
    "trlm_alloc": "pz",
    "trlm_free": " pz",
    "trlm_model_load": "ppz",
    "trlm_model_free": " p",
    "trlm_model_info": "upu",
    "trlm_model_verify": "ipu",
    "trlm_model_order": "ipu",
    "trlm_case_begin": "ippzppu",
    "trlm_case_step": "ip",
    "trlm_case_steps": "up",
    "trlm_checkpoint_count": "up",
    "trlm_checkpoint_name_ptr": "ppu",
    "trlm_checkpoint_name_len": "zpu",
    "trlm_checkpoint_data": "ppu",
    "trlm_checkpoint_len": "zpu",
    "trlm_checkpoint_rank": "upu",
    "trlm_checkpoint_dim": "zpuu",
    "trlm_topk": "ipzpp",
    "trlm_sha256": "ipzp",
    "trlm_op": "ipzpzpz",
    "trlm_rows_pack": "ipzzuupzpp",
    "trlm_rows_unpack": "ippzzuup",
    "trlm_text_load": "ppz",
    "trlm_text_free": " p",
    "trlm_text_block_ptr": "pp",
    "trlm_text_block_len": "zp",
    "trlm_text_encode": "ippzpzu",
    "trlm_text_trace": "ippzpzu",
    "trlm_text_trace_ptr": "ppu",
    "trlm_text_trace_len": "zpu",
    "trlm_text_ids": "pp",
    "trlm_text_offsets": "pp",
    "trlm_text_decode": "ippzu",
    "trlm_text_decoded_ptr": "ppu",
    "trlm_text_decoded_len": "zpu",
    "trlm_stream_open": "ppu",
    "trlm_stream_free": " p",
    "trlm_stream_push": "ippz",
    "trlm_stream_held": "ip",
    "trlm_stream_flush": "ip",
    "trlm_stream_given_ptr": "ppu",
    "trlm_stream_given_len": "zpu",
    "trlm_chat_load": "ppz",
    "trlm_chat_free": " p",
    "trlm_chat_render": "ippz",
    "trlm_chat_text_ptr": "pp",
    "trlm_chat_text_len": "zp",
    "trlm_chat_runs_ptr": "pp",
    "trlm_chat_run_count": "zp",
    "trlm_last_error_code": "u",
    "trlm_last_error_ptr": "pu",
    "trlm_last_error_len": "zu",
}


class Host(Protocol):
    """An engine that carries the runtime: calls, and a window on the memory they work in."""

    def call(self, name: str, *arguments: int) -> int:
        """Call an export; addresses and lengths come back unsigned, functions of no result as 0."""
        ...

    def bytes_at(self, address: int, length: int) -> NDArray[np.uint8]:
        """A writable view of memory, valid until the next call."""
        ...

    def close(self) -> None:
        """Give everything back."""
        ...


#: Making a type for every length would take longer than most calls.
_WINDOW = ctypes.c_uint8 * (1 << 31)


def memory_view(address: int, length: int) -> NDArray[np.uint8]:
    """A writable view of this process's memory, without owning it."""
    if length == 0:
        return np.empty(0, dtype=np.uint8)
    kind = _WINDOW if length <= 1 << 31 else ctypes.c_uint8 * length
    window: Any = kind.from_address(address)
    view: NDArray[np.uint8] = np.frombuffer(window, dtype=np.uint8, count=length)
    return view


class Scratch:
    """Memory of the runtime that holds an array for the length of a `with` block."""

    def __init__(self, host: Host, data: NDArray[Any]) -> None:
        self.host = host
        self.data = np.ascontiguousarray(data)
        self.address = 0

    def __enter__(self) -> Scratch:
        self.address = self.host.call("trlm_alloc", self.data.nbytes)
        if self.address == 0:
            raise RuntimeMemoryError(where="trlm_alloc", detail=f"{self.data.nbytes} bytes")
        raw = self.data.reshape(-1).view(np.uint8)
        self.host.bytes_at(self.address, self.data.nbytes)[:] = raw
        return self

    def __exit__(self, *exc: object) -> None:
        self.host.call("trlm_free", self.address, self.data.nbytes)

    def read(self) -> NDArray[Any]:
        """What the memory holds now, as an array of the same dtype and shape."""
        raw = self.host.bytes_at(self.address, self.data.nbytes).copy()
        return raw.view(self.data.dtype).reshape(self.data.shape)


def last_error(host: Host) -> TrlmError:
    """The runtime's last error as an exception."""
    texts = []
    for part in range(3):
        address = host.call("trlm_last_error_ptr", part)
        length = host.call("trlm_last_error_len", part)
        raw = host.bytes_at(address, length).tobytes() if length else b""
        texts.append(raw.decode("utf-8", "replace"))
    name, place, detail = texts
    number = host.call("trlm_last_error_code")
    if number == OUT_OF_MEMORY:
        return RuntimeMemoryError(where=place, detail=detail)
    return RuntimeRefusedError(where=place, error_name=name, number=number, detail=detail)


def all_keys_masked(place: str) -> AllKeysMaskedError:
    """NO_VISIBLE_KEY of a case, whose place ends in `mask[t]`: the first query that sees no key."""
    row = int(place.rpartition("mask[")[2].removesuffix("]"))
    return AllKeysMaskedError(where=f"attention_mask[{row}]", row=row)
