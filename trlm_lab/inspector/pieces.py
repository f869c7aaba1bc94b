"""The piece and shard tables, and the Merkle root, as the inspector computes it."""

from __future__ import annotations

import hashlib

from trlm_lab.base.records.inspection import InspectedPiece
from trlm_lab.inspector.report import Report

PIECE = 1048576


def merkle_root(leaves: list[bytes]) -> bytes:
    """RFC 9162 root by joining equal-sized subtrees as they fill, then the rest from the right."""
    stack: list[tuple[int, bytes]] = []
    for leaf in leaves:
        stack.append((1, leaf))
        while len(stack) > 1 and stack[-1][0] == stack[-2][0]:
            size, right = stack.pop()
            _, left = stack.pop()
            stack.append((2 * size, hashlib.sha256(b"\x01" + left + right).digest()))
    while len(stack) > 1:
        _, right = stack.pop()
        _, left = stack.pop()
        stack.append((0, hashlib.sha256(b"\x01" + left + right).digest()))
    return stack[0][1] if stack else hashlib.sha256().digest()


def read_pieces(report: Report, header: dict[str, int]) -> tuple[InspectedPiece, ...]:
    """The rows of the piece table; notes those that the body contradicts."""
    body, size = header["body_off"], len(report.view)
    wanted = -(-(size - body) // PIECE)
    if header["piece_count"] != wanted:
        report.add("SLM_PIECES", 88, f"piece_count is {header['piece_count']}, not {wanted}")
    rows = []
    for i in range(min(header["piece_count"], wanted)):
        at = header["piece_table_off"] + 56 * i
        fields = [report.number(at + o, n) for o, n in ((0, 4), (4, 4), (8, 8), (16, 4), (20, 4))]
        start = body + i * PIECE
        length = min(PIECE, max(size - start, 0))
        if fields != [i, 0, start, length, length]:
            report.add(
                "SLM_PIECES", at, f"piece {i} is {fields}, not [{i}, 0, {start}, {length}, ...]"
            )
        index, shard, offset, stored, logical = fields
        digest = report.raw(at + 24, 32).hex()
        rows.append(InspectedPiece(index, shard, offset, stored, logical, digest))
    return tuple(rows)


def check_shard(report: Report, header: dict[str, int]) -> None:
    """The one shard: the body, local file, no codec, family 0."""
    at = header["shard_table_off"]
    body_len = len(report.view) - header["body_off"]
    index, kind, codec, family, length = (
        report.number(at + o, n) for o, n in ((0, 4), (4, 2), (6, 2), (8, 4), (12, 8))
    )
    for place, name, number in ((4, "kind", kind), (6, "codec", codec)):
        if number:
            code = "SLM_UNSUPPORTED" if number <= 2 else "SLM_UNKNOWN_NUMBER"
            report.add(code, at + place, f"the {name} {number} of a single file's shard")
    if (index, family, length) != (0, 0, body_len):
        detail = f"index, family and length {index}, {family}, {length}, not 0, 0, {body_len}"
        report.add("SLM_PIECES", at, f"the shard has {detail}")
    body = report.view[header["body_off"] :]
    report.hash("shard", report.raw(at + 20, 32), hashlib.sha256(body).digest())


def check_piece_hashes(
    report: Report, header: dict[str, int], rows: tuple[InspectedPiece, ...]
) -> None:
    """Every piece of the body against the table, and their Merkle root against the header."""
    leaves = []
    for i, start in enumerate(range(header["body_off"], len(report.view), PIECE)):
        piece = report.view[start : start + PIECE]
        leaf = hashlib.sha256(b"\x00")
        leaf.update(piece)
        leaves.append(leaf.digest())
        if i < len(rows):
            stored = bytes.fromhex(rows[i].sha256)
            report.hash(f"piece {i}", stored, hashlib.sha256(piece).digest())
    report.hash("merkle_root", report.raw(168, 32), merkle_root(leaves))
