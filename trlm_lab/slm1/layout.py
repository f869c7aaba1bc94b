"""The byte tables of SLM1. Offsets are those of docs/formats/slm1.md."""

from __future__ import annotations

import struct
from typing import Final

MAGIC: Final = b"SLM1"
VERSION: Final = 1
MODEL_TYPE: Final = 1
HEADER_LEN: Final = 108
ENTRY_LEN: Final = 64
ALIGN: Final = 64
#: flags, bit 0: the output projection is the embedding.
TIED: Final = 1
#: The checksum field, which reads as zero while the checksum is taken.
CHECKSUM_SPAN: Final = (100, 108)
#: Special ids of either tokenizer: BOS, EOS, PAD, UNK.
SPECIAL_TOKENS: Final = 4

#: Header fields in order; struct codes without padding.
HEADER_FIELDS: Final = (
    ("magic", "4s"),
    ("version", "I"),
    ("header_length", "I"),
    ("model_type", "I"),
    ("flags", "I"),
    ("vocab", "I"),
    ("special_token_count", "I"),
    ("hidden", "I"),
    ("layers", "I"),
    ("heads", "I"),
    ("kv_heads", "I"),
    ("head_dim", "I"),
    ("ffn", "I"),
    ("max_context", "I"),
    ("rope_theta_bits", "I"),
    ("rms_eps_bits", "I"),
    ("tokenizer_offset", "Q"),
    ("tokenizer_length", "Q"),
    ("tensor_directory_offset", "Q"),
    ("tensor_count", "I"),
    ("tensor_data_offset", "Q"),
    ("checksum", "Q"),
)
HEADER: Final = struct.Struct("<" + "".join(code for _, code in HEADER_FIELDS))
#: name hash, dtype, rank, four dims, byte offset and length, scale offset, block size, reserved.
ENTRY: Final = struct.Struct("<QII4IQQQII")
#: Offset of each field inside an entry.
ENTRY_OFFSETS: Final = {
    "name_hash": 0,
    "dtype": 8,
    "rank": 12,
    "dims": 16,
    "byte_offset": 32,
    "byte_length": 40,
    "scale_offset": 48,
    "block_size": 56,
    "reserved": 60,
}


def header_offset(name: str) -> int:
    """Byte offset of a header field."""
    at = 0
    for field, code in HEADER_FIELDS:
        if field == name:
            return at
        at += struct.calcsize("<" + code)
    raise KeyError(name)


def aligned(offset: int) -> int:
    """The first multiple of 64 that is not below `offset`."""
    return -(-offset // ALIGN) * ALIGN
