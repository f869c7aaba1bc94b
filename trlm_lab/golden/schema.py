"""From a decoded document to a `GoldenCase`: every key, type and limit of the format page.

Maps are judged key set first (unknown, then missing), then field by field in the page's order, so
that every reader gives the same first code. All limits are checked on numbers alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from trlm_lab.errors import (
    GoldenBytesError,
    GoldenDimensionError,
    GoldenDuplicateNameError,
    GoldenMissingKeyError,
    GoldenObservationsError,
    GoldenRankError,
    GoldenSchemaError,
    GoldenSealedError,
    GoldenTypeError,
    GoldenUnknownKeyError,
    GoldenUtf8Error,
    GoldenValueError,
    GoldenVersionError,
)
from trlm_lab.golden.limits import (
    ARRAY_BYTES,
    DIMENSION,
    FAMILY,
    ITEM_SIZES,
    KINDS,
    OBSERVATIONS,
    PRIVATE,
    PUBLIC,
    RANK,
    SCHEMA,
)
from trlm_lab.golden.record import GoldenCase, GoldenInput, GoldenObservation, GoldenTopK

T = TypeVar("T")
Reader = Callable[[Any, str], T]


def parse_case(document: Any) -> GoldenCase:
    """Judge a decoded document.

    Raises:
        GoldenError: the first broken rule; `where` is a path such as `$.observations[3].shape`.
    """
    _check_schema(document)
    fields = _Fields(document, "$", _CASE)
    case = GoldenCase(**fields.values(), extras=fields.extras)
    if case.case_class == PRIVATE:
        _check_sealed(case)
    elif case.input.kind == "utf8":
        _check_utf8(case.input.data_or_commitment)
    return case


def _check_schema(document: Any) -> None:
    schema = document.get("schema") if isinstance(document, dict) else None
    if not isinstance(schema, str) or not schema.startswith(FAMILY):
        raise GoldenSchemaError(where="$.schema")
    if schema != SCHEMA:
        raise GoldenVersionError(where="$.schema", schema=schema)


def _check_utf8(data: bytes) -> None:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise GoldenUtf8Error(where="$.input.data_or_commitment") from error


def _check_sealed(case: GoldenCase) -> None:
    given = case.input
    shown = {
        "$.input.data_or_commitment": len(given.data_or_commitment) != 32,
        "$.input.position_ids": given.position_ids is not None,
        "$.input.attention_mask": given.attention_mask is not None,
        "$.observations": bool(case.observations),
        "$.expected_tokens": case.expected_tokens is not None,
        "$.top_k": bool(case.top_k),
        **{f"$.{key}": _reveals(value) for key, value in case.extras.items()},
        **{f"$.input.{key}": _reveals(value) for key, value in given.extras.items()},
    }
    for where, breaks in shown.items():
        if breaks:
            raise GoldenSealedError(where=where, detail="32 bytes of input, nothing computed")


def _reveals(value: Any) -> bool:
    """Whether the value of an `x_` key may be more than a commitment."""
    return not isinstance(value, bytes) or len(value) != 32


class _Fields:
    """One map against its table of keys: `name -> (required, reader)`."""

    def __init__(self, row: Any, where: str, table: dict[str, tuple[bool, Reader[Any]]]) -> None:
        if not isinstance(row, dict):
            raise GoldenTypeError(where=where, wanted="map")
        self.row, self.where, self.table = row, where, table
        self.extras = {k: v for k, v in row.items() if k.startswith("x_")}
        for key in row:
            if key not in table and key not in self.extras:
                raise GoldenUnknownKeyError(where=f"{where}.{key}")
        for key, (required, _) in table.items():
            if required and key not in row:
                raise GoldenMissingKeyError(where=f"{where}.{key}")

    def values(self) -> dict[str, Any]:
        """Every field that is there, read; `schema` was read before."""
        return {
            key: reader(self.row[key], f"{self.where}.{key}")
            for key, (_, reader) in self.table.items()
            if key in self.row and key != "schema"
        }


def _uint(value: Any, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise GoldenTypeError(where=where, wanted="unsigned integer")
    return value


def _raw(value: Any, where: str) -> bytes:
    if not isinstance(value, bytes):
        raise GoldenTypeError(where=where, wanted="byte string")
    return value


def _bytes_of(length: int) -> Reader[bytes]:
    def read(value: Any, where: str) -> bytes:
        if len(_raw(value, where)) != length:
            raise GoldenValueError(where=where, detail=f"{len(value)} bytes instead of {length}")
        return bytes(value)

    return read


def _any_text(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise GoldenTypeError(where=where, wanted="text")
    return value


def _text(value: Any, where: str) -> str:
    if not _any_text(value, where):
        raise GoldenValueError(where=where, detail="an empty text")
    return str(value)


def _one_of(*known: str) -> Reader[str]:
    def read(value: Any, where: str) -> str:
        if _any_text(value, where) not in known:
            raise GoldenValueError(where=where, detail=f"{value!r} is none of {', '.join(known)}")
        return str(value)

    return read


def _list(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise GoldenTypeError(where=where, wanted="list")
    return value


def _list_of(reader: Reader[T]) -> Reader[tuple[T, ...]]:
    def read(value: Any, where: str) -> tuple[T, ...]:
        rows = _list(value, where)
        return tuple(reader(row, f"{where}[{i}]") for i, row in enumerate(rows))

    return read


def _bit(value: Any, where: str) -> int:
    if _uint(value, where) > 1:
        raise GoldenValueError(where=where, detail=f"{value} is neither 0 nor 1")
    return int(value)


def _dimension(value: Any, where: str) -> int:
    if _uint(value, where) > DIMENSION:
        raise GoldenDimensionError(where=where, size=value, limit=DIMENSION)
    return int(value)


def _shape(value: Any, where: str) -> tuple[int, ...]:
    rank = len(_list(value, where))
    if rank > RANK:
        raise GoldenRankError(where=where, rank=rank, limit=RANK)
    return _list_of(_dimension)(value, where)


def _input(value: Any, where: str) -> GoldenInput:
    fields = _Fields(value, where, _INPUT)
    return GoldenInput(**fields.values(), extras=fields.extras)


def _top_k(value: Any, where: str) -> GoldenTopK:
    fields = _Fields(value, where, _TOP_K)
    return GoldenTopK(**fields.values(), extras=fields.extras)


def _observation(value: Any, where: str) -> GoldenObservation:
    fields = _Fields(value, where, _OBSERVATION)
    found = GoldenObservation(**fields.values(), extras=fields.extras)
    _check_bytes(found, f"{where}.shape")
    return found


def _check_bytes(found: GoldenObservation, where: str) -> None:
    """The running product, so that every reader stops at the same place."""
    total = ITEM_SIZES[found.dtype]
    for size in found.shape:
        total *= size
        if total > ARRAY_BYTES:
            raise GoldenBytesError(where=where, limit=ARRAY_BYTES)


def _observations(value: Any, where: str) -> tuple[GoldenObservation, ...]:
    count = len(_list(value, where))
    if count > OBSERVATIONS:
        raise GoldenObservationsError(where=where, count=count, limit=OBSERVATIONS)
    seen: set[tuple[str, str | None]] = set()
    found = []
    for i, row in enumerate(value):
        one = _observation(row, f"{where}[{i}]")
        if (one.name, one.slice_description) in seen:
            raise GoldenDuplicateNameError(where=f"{where}[{i}].name", name=one.name)
        seen.add((one.name, one.slice_description))
        found.append(one)
    return tuple(found)


_ID = _bytes_of(32)
_UINTS = _list_of(_uint)
_CASE: dict[str, tuple[bool, Reader[Any]]] = {
    "schema": (True, _any_text),
    "case_id": (True, _ID),
    "case_class": (True, _one_of(PUBLIC, PRIVATE)),
    "source_identity": (True, _ID),
    "effective_config_identity": (True, _ID),
    "tokenizer_identity": (True, _ID),
    "template_identity": (True, _ID),
    "oracle_generator_identity": (True, _ID),
    "input": (True, _input),
    "observations": (True, _observations),
    "expected_tokens": (False, _UINTS),
    "top_k": (True, _list_of(_top_k)),
    "raw_output_commitment": (False, _ID),
    "generator_receipt": (True, _ID),
}
_INPUT: dict[str, tuple[bool, Reader[Any]]] = {
    "kind": (True, _one_of(*KINDS)),
    "data_or_commitment": (True, _raw),
    "position_ids": (False, _UINTS),
    "attention_mask": (False, _list_of(_bit)),
}
_OBSERVATION: dict[str, tuple[bool, Reader[Any]]] = {
    "name": (True, _text),
    "semantic_role": (True, _text),
    "layer": (False, _uint),
    "shape": (True, _shape),
    "dtype": (True, _one_of(*ITEM_SIZES)),
    "byte_order": (True, _one_of("little")),
    "layout": (True, _one_of("c")),
    "data_blob_hash": (True, _ID),
    "slice_description": (False, _any_text),
    "tolerance_profile": (True, _ID),
}
_TOP_K: dict[str, tuple[bool, Reader[Any]]] = {
    "id": (True, _uint),
    "logit_bits": (True, _bytes_of(4)),
}
