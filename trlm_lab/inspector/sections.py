"""Order, alignment and padding of the sections; the string table and the configuration."""

from __future__ import annotations

import struct
from typing import Any

from trlm_lab.errors import InspectCborError
from trlm_lab.inspector.cbor import read_cbor
from trlm_lab.inspector.header import SIZE
from trlm_lab.inspector.report import Report

#: In file order: field of the offset, field of the length or count, bytes of one, alignment.
ORDER = (
    ("string_table_off", "string_table_len", 1, 1),
    ("config_off", "config_len", 1, 1),
    ("tensor_dir_off", "tensor_count", 128, 16),
    ("tokenizer_off", "tokenizer_len", 1, 1),
    ("piece_table_off", "piece_count", 56, 16),
    ("shard_table_off", "shard_count", 52, 16),
)
INTEGERS = (
    ("vocab", "vocab_size"),
    ("layers", "num_hidden_layers"),
    ("heads", "num_attention_heads"),
    ("kv_heads", "num_key_value_heads"),
    ("head_dim", "head_dim"),
    ("ffn", "intermediate_size"),
    ("max_context_declared", "max_position_embeddings"),
    ("hidden", "hidden_size"),
)


def check_sections(report: Report, header: dict[str, int]) -> bool:
    """Whether every section can be read; notes what is out of place."""
    size, at, sound = len(report.view), SIZE, True
    for name, count, each, alignment in ORDER:
        start, length = header[name], header[count] * each
        if length == 0 and start == 0:
            continue
        if not report.inside(name, start, length, 0, size):
            sound = False
            continue
        if start < at:
            report.add("SLM_OVERLAP", name, f"{start} is before {at}")
            sound = False
            continue
        if start % alignment:
            report.add("SLM_ALIGNMENT", name, f"{start} is no multiple of {alignment}")
        report.zeros("SLM_RESERVED", at, start, f"the padding before {name}")
        at = start + length
    body = header["body_off"]
    if not report.inside("body_off", body, size - body, 0, size):
        return False
    if body < at:
        report.add("SLM_OVERLAP", "body_off", f"{body} is before {at}")
        return False
    if body % 4096:
        report.add("SLM_ALIGNMENT", "body_off", f"{body} is no multiple of 4096")
    report.zeros("SLM_RESERVED", at, body, "the padding before the body")
    return sound


def read_texts(report: Report, start: int, length: int) -> list[str]:
    """The texts of the string table; an unreadable one becomes a placeholder with a finding."""
    count = report.number(start, 4) if length >= 4 else -1
    base = start + 4 + 8 * count
    room = start + length - base
    if count < 0 or room < 0:
        report.add("SLM_STRINGS", start, f"{length} bytes cannot hold {count} strings")
        return []
    if count > 32768:
        report.add("SLM_STRINGS", start, f"{count} strings, the format has room for 32768")
        return []
    spans = [
        (report.number(start + 4 + 8 * i, 4), report.number(start + 8 + 8 * i, 4))
        for i in range(count)
    ]
    covered = 0
    for offset, size in sorted(spans):
        if offset != covered:
            report.add(
                "SLM_STRINGS", start, f"a span begins at {offset}, the last ended at {covered}"
            )
        covered = max(covered, offset + size)
    if covered != room:
        report.add("SLM_STRINGS", start, f"spans cover {covered} of {room} bytes")
    texts = [_text(report, base, room, offset, size) for offset, size in spans]
    if len(set(texts)) != len(texts):
        report.add("SLM_STRINGS", start, "a text occurs twice")
    return texts


def _text(report: Report, base: int, room: int, offset: int, size: int) -> str:
    if offset + size > room:
        return f"?{offset}"
    try:
        return report.raw(base + offset, size).decode()
    except UnicodeDecodeError as error:
        report.add("SLM_STRINGS", base + offset + error.start, "ill-formed UTF-8")
        return f"?{offset}"


def read_configuration(report: Report, header: dict[str, int]) -> dict[str, Any]:
    """The configuration map, compared with the header; empty where unreadable."""
    at, size = header["config_off"], header["config_len"]
    if size > 131072:
        report.add("SLM_CONFIG", 108, f"{size} bytes, the format has room for 131072")
        return {}
    try:
        config = read_cbor(report.raw(at, header["config_len"]))
    except InspectCborError as error:
        report.add("SLM_CONFIG", at, f"{error.where}: {error.detail}")
        return {}
    if not isinstance(config, dict):
        report.add("SLM_CONFIG", at, f"a {type(config).__name__}, no map")
        return {}
    _compare(report, header, config, at)
    return config


def _compare(report: Report, header: dict[str, int], config: dict[str, Any], at: int) -> None:
    for name, key in INTEGERS:
        value = config.get(key)
        if type(value) is not int or value != header[name]:
            report.add("SLM_CONFIG", at, f"{key} is {value!r}, the header says {header[name]}")
    norm = "rms_norm_eps" if config.get("rms_norm_eps") is not None else "layer_norm_epsilon"
    for name, key in (("rope_theta", "rope_theta"), ("rms_eps", norm)):
        value = config.get(key)
        if type(value) is not float or _float_bits(value) != header[name]:
            report.add("SLM_CONFIG", at, f"{key} is {value!r}, the header has {header[name]:08x}")
    order, theta = config.get("rope_order"), config.get("rope_theta")
    if order not in ("half_split", "interleaved", "none") or (order == "none") != (theta == 0):
        report.add("SLM_CONFIG", at, f"rope_order is {order!r} with rope_theta {theta!r}")


def _float_bits(value: float) -> int:
    try:
        return int.from_bytes(struct.pack("<f", value), "little")
    except OverflowError:
        return -1
