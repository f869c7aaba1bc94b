"""The SLM1 header: 108 bytes at the start of the file."""

from __future__ import annotations

import struct
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from trlm_lab.base.config_bounds import CONFIG_BOUNDS
from trlm_lab.errors import (
    Slm1Error,
    Slm1FlagError,
    Slm1LengthError,
    Slm1ShapeError,
    Slm1VersionError,
)
from trlm_lab.slm1.layout import (
    HEADER,
    HEADER_FIELDS,
    HEADER_LEN,
    MAGIC,
    MODEL_TYPE,
    SPECIAL_TOKENS,
    TIED,
    VERSION,
    header_offset,
)
from trlm_lab.slm1.window import Window

#: Header field to the configuration key whose bounds it has.
_BOUNDED = {
    "vocab": "vocab_size",
    "hidden": "hidden_size",
    "layers": "num_hidden_layers",
    "heads": "num_attention_heads",
    "kv_heads": "num_key_value_heads",
    "head_dim": "head_dim",
    "ffn": "intermediate_size",
    "max_context": "max_position_embeddings",
}
_FLOATS = {"rope_theta_bits": "rope_theta", "rms_eps_bits": "rms_norm_eps"}


@dataclass(frozen=True)
class Header:
    """The header's fields; offsets are absolute, lengths in bytes, `*_bits` are float32 bits."""

    flags: int
    vocab: int
    hidden: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    ffn: int
    max_context: int
    rope_theta_bits: int
    rms_eps_bits: int
    tokenizer_offset: int
    tokenizer_length: int
    tensor_directory_offset: int
    tensor_count: int
    tensor_data_offset: int
    checksum: int = 0
    magic: bytes = MAGIC
    version: int = VERSION
    header_length: int = HEADER_LEN
    model_type: int = MODEL_TYPE
    special_token_count: int = SPECIAL_TOKENS

    def encode(self) -> bytes:
        """The 108 bytes."""
        return HEADER.pack(*(getattr(self, name) for name, _ in HEADER_FIELDS))

    @property
    def tied(self) -> bool:
        """Whether the output projection is the embedding."""
        return bool(self.flags & TIED)

    @property
    def rope_theta(self) -> float:
        """Base of the rotary frequencies."""
        return _float(self.rope_theta_bits)

    @property
    def rms_eps(self) -> float:
        """Epsilon of every norm."""
        return _float(self.rms_eps_bits)


assert {f.name for f in fields(Header)} == {name for name, _ in HEADER_FIELDS}


def _float(bits: int) -> float:
    return float(np.uint32(bits).view(np.float32))


def read_header(window: Window) -> Header:
    """Read the header and check everything that needs no other section.

    Raises:
        Slm1VersionError: another magic, version or type of model; a header below 108 bytes.
        Slm1LengthError: fewer than 108 bytes, or a length that is no multiple of 64.
        Slm1FlagError: an unknown flag.
        Slm1ShapeError: a size out of range, or sizes that contradict each other.
    """
    size = len(window.view)
    if size >= 4 and bytes(window.view[:4]) != MAGIC:
        _refuse(window, Slm1VersionError, "magic", bytes(window.view[:4]), MAGIC)
    if size < HEADER_LEN:
        raise Slm1LengthError(
            where=window.at(size), field="the file", got=f"{size} bytes", expected=HEADER_LEN
        )
    values = HEADER.unpack_from(window.view)
    header = Header(**{name: v for (name, _), v in zip(HEADER_FIELDS, values, strict=True)})
    for name, known in (("version", VERSION), ("model_type", MODEL_TYPE)):
        if getattr(header, name) != known:
            _refuse(window, Slm1VersionError, name, getattr(header, name), known)
    if header.header_length < HEADER_LEN:
        expected = f"at least {HEADER_LEN}"
        _refuse(window, Slm1VersionError, "header_length", header.header_length, expected)
    if header.flags & ~TIED:
        _refuse(window, Slm1FlagError, "flags", f"{header.flags:#x}", "bit 0 (tied) at most")
    if size % 64:
        raise Slm1LengthError(
            where=window.at(size), field="the file", got=f"{size} bytes", expected="whole 64 bytes"
        )
    _check_shape(window, header)
    return header


def _check_shape(window: Window, header: Header) -> None:
    for name, key in _BOUNDED.items():
        if problem := CONFIG_BOUNDS[key].problem(getattr(header, name)):
            _refuse(window, Slm1ShapeError, name, getattr(header, name), problem)
    for name, key in _FLOATS.items():
        value = _float(getattr(header, name))
        if problem := CONFIG_BOUNDS[key].problem(value):
            _refuse(window, Slm1ShapeError, name.removesuffix("_bits"), value, problem)
    if header.heads % header.kv_heads:
        expected = f"a divisor of {header.heads} heads"
        _refuse(window, Slm1ShapeError, "kv_heads", header.kv_heads, expected)
    if header.head_dim % 2:
        _refuse(window, Slm1ShapeError, "head_dim", header.head_dim, "an even number")
    if header.special_token_count != SPECIAL_TOKENS:
        got = header.special_token_count
        _refuse(window, Slm1ShapeError, "special_token_count", got, SPECIAL_TOKENS)
    layers = 9 * header.layers + 2
    allowed = (layers, layers + 1) if header.tied else (layers + 1,)
    if header.tensor_count not in allowed:
        expected = " or ".join(map(str, allowed))
        _refuse(window, Slm1ShapeError, "tensor_count", header.tensor_count, expected)


def _refuse(window: Window, error: type[Slm1Error], name: str, got: Any, expected: Any) -> None:
    field = name if name in {n for n, _ in HEADER_FIELDS} else f"{name}_bits"
    raise error(where=window.at(header_offset(field)), field=name, got=got, expected=expected)


def bits_of_float(value: float) -> int:
    """The bits of a float32 value."""
    return int(struct.unpack("<I", struct.pack("<f", value))[0])
