"""A set of pieces as the inspector reads it, from docs/formats/slmset.md: findings, no exceptions.

Where every piece is sound and the file is of moderate size, the file that they make is inspected,
too; a larger one is put together by `trlm slmset join` and inspected then.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import brotli
import zstandard

from trlm_lab.base.records.inspection import Finding
from trlm_lab.errors import InspectCborError
from trlm_lab.inspector.cbor import read_cbor
from trlm_lab.inspector.fixes import FIXES, PACK_AGAIN
from trlm_lab.inspector.inspect import inspect_bytes
from trlm_lab.inspector.pieces import PIECE, merkle_root

TOP = {
    "schema": str, "file_sha256": bytes, "file_len": int, "front_sha256": bytes, "front_len": int,
    "merkle_root": bytes, "pieces": list, "shards": list,
}  # fmt: skip
PIECES = {
    "piece_index": int, "shard_index": int, "file_off": int, "stored_len": int, "logical_len": int,
    "sha256": bytes, "stored_sha256": bytes,
}  # fmt: skip
SHARDS = {
    "shard_index": int, "kind": int, "codec": int, "artifact_family": int, "shard_len": int,
    "shard_sha256": bytes,
}  # fmt: skip
MANIFEST_BYTES, PIECE_BYTES, FRONT_BYTES = 4 << 20, 2 << 20, 1 << 30
#: A file up to this size is put together in memory and inspected.
MODERATE = 256 << 20


class _Stop(Exception):
    """A rule whose break ends the reading."""

    def __init__(self, code: str, where: str, detail: str) -> None:
        super().__init__(detail)
        self.finding = Finding(code, where, detail, FIXES.get(code, PACK_AGAIN))


def inspect_set(root: Path) -> tuple[Finding, ...]:
    """Every fault of a set: the first of its manifest or front matter, or all of its pieces."""
    try:
        manifest = _manifest(root)
        front = _front(root, manifest)
    except _Stop as stop:
        return (stop.finding,)
    findings = [stop.finding for shard in manifest["shards"] for stop in _shard(root, shard)]
    whole, digests, leaves = bytearray(front), hashlib.sha256(front), []
    keep = manifest["file_len"] <= MODERATE
    sound = True
    for piece in manifest["pieces"]:
        try:
            data = _piece(root, piece, manifest["shards"][piece["shard_index"]]["codec"])
        except _Stop as stop:
            findings.append(stop.finding)
            sound = False
            continue
        digests.update(data)
        leaves.append(hashlib.sha256(b"\0" + data).digest())
        whole += data if keep else b""
    if sound:
        for what, got, wanted in (
            ("the file's hash", digests.digest(), manifest["file_sha256"]),
            ("the Merkle root", merkle_root(leaves), manifest["merkle_root"]),
        ):
            if got != wanted:
                detail = f"{what} is {got.hex()}"
                findings.append(_Stop("SLMSET_IDENTITY", "the set", detail).finding)
    if sound and keep and not findings:
        findings += inspect_bytes(memoryview(whole)).findings
    return tuple(findings)


def _read(path: Path, most: int, what: str) -> bytes:
    if not path.is_file():
        raise _Stop("SLMSET_FILE", path.name, f"{what} is not there")
    with path.open("rb") as stream:
        return stream.read(most)


def _manifest(root: Path) -> dict[str, Any]:
    raw = _read(root / "manifest.cbor", MANIFEST_BYTES + 1, "the manifest")
    if len(raw) > MANIFEST_BYTES:
        raise _Stop("SLMSET_POLICY", "manifest.cbor", f"above {MANIFEST_BYTES} bytes")
    try:
        found = read_cbor(raw)
    except InspectCborError as error:
        raise _broken(f"{error.where}: {error.detail}") from error
    _typed(found, TOP, "the manifest")
    if found["schema"] != "trlm.slmset.v1":
        raise _broken(f"the schema {found['schema']!r}")
    for name, wanted in (("pieces", PIECES), ("shards", SHARDS)):
        for row in found[name]:
            _typed(row, wanted, name)
    _sizes(found)
    _shards(found)
    _pieces(found)
    return found  # type: ignore[no-any-return]


def _broken(detail: str) -> _Stop:
    return _Stop("SLMSET_MANIFEST", "manifest.cbor", detail)


def _typed(row: Any, wanted: dict[str, type], what: str) -> None:
    if not isinstance(row, dict) or row.keys() != wanted.keys():
        raise _broken(f"other keys in {what}")
    for name, kind in wanted.items():
        value = row[name]
        good = type(value) is kind
        if good and kind is int:
            good = 0 <= value < 1 << 64
        if not good or (kind is bytes and len(value) != 32):
            raise _broken(f"{name} in {what} is {str(value)[:40]!r}")


def _sizes(found: dict[str, Any]) -> None:
    if found["front_len"] > FRONT_BYTES:
        raise _Stop("SLMSET_POLICY", "manifest.cbor", f"front_len {found['front_len']}")
    if found["front_len"] == 0 or found["front_len"] % 4096:
        raise _broken(f"front_len {found['front_len']} is no multiple of 4096")
    if found["file_len"] <= found["front_len"]:
        raise _broken(f"file_len {found['file_len']} leaves no body")


def _shards(found: dict[str, Any]) -> None:
    stored: dict[int, int] = {}
    for piece in found["pieces"]:
        stored[piece["shard_index"]] = stored.get(piece["shard_index"], 0) + piece["stored_len"]
    for index, shard in enumerate(found["shards"]):
        if shard["kind"] > 2 or shard["codec"] > 2:
            raise _broken(f"kind {shard['kind']} and codec {shard['codec']} of shard {index}")
        if shard["kind"]:
            raise _Stop("SLMSET_UNSUPPORTED", "manifest.cbor", f"kind {shard['kind']}")
        if (shard["shard_index"], shard["artifact_family"]) != (index, 0):
            raise _broken(f"number or family of shard {index}")
        if shard["shard_len"] == 0 or stored.pop(index, 0) != shard["shard_len"]:
            raise _broken(f"shard {index} is not as long as its pieces")
    if stored:
        raise _broken("pieces of a shard that is not listed")


def _pieces(found: dict[str, Any]) -> None:
    left, shard, at = found["file_len"] - found["front_len"], 0, 0
    if len(found["pieces"]) != -(-left // PIECE):
        raise _broken(f"{len(found['pieces'])} pieces for {left} bytes")
    for index, piece in enumerate(found["pieces"]):
        if max(piece["logical_len"], piece["stored_len"]) > PIECE_BYTES:
            raise _Stop("SLMSET_POLICY", "manifest.cbor", f"piece {index} is above 2 MiB")
        if index and piece["shard_index"] == shard + 1:
            shard, at = shard + 1, 0
        logical = min(PIECE, left)
        wanted = (index, shard, at, logical)
        names = ("piece_index", "shard_index", "file_off", "logical_len")
        raw = found["shards"][shard]["codec"] == 0
        if tuple(piece[n] for n in names) != wanted or piece["stored_len"] == 0:
            raise _broken(f"piece {index} is not {wanted}")
        if raw and piece["stored_len"] != logical:
            raise _broken(f"piece {index} is raw and has another stored length")
        at, left = at + piece["stored_len"], left - logical


def _front(root: Path, manifest: dict[str, Any]) -> bytes:
    size = manifest["front_len"]
    raw = _read(root / "front.bin", size + 1, "the front matter")
    if len(raw) != size:
        raise _Stop("SLMSET_FILE", "front.bin", f"not {size} bytes long")

    def number(at: int, width: int) -> int:
        return int.from_bytes(raw[at : at + width], "little")

    count, table = number(88, 4), number(80, 8)
    facts = (
        hashlib.sha256(raw).digest() == manifest["front_sha256"],
        (raw[:4], number(4, 2), number(6, 2)) == (b"SLM2", 2, 0),
        number(128, 8) == manifest["file_len"],
        number(224, 8) == size,
        raw[168:200] == manifest["merkle_root"],
        count == len(manifest["pieces"]),
        table + 56 * count <= size,
    )
    if not all(facts):
        raise _Stop(
            "SLMSET_FRONT", "front.bin", "another hash, or another file than the manifest's"
        )
    for i, piece in enumerate(manifest["pieces"]):
        at = table + 56 * i
        if (number(at + 20, 4), raw[at + 24 : at + 56]) != (piece["logical_len"], piece["sha256"]):
            raise _Stop("SLMSET_FRONT", "front.bin", f"the piece table says otherwise of piece {i}")
    return raw


def _shard(root: Path, shard: dict[str, Any]) -> list[_Stop]:
    """Length and hash of a shard's file."""
    name = f"shard-{shard['shard_index']:05d}.bin"
    path = root / name
    if not path.is_file():
        return [_Stop("SLMSET_FILE", name, "is not there")]
    if path.stat().st_size != shard["shard_len"]:
        return [_Stop("SLMSET_FILE", name, f"{path.stat().st_size} bytes")]
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").digest()
    if digest != shard["shard_sha256"]:
        return [_Stop("SLMSET_SHARD_HASH", name, f"has the hash {digest.hex()}")]
    return []


def _piece(root: Path, piece: dict[str, Any], codec: int) -> bytes:
    name = f"shard-{piece['shard_index']:05d}.bin"
    where = f"{name}: piece {piece['piece_index']}"
    if not (root / name).is_file():
        raise _Stop("SLMSET_FILE", where, "the shard is not there")
    with (root / name).open("rb") as stream:
        stream.seek(piece["file_off"])
        stored = stream.read(piece["stored_len"])
    if len(stored) != piece["stored_len"]:
        raise _Stop("SLMSET_FILE", where, f"{len(stored)} bytes are there")
    if hashlib.sha256(stored).digest() != piece["stored_sha256"]:
        raise _Stop("SLMSET_STORED_HASH", where, "the stored bytes have another hash")
    data = _decoded(stored, codec, piece["logical_len"], where)
    if len(data) != piece["logical_len"]:
        code = "SLMSET_TOO_LONG" if len(data) > piece["logical_len"] else "SLMSET_TOO_SHORT"
        raise _Stop(code, where, f"not {piece['logical_len']} bytes")
    if hashlib.sha256(data).digest() != piece["sha256"]:
        raise _Stop("SLMSET_LOGICAL_HASH", where, "the piece has another hash")
    return data


def _decoded(stored: bytes, codec: int, size: int, where: str) -> bytes:
    """At most a byte more than `size`, of one whole frame or stream."""
    if codec == 0:
        return stored
    try:
        return (_zstd if codec == 1 else _brotli)(stored, size)
    except (zstandard.ZstdError, brotli.error, ValueError) as error:
        raise _Stop("SLMSET_DECODE", where, str(error)) from error


def _zstd(stored: bytes, size: int) -> bytes:
    decoder = zstandard.ZstdDecompressor(max_window_size=PIECE_BYTES)
    with decoder.stream_reader(stored, read_across_frames=False) as reader:
        found: bytes = reader.read(size + 1)
    if len(found) > size:
        return found
    # Bounded now, so that the end of the frame can be looked for.
    once = decoder.decompressobj()
    once.decompress(stored)
    if not once.eof or once.unused_data:
        raise ValueError("no whole frame, or bytes behind it")
    return found


def _brotli(stored: bytes, size: int) -> bytes:
    decoder = brotli.Decompressor()
    found = decoder.process(stored, output_buffer_limit=size + 1)
    while len(found) <= size and not decoder.is_finished():
        more = decoder.process(b"", output_buffer_limit=size + 1 - len(found))
        if not more:
            break
        found += more
    if len(found) <= size and not decoder.is_finished():
        raise ValueError("a stream that is cut short")
    return bytes(found)
