"""Seal a damaged container again: every hash that can be found is made to hold.

What is wrong after that is the structure or the content, and only their rules can refuse. The file
may say anything: a hash whose place or range cannot be read stays as it is.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator
from typing import Any

from trlm_lab.slm.layout import HEADER, PIECE_DESC, PIECE_SIZE, SHARD_DESC, TENSOR_DESC, ByteTable
from trlm_lab.slm.merkle import SLM2_MERKLE
from trlm_lab.slm.numbers import Layout
from trlm_lab.slm1.checksum import OUR_CHECKSUM
from trlm_lab.slm1.layout import CHECKSUM_SPAN

#: Rows of a table that are sealed; a hostile count says more.
_MOST_ROWS = 4096
_TOK2_HEADER = 128


def sealed(data: bytes) -> bytes:
    """The file with hashes (SLM2) or checksum (SLM1) of its bytes; any other is returned as is."""
    if data[:4] == b"SLM1":
        return seal_slm1(data)
    if data[:4] == b"SLM2" and len(data) >= HEADER.size:
        return seal_slm2(data)
    return data


def seal_slm1(data: bytes) -> bytes:
    """The file with the checksum of its bytes, where it has room for one."""
    low, high = CHECKSUM_SPAN
    if len(data) < high or len(data) % 4:
        return data
    running = OUR_CHECKSUM.start()
    running.update(data)
    return data[:low] + struct.pack("<Q", running.finish()) + data[high:]


def seal_slm2(data: bytes) -> bytes:
    """Tokenizer, tensors, pieces, Merkle root, shard, then the self hash."""
    out = bytearray(data)
    head = HEADER.unpack(memoryview(out), 0)
    _seal_tokenizer(out, head)
    _seal_tensors(out, head)
    _seal_body(out, head)
    digest = hashlib.sha256(bytes(out[:136]) + bytes(72) + bytes(out[208:])).digest()
    out[136:168] = digest
    return bytes(out)


def _rows(out: bytearray, start: int, count: int, table: ByteTable) -> Iterator[tuple[int, Any]]:
    """Place and fields of the rows that lie in the file."""
    for i in range(min(count, _MOST_ROWS)):
        at = start + i * table.size
        if at + table.size > len(out):
            return
        yield at, table.unpack(memoryview(out), at)


def _put(out: bytearray, at: int, data: bytes) -> None:
    if at + len(data) <= len(out):
        out[at : at + len(data)] = data


def _seal_tokenizer(out: bytearray, head: dict[str, Any]) -> None:
    """Hashes of a TOK2 block: of its template, then of itself with that hash's place as zeros."""
    start, end = head["tokenizer_off"], head["tokenizer_off"] + head["tokenizer_len"]
    if end > len(out) or end - start < _TOK2_HEADER or out[start : start + 4] != b"TOK2":
        return
    at, size = struct.unpack_from("<II", out, start + 128 + 16 * 13 + 4)
    template = bytes(out[start + at : start + at + size]) if start + at + size <= end else b""
    if template:
        _put(out, start + 88, hashlib.sha256(template).digest())
    block = bytes(out[start:end])
    _put(out, start + 56, hashlib.sha256(block[:56] + bytes(32) + block[88:]).digest())


def _seal_tensors(out: bytearray, head: dict[str, Any]) -> None:
    rows = list(_rows(out, head["tensor_dir_off"], head["tensor_count"], TENSOR_DESC))
    place = TENSOR_DESC.offset("sha256_trunc128")
    for at, row in rows:
        spans = [(row["data_off"], row["data_len"]), (row["aux_off"], row["aux_len"])]
        if row["layout"] == Layout.alias or any(low + size > len(out) for low, size in spans):
            continue
        digest = hashlib.sha256(b"".join(bytes(out[low : low + size]) for low, size in spans))
        _put(out, at + place, digest.digest()[:16])
    for at, row in rows:
        if row["layout"] == Layout.alias and row["alias_of"] < len(rows):
            target = rows[row["alias_of"]][0] + place
            _put(out, at + place, bytes(out[target : target + 16]))


def _seal_body(out: bytearray, head: dict[str, Any]) -> None:
    body = head["body_off"]
    if body > len(out):
        return
    leaves, table = [], list(_rows(out, head["piece_table_off"], head["piece_count"], PIECE_DESC))
    for i, low in enumerate(range(body, len(out), PIECE_SIZE)):
        piece = bytes(out[low : low + PIECE_SIZE])
        leaves.append(SLM2_MERKLE.leaf(piece))
        if i < len(table):
            digest = hashlib.sha256(piece).digest()
            _put(out, table[i][0] + PIECE_DESC.offset("sha256"), digest)
    out[168:200] = SLM2_MERKLE.root(leaves)
    for at, _ in _rows(out, head["shard_table_off"], min(head["shard_count"], 1), SHARD_DESC):
        digest = hashlib.sha256(bytes(out[body:])).digest()
        _put(out, at + SHARD_DESC.offset("shard_sha256"), digest)
