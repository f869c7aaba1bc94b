"""The header as the inspector reads it: its own table of offsets, its own rules."""

from __future__ import annotations

import struct

from trlm_lab.base.records.inspection import InspectedField
from trlm_lab.inspector.report import Report

SIZE = 256
#: name, byte offset, bytes. Kind by size: 4 and 8 unsigned, 32 a hash; magic and floats apart.
FIELDS: tuple[tuple[str, int, int], ...] = (
    ("magic", 0, 4),
    ("abi_major", 4, 2),
    ("abi_minor", 6, 2),
    ("header_len", 8, 4),
    ("flags", 16, 8),
    ("vocab", 24, 4),
    ("layers", 28, 4),
    ("heads", 32, 4),
    ("kv_heads", 36, 4),
    ("head_dim", 40, 4),
    ("ffn", 44, 4),
    ("max_context_declared", 48, 4),
    ("rope_theta", 52, 4),
    ("rms_eps", 56, 4),
    ("hidden", 60, 4),
    ("tensor_dir_off", 64, 8),
    ("tensor_count", 72, 4),
    ("tensor_desc_size", 76, 2),
    ("piece_table_off", 80, 8),
    ("piece_count", 88, 4),
    ("string_table_len", 92, 4),
    ("shard_table_off", 96, 8),
    ("shard_count", 104, 4),
    ("config_len", 108, 4),
    ("tokenizer_off", 112, 8),
    ("tokenizer_len", 120, 8),
    ("artifact_len", 128, 8),
    ("self_sha256", 136, 32),
    ("merkle_root_sha256", 168, 32),
    ("legacy_checksum64", 200, 8),
    ("string_table_off", 208, 8),
    ("config_off", 216, 8),
    ("body_off", 224, 8),
)
RESERVED = ((12, 16), (78, 80), (232, 256))
FLOATS = {"rope_theta", "rms_eps"}
#: Fields of one allowed value, and the rule that another breaks.
FIXED = {
    "abi_major": (2, "SLM_VERSION"),
    "abi_minor": (0, "SLM_VERSION"),
    "header_len": (SIZE, "SLM_VERSION"),
    "tensor_desc_size": (128, "SLM_SHAPE"),
    "legacy_checksum64": (0, "SLM_SHAPE"),
    "shard_count": (1, "SLM_PIECES"),
}


def header_rows(report: Report) -> tuple[InspectedField, ...]:
    """Every field with its value; floats as they read, hashes as hex."""
    return tuple(InspectedField(n, at, size, _value(report, n, at, size)) for n, at, size in FIELDS)


def _value(report: Report, name: str, at: int, size: int) -> int | float | str:
    raw = report.raw(at, size)
    if name == "magic":
        return raw.decode("latin-1")
    if name in FLOATS:
        value: float = struct.unpack("<f", raw)[0]
        # A NaN or infinity has no place in a canonical record; its bits do.
        return value if abs(value) < float("inf") else raw[::-1].hex()
    return raw.hex() if size == 32 else int.from_bytes(raw, "little")


def check_header(report: Report, header: dict[str, int]) -> bool:
    """Rules of the header alone; False where the rest of the file cannot be read by it."""
    for start, end in RESERVED:
        report.zeros("SLM_RESERVED", start, end, "the header's reserved range")
    for name, (wanted, code) in FIXED.items():
        if header[name] != wanted:
            at = next(offset for n, offset, _ in FIELDS if n == name)
            report.add(code, at, f"{name} is {header[name]}, not {wanted}")
    if header["flags"] & 0xFFFFFFFF:
        report.add("SLM_FLAGS", 16, f"required bits {header['flags'] & 0xFFFFFFFF:#x} are unknown")
    size = len(report.view)
    if header["artifact_len"] != size:
        report.add(
            "SLM_LENGTH", 128, f"artifact_len is {header['artifact_len']}, the file has {size}"
        )
    return all(header[n] == FIXED[n][0] for n in ("abi_major", "header_len", "tensor_desc_size"))
