"""Inclusion proofs that stand alone: pieces with their paths to the Merkle root.

A proof of rows of a tensor also carries the front matter, whose SHA-256 binds where the tensor lies
and how it is stored. Whoever verifies trusts the root, and beside it the front matter's hash (for
rows) or the number of pieces (for a piece), and needs no other byte of the artifact: a root alone
does not say how many leaves it has, and under another number a path leads to another place.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from trlm_lab.base import canon
from trlm_lab.base.canon_items import require_items
from trlm_lab.errors import (
    NotCanonicalError,
    SlmError,
    SlmNoTensorError,
    SlmProofError,
    SlmsetIdentityError,
    SlmsetProofError,
)
from trlm_lab.slm.descriptors import TensorDesc
from trlm_lab.slm.layout import HEADER, PIECE_SIZE, TENSOR_DESC
from trlm_lab.slm.merkle import SLM2_MERKLE, verify_piece
from trlm_lab.slm.numbers import Layout
from trlm_lab.slm.read import open_slm
from trlm_lab.slm.strings import read_strings
from trlm_lab.slm.verify import piece_views, verify_identity
from trlm_lab.slm.window import Window
from trlm_lab.slmset.files import mapped
from trlm_lab.slmset.layout import PROOF_SCHEMA
from trlm_lab.slmset.reader import open_set

Spans = list[tuple[int, int]]


@dataclass(frozen=True)
class _Source:
    """An artifact as a set or a file: leaves of its tree, and single pieces."""

    front: bytes
    root: bytes
    leaves: list[bytes]
    piece: Callable[[int], bytes]


@dataclass(frozen=True)
class Proved:
    """What a proof shows: `spans` are byte ranges of the single file, `data` their bytes."""

    merkle_root: bytes
    pieces: tuple[int, ...]
    tensor: str
    rows: tuple[int, int]
    spans: tuple[tuple[int, int], ...]
    data: tuple[bytes, ...]


def prove_piece(path: Path, index: int) -> bytes:
    """The proof document of one piece of an SLM2 file or of a set.

    Raises:
        SlmProofError: no such piece.
        SlmsetError, SlmError: the artifact is malformed or damaged.
    """
    source = _source(path)
    return canon.encode(_document(source, [index]))


def prove_rows(path: Path, tensor: str, low: int, high: int) -> bytes:
    """The proof document of rows `low` to `high` of a tensor: their data, and scales if it has any.

    Raises:
        SlmNoTensorError: no such tensor.
        SlmsetProofError: no such rows.
        SlmsetError, SlmError: the artifact is malformed or damaged.
    """
    source = _source(path)
    spans = _spans(source.front, tensor, low, high)
    body = len(source.front)
    wanted = sorted({i for span in spans for i in _pieces_of(span, body)})
    row = {"tensor": tensor, "low": low, "high": high, "front": source.front}
    return canon.encode(_document(source, wanted) | row)


def _source(path: Path) -> _Source:
    if path.is_dir():
        opened = open_set(path)
        rows = opened.manifest.pieces
        leaves = [SLM2_MERKLE.leaf(opened.piece(row)) for row in rows]
        root, found = opened.manifest.merkle_root, SLM2_MERKLE.root(leaves)
        if found != root:
            raise SlmsetIdentityError(
                where=str(path), field="the Merkle root", got=found.hex(), expected=root.hex()
            )
        return _Source(opened.front, root, leaves, lambda i: opened.piece(rows[i]))
    slm = open_slm(mapped(path), where=path.name)
    verify_identity(slm)
    views = list(piece_views(slm))
    front = bytes(slm.view[: slm.header.body_off])
    leaves = [SLM2_MERKLE.leaf(view) for view in views]
    return _Source(front, slm.header.merkle_root_sha256, leaves, lambda i: bytes(views[i]))


def _document(source: _Source, wanted: list[int]) -> dict[str, Any]:
    paths = [SLM2_MERKLE.proof(source.leaves, index) for index in wanted]
    return {
        "schema": PROOF_SCHEMA,
        "scheme": SLM2_MERKLE.name,
        "merkle_root": source.root,
        "piece_count": len(source.leaves),
        "pieces": [
            {"index": index, "data": source.piece(index), "path": path}
            for index, path in zip(wanted, paths, strict=True)
        ],
    }


def _pieces_of(span: tuple[int, int], body: int) -> range:
    return range((span[0] - body) // PIECE_SIZE, (span[1] - body - 1) // PIECE_SIZE + 1)


def _spans(front: bytes, tensor: str, low: int, high: int) -> Spans:
    """Where the rows of a tensor lie in the single file, by the front matter alone."""
    if len(front) < HEADER.size:
        _refuse("the front matter", f"{len(front)} bytes", f"at least {HEADER.size}")
    view = memoryview(front)
    header = HEADER.unpack(view, 0)
    window = Window(view, "front matter")
    start = header["string_table_off"]
    table = header["tensor_dir_off"]
    end = max(start + header["string_table_len"], table + header["tensor_count"] * TENSOR_DESC.size)
    if end > len(front):
        _refuse("the front matter", "tables beyond its end", "tables inside it")
    names = read_strings(window, start, header["string_table_len"])
    rows = [
        TensorDesc(**TENSOR_DESC.unpack(view, table + i * TENSOR_DESC.size))
        for i in range(header["tensor_count"])
    ]
    named = {names[row.name_id]: row for row in rows if row.name_id < len(names)}
    if tensor not in named:
        count = f"{len(rows)} tensors"
        raise SlmNoTensorError(field="the artifact", got=count, expected=repr(tensor))
    row = named[tensor]
    if row.layout == Layout.alias and row.alias_of < len(rows):
        row = rows[row.alias_of]
    if row.layout != Layout.dense or row.row_stride == 0:
        _refuse("the tensor", "without rows of its own", "dense")
    stored = row.data_len // row.row_stride
    if not 0 <= low < high <= stored:
        _refuse("the rows", (low, high), f"inside 0 to {stored}")
    spans = [(row.data_off + low * row.row_stride, row.data_off + high * row.row_stride)]
    if row.aux_len:
        each = row.aux_len // stored
        spans.append((row.aux_off + low * each, row.aux_off + high * each))
    return spans


def verify_proof(
    document: bytes,
    merkle_root: bytes,
    front_sha256: bytes | None = None,
    *,
    piece_count: int | None = None,
) -> Proved:
    """Check a proof against what the caller trusts; what it shows.

    `front_sha256` is needed for rows of a tensor, `piece_count` for a piece.

    Raises:
        SlmsetProofError: malformed, or of another artifact.
        SlmProofError: a path that does not lead to the root.
    """
    row = _read(document)
    if row["merkle_root"] != merkle_root:
        _refuse("the root", row["merkle_root"].hex(), merkle_root.hex())
    pieces: dict[int, bytes] = {}
    for piece in row["pieces"]:
        verify_piece(piece["data"], piece["index"], row["piece_count"], piece["path"], merkle_root)
        pieces[piece["index"]] = piece["data"]
    if "tensor" not in row:
        _check_count(row["piece_count"], piece_count)
        return Proved(merkle_root, tuple(pieces), "", (0, 0), (), tuple(pieces.values()))
    front, low, high = row["front"], row["low"], row["high"]
    if front_sha256 is None:
        _refuse("the front matter", "no hash to hold it against", "front_sha256")
    if hashlib.sha256(front).digest() != front_sha256:
        got = hashlib.sha256(front).hexdigest()
        _refuse("the front matter", got, front_sha256.hex())
    try:
        spans = _spans(front, row["tensor"], low, high)
    except SlmError as error:
        raise SlmsetProofError(field="the rows", got=str(error), expected="rows in it") from error
    _check_count(row["piece_count"], HEADER.unpack(memoryview(front), 0)["piece_count"])
    data = tuple(_cut(span, len(front), pieces) for span in spans)
    return Proved(merkle_root, tuple(pieces), row["tensor"], (low, high), tuple(spans), data)


def _check_count(said: int, trusted: int | None) -> None:
    """Refuse another number of pieces than the trusted one: places in the tree follow from it."""
    if trusted is None:
        _refuse("the number of pieces", said, "one to hold it against: piece_count")
    if said != trusted:
        _refuse("the number of pieces", said, trusted)


def _cut(span: tuple[int, int], body: int, pieces: dict[int, bytes]) -> bytes:
    """The bytes of a span out of the proved pieces."""
    out = bytearray()
    for index in _pieces_of(span, body):
        start = body + index * PIECE_SIZE
        low, high = max(span[0] - start, 0), min(span[1] - start, PIECE_SIZE)
        part = pieces.get(index, b"")[low:high]
        if len(part) != high - low:
            _refuse("the pieces", f"piece {index} absent or short", "every piece of the rows")
        out += part
    return bytes(out)


#: Values of a proof beside its pieces and for the last one; of each whole piece: keys and path.
_FEW, _EACH = 200, 100
_KEYS = {"schema": str, "scheme": str, "merkle_root": bytes, "piece_count": int, "pieces": list}
_ROW_KEYS = {"tensor": str, "low": int, "high": int, "front": bytes}
_PIECE_KEYS = {"index": int, "data": bytes, "path": list}


def _read(document: bytes) -> dict[str, Any]:
    try:
        require_items(document, _FEW + _EACH * (len(document) // PIECE_SIZE), where="proof")
        row = canon.decode(document, where="proof")
    except NotCanonicalError as error:
        raise SlmsetProofError(
            where="proof", field="the document", got=error.facts["detail"],
            expected="canonical CBOR",
        ) from error  # fmt: skip
    keys = _KEYS | (_ROW_KEYS if isinstance(row, dict) and "tensor" in row else {})
    _check_keys(row, keys)
    if (row["schema"], row["scheme"]) != (PROOF_SCHEMA, SLM2_MERKLE.name):
        _refuse("the schema", (row["schema"], row["scheme"]), (PROOF_SCHEMA, SLM2_MERKLE.name))
    for piece in row["pieces"]:
        _check_keys(piece, _PIECE_KEYS)
        if not all(type(one) is bytes and len(one) == 32 for one in piece["path"]):
            _refuse("a path", "other than hashes", "hashes of 32 bytes")
    if not row["pieces"]:
        _refuse("the pieces", "none", "at least one")
    return dict(row)


def _check_keys(row: Any, wanted: dict[str, type]) -> None:
    if not isinstance(row, dict) or row.keys() != wanted.keys():
        got = sorted(row) if isinstance(row, dict) else type(row).__name__
        _refuse("the keys", got, sorted(wanted))
    for name, kind in wanted.items():
        if type(row[name]) is not kind:
            _refuse(name, type(row[name]).__name__, kind.__name__)


def _refuse(field: str, got: Any, expected: Any) -> NoReturn:
    raise SlmsetProofError(where="proof", field=field, got=got, expected=expected)


__all__ = ["Proved", "SlmProofError", "prove_piece", "prove_rows", "verify_proof"]
