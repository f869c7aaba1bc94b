"""The JSON documents of a trace: zarr 3 metadata whose bytes follow from the digests alone.

A chunk is one whole slab, stored uncompressed, so the SHA-256 of a chunk file is the digest of
the array it holds. Documents are written and read here byte for byte (zarr specification 3.0,
sections on groups, arrays, the regular grid, the default key encoding and the bytes codec), which
lets a reader notice any changed byte; zarr and xarray open them as they stand.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trlm_lab.base import canon, strict_json
from trlm_lab.base.plain_file import read_plain
from trlm_lab.base.records import ArrayDigest, Case, CaseTrace, EngineIdentity
from trlm_lab.errors import NotEncodableError, TraceCorruptError, TrlmError
from trlm_lab.traces.intake import in_trace_order
from trlm_lab.traces.places import place_of

TRACE_SCHEMA = "trlm.trace.v1"
CASE_SCHEMA = "trlm.trace.case.v1"
DOCUMENT = "zarr.json"
FILL = {"float32": "NaN", "int64": 0}


@dataclass(frozen=True)
class StoredCase:
    """What a case group declares: the input, and the digests of what was computed from it."""

    case: Case
    trace: CaseTrace


def to_bytes(document: dict[str, Any]) -> bytes:
    """The one spelling of a document. Raises NotEncodableError."""
    try:
        text = json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise NotEncodableError(where="trace attributes", detail=str(error)) from error
    return text.encode()


def chunk_name(layer: int | None, rank: int) -> str:
    """File name of a slab of `rank` axes inside the directory of its array."""
    return ".".join(["c", *([] if layer is None else [str(layer)]), *["0"] * rank])


def chunk_path(name: str, rank: int) -> Path:
    """Path of an array's slab below the directory of its case."""
    place = place_of(name)
    return Path(place.array) / chunk_name(place.layer, rank)


def _group(attributes: dict[str, Any]) -> dict[str, Any]:
    return {"attributes": attributes, "node_type": "group", "zarr_format": 3}


def _sealed(attributes: dict[str, Any]) -> dict[str, Any]:
    return _group({**attributes, "record_sha256": canon.content_id(attributes)})


def header_document(identity: EngineIdentity, subject: dict[str, Any]) -> dict[str, Any]:
    """The root group without its cases: who computed, and what was run."""
    return _sealed({"schema": TRACE_SCHEMA, "engine": identity.to_map(), "subject": subject})


def case_document(stored: StoredCase) -> dict[str, Any]:
    """The group of one complete case."""
    arrays = [[a.name, a.dtype, list(a.shape), a.sha256] for a in stored.trace.arrays]
    return _sealed({"schema": CASE_SCHEMA, "case": stored.case.to_map(), "arrays": arrays})


def array_documents(trace: CaseTrace) -> dict[str, dict[str, Any]]:
    """The stored arrays of a case, by name; slabs of one operator are stacked along L."""
    slabs: dict[str, list[ArrayDigest]] = {}
    for digest in trace.arrays:
        slabs.setdefault(place_of(digest.name).array, []).append(digest)
    return {array: _array(found) for array, found in sorted(slabs.items())}


def _array(slabs: list[ArrayDigest]) -> dict[str, Any]:
    first = slabs[0]
    place = place_of(first.name)
    shape, chunk = list(first.shape), list(first.shape)
    if place.layer is not None:
        layers = [place_of(slab.name).layer or 0 for slab in slabs]
        shape, chunk = [max(layers) + 1, *shape], [1, *chunk]
    separator = {"separator": "."}
    return {
        "attributes": {},
        "chunk_grid": {"configuration": {"chunk_shape": chunk}, "name": "regular"},
        "chunk_key_encoding": {"configuration": separator, "name": "default"},
        "codecs": [{"configuration": {"endian": "little"}, "name": "bytes"}],
        "data_type": first.dtype,
        "dimension_names": list(place.dimensions(len(first.shape))),
        "fill_value": FILL[first.dtype],
        "node_type": "array",
        "shape": shape,
        "zarr_format": 3,
    }


def root_document(header: dict[str, Any], cases: dict[str, StoredCase]) -> dict[str, Any]:
    """The root group with all metadata below it inlined, so that opening reads one file."""
    metadata: dict[str, Any] = {}
    for case_id, stored in sorted(cases.items()):
        metadata[case_id] = case_document(stored)
        for array, document in array_documents(stored.trace).items():
            metadata[f"{case_id}/{array}"] = document
    inline = {"kind": "inline", "metadata": metadata, "must_understand": False}
    return {**header, "consolidated_metadata": inline}


def read_document(path: Path) -> tuple[dict[str, Any], bytes]:
    """A JSON object and its bytes. Raises TraceCorruptError."""
    try:
        data = read_plain(path)
    except (OSError, TrlmError) as error:
        raise TraceCorruptError(where=str(path), detail=f"cannot be read: {error}") from error
    try:
        document = strict_json.loads(data)
    except TrlmError as error:
        raise TraceCorruptError(where=str(path), detail=error.detail) from error
    if not isinstance(document, dict):
        raise TraceCorruptError(where=str(path), detail="no JSON object")
    return document, data


def parse_header(document: dict[str, Any], where: str) -> tuple[EngineIdentity, dict[str, Any]]:
    """Engine and subject of a root group. Raises TraceCorruptError."""
    try:
        attributes = document["attributes"]
        identity = EngineIdentity(**attributes["engine"])
        subject = dict(attributes["subject"])
        again = header_document(identity, subject)
    except (KeyError, TypeError, ValueError, TrlmError) as error:
        raise TraceCorruptError(where=where, detail=f"bad attributes: {error}") from error
    kept = {key: value for key, value in document.items() if key != "consolidated_metadata"}
    if to_bytes(kept) != to_bytes(again):
        raise TraceCorruptError(where=where, detail="the attributes contradict their hash")
    return identity, subject


def _declared(name: str, dtype: str, shape: list[int], sha256: str) -> ArrayDigest:
    """A digest that an array can have. Raises ValueError, TypeError, ObservationError."""
    if dtype not in FILL or not all(type(n) is int and n > 0 for n in shape):
        raise ValueError(f"{name} is declared as {dtype} of shape {shape}")
    place_of(name)
    return ArrayDigest(name, dtype, tuple(shape), sha256)


def _require_once(names: tuple[str, ...]) -> None:
    if len(set(names)) != len(names):
        raise ValueError("an array is declared twice")


def parse_case(document: dict[str, Any], data: bytes, where: str) -> StoredCase:
    """The declarations of a case group. Raises TraceCorruptError."""
    try:
        attributes = document["attributes"]
        given: dict[str, Any] = attributes["case"]
        row: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in given.items()}
        case = Case(**row)
        digests = [_declared(*row) for row in attributes["arrays"]]
        stored = StoredCase(case, CaseTrace(case.case_id, case.digest, in_trace_order(digests)))
        again = to_bytes(case_document(stored))
        _require_once(stored.trace.names)
    except (AttributeError, KeyError, TypeError, ValueError, TrlmError) as error:
        raise TraceCorruptError(where=where, detail=f"bad attributes: {error}") from error
    if again != data:
        raise TraceCorruptError(where=where, detail="the attributes contradict their hash")
    return stored
