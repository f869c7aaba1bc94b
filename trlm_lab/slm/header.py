"""The SLM2 header: 256 bytes at the start of the file."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from trlm_lab.errors import SlmError, SlmFlagError, SlmMagicError, SlmShapeError, SlmTruncatedError
from trlm_lab.slm.layout import (
    ABI_MAJOR,
    ABI_MINOR,
    HEADER,
    HEADER_LEN,
    MAGIC,
    TENSOR_DESC_SIZE,
)
from trlm_lab.slm.window import Window

#: 2.0 defines no required flag, so any of the low 32 bits is unknown.
KNOWN_REQUIRED_FLAGS = 0
REQUIRED_FLAG_BITS = 0xFFFFFFFF


@dataclass(frozen=True)
class Header:
    """The header's fields; offsets are absolute, lengths in bytes, `*_bits` are float32 bits."""

    vocab: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    ffn: int
    max_context_declared: int
    rope_theta_bits: int
    rms_eps_bits: int
    hidden: int
    tensor_dir_off: int
    tensor_count: int
    piece_table_off: int
    piece_count: int
    string_table_len: int
    shard_table_off: int
    shard_count: int
    config_len: int
    tokenizer_off: int
    tokenizer_len: int
    artifact_len: int
    merkle_root_sha256: bytes
    string_table_off: int
    config_off: int
    body_off: int
    self_sha256: bytes = bytes(32)
    flags: int = 0
    magic: bytes = MAGIC
    abi_major: int = ABI_MAJOR
    abi_minor: int = ABI_MINOR
    header_len: int = HEADER_LEN
    tensor_desc_size: int = TENSOR_DESC_SIZE
    legacy_checksum64: int = 0

    def encode(self) -> bytes:
        """The 256 bytes."""
        return HEADER.pack({f.name: getattr(self, f.name) for f in fields(self)})

    @property
    def body_len(self) -> int:
        """Bytes from `body_off` to the end of the file."""
        return self.artifact_len - self.body_off


def read_header(window: Window) -> Header:
    """Read the header and check everything that needs no other section.

    Raises:
        SlmMagicError: another magic, version or header length.
        SlmTruncatedError: fewer than 256 bytes, or `artifact_len` is not the length of the buffer.
        SlmFlagError: an unknown required flag.
        SlmReservedError: a nonzero reserved byte.
        SlmShapeError: another descriptor size, or a nonzero old checksum.
    """
    size, magic = len(window.view), bytes(window.view[: len(MAGIC)])
    if len(magic) == len(MAGIC) and magic != MAGIC:
        raise SlmMagicError(where=window.at(0), field="magic", got=magic, expected=MAGIC)
    if size < HEADER_LEN:
        raise SlmTruncatedError(
            where=window.at(size), field="the file", got=f"{size} bytes", expected=HEADER_LEN
        )
    header = Header(**HEADER.unpack(window.view, 0))
    _check_version(window, header)
    unknown = header.flags & REQUIRED_FLAG_BITS & ~KNOWN_REQUIRED_FLAGS
    if unknown:
        raise SlmFlagError(
            where=window.at(HEADER.offset("flags")),
            field="flags",
            got=f"{header.flags:#x}",
            expected=f"no required bit beyond {KNOWN_REQUIRED_FLAGS:#x}",
        )
    for start, end in HEADER.reserved:
        window.check_zero("header.reserved", start, end)
    _expect(window, header, "tensor_desc_size", TENSOR_DESC_SIZE, SlmShapeError)
    _expect(window, header, "legacy_checksum64", 0, SlmShapeError)
    _expect(window, header, "artifact_len", size, SlmTruncatedError)
    return header


def _check_version(window: Window, header: Header) -> None:
    for name, known in (
        ("abi_major", ABI_MAJOR),
        ("abi_minor", ABI_MINOR),
        ("header_len", HEADER_LEN),
    ):
        _expect(window, header, name, known, SlmMagicError)


def _expect(window: Window, header: Header, name: str, known: Any, error: type[SlmError]) -> None:
    got = getattr(header, name)
    if got != known:
        raise error(where=window.at(HEADER.offset(name)), field=name, got=got, expected=known)
