"""The JSON documents of a trace: zarr 3 metadata whose bytes follow from the digests alone.

Documents are written and read here byte for byte (zarr specification 3.0, sections on groups,
arrays, the regular grid, the default key encoding, the bytes and the sharding codec), which lets a
reader notice any changed byte; zarr and xarray open them as they stand.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from trlm_lab.base import canon, strict_json
from trlm_lab.base.plain_file import read_plain
from trlm_lab.base.records import ArrayDigest, Case, CaseTrace, EngineIdentity
from trlm_lab.errors import NotEncodableError, TraceCorruptError, TrlmError
from trlm_lab.traces.intake import in_trace_order
from trlm_lab.traces.layout import StoredArray, stored_arrays
from trlm_lab.traces.picks import Pick
from trlm_lab.traces.places import PICKED, STATISTICS, place_of
from trlm_lab.traces.statistics import FIGURES

TRACE_SCHEMA = "trlm.trace.v2"
CASE_SCHEMA = "trlm.trace.case.v2"
DOCUMENT = "zarr.json"
FILL = {"float32": "NaN", "float64": "NaN", "int64": 0}
#: Bytes that an array may be declared to have.
MOST_BYTES = 1 << 40


@dataclass(frozen=True)
class StoredCase:
    """What a case group declares: the input, and the digests of what was computed from it.

    `pick` are the heads and query rows of its squares that stand for the whole, if any do.
    """

    case: Case
    trace: CaseTrace
    pick: Pick | None = None

    @property
    def names(self) -> frozenset[str]:
        """Names of its stored arrays, stand-ins among them."""
        return frozenset(self.trace.names)

    @cached_property
    def arrays(self) -> list[StoredArray]:
        """Its arrays, by name. Raises ValueError: slabs of one array differ in dtype or shape."""
        return stored_arrays(self.trace.arrays)


def to_bytes(document: dict[str, Any]) -> bytes:
    """The one spelling of a document. Raises NotEncodableError."""
    try:
        text = json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise NotEncodableError(where="trace attributes", detail=str(error)) from error
    return text.encode()


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
    picked = {} if stored.pick is None else {"squares": stored.pick.to_map()}
    attributes = {"schema": CASE_SCHEMA, "case": stored.case.to_map(), "arrays": arrays, **picked}
    return _sealed(attributes)


def array_documents(stored: StoredCase) -> dict[str, dict[str, Any]]:
    """The documents of the arrays of a case, by name."""
    return {array.name: _array(array, stored.pick) for array in stored.arrays}


def _array(array: StoredArray, pick: Pick | None) -> dict[str, Any]:
    first = array.first
    outer, inner = array.cut.grid(array.layers)
    shape = list(first.shape)
    return {
        "attributes": _explained(array.name, pick),
        "chunk_grid": {"configuration": {"chunk_shape": outer}, "name": "regular"},
        "chunk_key_encoding": {"configuration": {"separator": "."}, "name": "default"},
        "codecs": [_LITTLE if outer == inner else _sharded(inner)],
        "data_type": first.dtype,
        "dimension_names": list(place_of(first.name).dimensions(len(first.shape))),
        "fill_value": FILL[first.dtype],
        "node_type": "array",
        "shape": [array.layers, *shape] if array.stacked else shape,
        "zarr_format": 3,
    }


_LITTLE = {"configuration": {"endian": "little"}, "name": "bytes"}


def _sharded(chunk: list[int]) -> dict[str, Any]:
    configuration = {
        "chunk_shape": chunk,
        "codecs": [_LITTLE],
        "index_codecs": [_LITTLE, {"name": "crc32c"}],
        "index_location": "end",
    }
    return {"configuration": configuration, "name": "sharding_indexed"}


def _explained(array: str, pick: Pick | None) -> dict[str, Any]:
    """What the axes of a stand-in mean."""
    if array.endswith(STATISTICS):
        return {"figures": list(FIGURES)}
    return pick.to_map() if pick is not None and array.endswith(PICKED) else {}


def root_document(header: dict[str, Any], cases: dict[str, StoredCase]) -> dict[str, Any]:
    """The root group with all metadata below it inlined, so that opening reads one file."""
    metadata: dict[str, Any] = {}
    for case_id, stored in sorted(cases.items()):
        metadata[case_id] = case_document(stored)
        for array, document in array_documents(stored).items():
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
    bad = dtype not in FILL or (dtype == "float64") is not name.endswith(STATISTICS)
    if bad or not all(type(n) is int and n > 0 for n in shape):
        raise ValueError(f"{name} is declared as {dtype} of shape {shape}")
    if math.prod(shape) * np.dtype(dtype).itemsize > MOST_BYTES:
        raise ValueError(f"{name} is declared with more than {MOST_BYTES} bytes")
    place_of(name)
    return ArrayDigest(name, dtype, tuple(shape), sha256)


def _require_arrays(stored: StoredCase) -> None:
    """Each array once, slabs alike, and picked ones only with what was picked."""
    if len(stored.names) != len(stored.trace.arrays):
        raise ValueError("an array is declared twice")
    _ = stored.arrays
    if any(name.endswith(PICKED) for name in stored.names) is (stored.pick is None):
        raise ValueError("picked squares and their heads and rows stand together or not at all")


def parse_case(document: dict[str, Any], data: bytes, where: str) -> StoredCase:
    """The declarations of a case group. Raises TraceCorruptError."""
    try:
        attributes = document["attributes"]
        given: dict[str, Any] = attributes["case"]
        row: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in given.items()}
        case = Case(**row)
        digests = [_declared(*row) for row in attributes["arrays"]]
        pick = Pick.from_map(attributes["squares"]) if "squares" in attributes else None
        trace = CaseTrace(case.case_id, case.digest, in_trace_order(digests))
        stored = StoredCase(case, trace, pick)
        _require_arrays(stored)
        again = to_bytes(case_document(stored))
    except (AttributeError, KeyError, TypeError, ValueError, TrlmError) as error:
        raise TraceCorruptError(where=where, detail=f"bad attributes: {error}") from error
    if again != data:
        raise TraceCorruptError(where=where, detail="the attributes contradict their hash")
    return stored
