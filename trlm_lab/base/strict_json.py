"""JSON read strictly and written in one form: no duplicate keys, no NaN, no unbounded input."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, NoReturn

from trlm_lab.base.plain_file import read_plain, require_plain
from trlm_lab.errors import JsonDuplicateKeyError, JsonError

#: Larger than any tokenizer.json in use (Gemma's has 33 MB), far below memory.
MAX_JSON_BYTES = 256 << 20


class _Repeated(ValueError):
    """A key that occurs twice in one object."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    row = dict(pairs)
    if len(row) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _Repeated(key)
            seen.add(key)
    return row


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"the number {text[:40]} is beyond float64")
    return value


def _integer(text: str) -> int | float:
    # An integer has no sign of zero; whoever wants a count must not take this for one.
    return -0.0 if text == "-0" else int(text)


def _no_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is no JSON number")


#: One scanner for every reader of the project; `raw_decode` leaves the rest to the caller.
DECODER = json.JSONDecoder(
    object_pairs_hook=_unique,
    parse_float=_finite,
    parse_int=_integer,
    parse_constant=_no_constant,
    strict=True,
)


def scan(data: bytes, *, where: str = "") -> tuple[Any, str]:
    """The first JSON value of UTF-8 `data`, and the text that follows it.

    Raises:
        JsonError: no UTF-8, no JSON, nested too deep, or a number or text out of range.
        JsonDuplicateKeyError: an object repeats a key, even when spelled with other escapes.
    """
    try:
        text = data.decode("utf-8")
        value, end = DECODER.raw_decode(text, len(text) - len(text.lstrip(" \t\r\n")))
        if "\\ud" in text or "\\uD" in text:
            # Escapes can spell half a surrogate pair, a text that has no UTF-8.
            json.dumps(value, ensure_ascii=False).encode()
    except _Repeated as error:
        raise JsonDuplicateKeyError(where=where, key=error.args[0]) from error
    except (ValueError, RecursionError) as error:
        # UnicodeDecodeError and JSONDecodeError are ValueErrors, as are over-long integers.
        raise JsonError(where=where, detail=f"{type(error).__name__}: {error}") from error
    return value, text[end:]


def loads(data: bytes, *, where: str = "") -> Any:
    """Parse one JSON document.

    Raises:
        JsonError: as `scan`, or anything but white space after the document.
        JsonDuplicateKeyError: an object repeats a key.
    """
    value, rest = scan(data, where=where)
    if rest.strip(" \t\r\n"):
        raise JsonError(where=where, detail=f"{len(rest)} characters follow the document")
    return value


def load_file(path: Path, *, where: str = "", limit: int = MAX_JSON_BYTES) -> Any:
    """Parse a JSON file of at most `limit` bytes.

    Raises:
        NotPlainFileError: a pipe, device or directory.
        JsonError: the file is missing, unreadable, too large or not JSON.
        JsonDuplicateKeyError: an object repeats a key.
    """
    place = where or path.name
    try:
        size = require_plain(path).st_size
        if size > limit:
            raise JsonError(where=place, detail=f"{size} bytes, the limit is {limit}")
        data = read_plain(path)
    except OSError as error:
        raise JsonError(where=place, detail=f"unreadable: {error.strerror}") from error
    return loads(data, where=place)


def load_object(path: Path, *, where: str = "", limit: int = MAX_JSON_BYTES) -> dict[str, Any]:
    """Parse a JSON file whose document is an object. Raises as `load_file`."""
    value = load_file(path, where=where, limit=limit)
    if not isinstance(value, dict):
        raise JsonError(where=where or path.name, detail="the document is no object")
    return value


def pretty(value: Any) -> bytes:
    """The written form: two spaces, keys in the given order, UTF-8, a final newline."""
    return (json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()
