"""JSON read strictly and written in one form: no duplicate keys, no NaN, no unbounded input."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from trlm_lab.base.plain_file import read_start, require_plain
from trlm_lab.errors import JsonDuplicateKeyError, JsonError

#: The largest tokenizer.json in use, Gemma 3's, has 33 MB: 262,144 tokens and 514,906 merges.
MAX_JSON_BYTES = 40 << 20
#: Commas, colons, brackets and braces that open: what parsing costs in time and memory, since a
#: value of two bytes takes seventy when parsed. Gemma 3's file has 2.2 million.
MAX_JSON_MARKS = 3_000_000
#: Lists and objects within each other; a tokenizer.json has eight. Python's own bound differs by
#: version and by how deep its caller stands.
MAX_JSON_DEPTH = 500


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


def _decoder(parse_int: Callable[[str], int | float]) -> json.JSONDecoder:
    return json.JSONDecoder(
        object_pairs_hook=_unique,
        parse_float=_finite,
        parse_int=parse_int,
        parse_constant=_no_constant,
        strict=True,
    )


#: `raw_decode` leaves the rest to the caller. The first reads integers without a call for each.
_DECODER, _SIGNED_ZEROS = _decoder(int), _decoder(_integer)

#: Half a surrogate pair, in a text whose escaped backslashes are gone.
_HALF = re.compile(
    r"\\u[dD][89abAB]..(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB]..)\\u[dD][c-fC-F]", re.DOTALL
)

#: Texts, and numbers: an integer by its digits, another number whole.
_TOKENS = re.compile(
    r'"(?:[^"\\]++|\\.)*+"|-?(?:[0-9]++(?=[.eE])[0-9.eE+-]*+|(?P<integer>[0-9]++))', re.DOTALL
)


def scan(data: bytes, *, where: str = "", marks: int = MAX_JSON_MARKS) -> tuple[Any, str]:
    """The first JSON value of UTF-8 `data`, and the text that follows it.

    Args:
        data: the document; nothing is parsed before its marks are counted.
        where: names it in errors.
        marks: the most commas, colons, brackets and braces that are read, those in texts included.

    Raises:
        JsonError: no UTF-8, no JSON, too many values, nested too deep, or a number or text out of
            range.
        JsonDuplicateKeyError: an object repeats a key, even when spelled with other escapes.
    """
    found = sum(map(data.count, (b",", b":", b"[", b"{")))
    if found > marks:
        detail = f"{found} commas, colons and brackets stand in it, the limit is {marks}"
        raise JsonError(where=where, detail=detail)
    try:
        text = data.decode("utf-8")
        decoder = _SIGNED_ZEROS if "-0" in text else _DECODER
        value, end = decoder.raw_decode(text, len(text) - len(text.lstrip(" \t\r\n")))
        _require_whole_pairs(text, where)
        if data.count(b"[") + data.count(b"{") > MAX_JSON_DEPTH:
            _require_shallow(value)
    except _Repeated as error:
        raise JsonDuplicateKeyError(where=where, key=error.args[0]) from error
    except RecursionError as error:
        raise JsonError(where=where, detail="it is nested too deep") from error
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise JsonError(where=where, detail=f"{type(error).__name__}: {error}") from error
    except ValueError as error:
        # Left are our own, and Python's word on integers, which speaks to its programmers.
        raise JsonError(where=where, detail=_long_integer(text) or str(error)) from error
    return value, text[end:]


def _require_shallow(value: Any) -> None:
    """Level by level, since a deep document is no place for recursion.

    Raises:
        ValueError: lists and objects stand within each other beyond the limit.
    """
    level: list[Any] = [[value]]
    for _ in range(MAX_JSON_DEPTH + 1):
        held = (row.values() if isinstance(row, dict) else row for row in level)
        level = [v for row in held for v in row if isinstance(v, dict | list)]
        if not level:
            return
    raise ValueError(f"it is nested too deep: more than {MAX_JSON_DEPTH} lists and objects")


def _long_integer(text: str) -> str:
    """The first integer of more digits than Python converts, in words; empty where there is none.

    Only for a text that is sound before it.
    """
    limit = sys.get_int_max_str_digits()
    for token in _TOKENS.finditer(text):
        digits = len(token["integer"] or "")
        if 0 < limit < digits:
            line = text.count("\n", 0, token.start()) + 1
            column = token.start() - text.rfind("\n", 0, token.start())
            place = f"the integer at line {line}, column {column}"
            return f"{place} has {digits} digits, at most {limit} are read"
    return ""


def _require_whole_pairs(text: str, where: str) -> None:
    """Escapes can spell half a surrogate pair, a text that has no UTF-8.

    Raises:
        JsonError: such an escape; `index` counts the bytes of the document before it.
    """
    if "\\ud" not in text and "\\uD" not in text:
        return
    half = _HALF.search(text.replace("\\\\", "  "))
    if half:
        start = half.start()
        index = len(text[:start].encode())
        detail = f"{text[start : start + 6]} at byte {index} is half a surrogate pair"
        raise JsonError(where=where, detail=detail, index=index)


def loads(data: bytes, *, where: str = "", marks: int = MAX_JSON_MARKS) -> Any:
    """Parse one JSON document of at most so many `marks` (as `scan`).

    Raises:
        JsonError: as `scan`, or anything but white space after the document.
        JsonDuplicateKeyError: an object repeats a key.
    """
    value, rest = scan(data, where=where, marks=marks)
    if rest.strip(" \t\r\n"):
        raise JsonError(where=where, detail=f"{len(rest)} characters follow the document")
    return value


def file_bytes(path: Path, *, where: str = "", limit: int = MAX_JSON_BYTES) -> bytes:
    """The bytes of a file that is to be parsed, at most `limit` of them.

    Raises:
        NotPlainFileError: a pipe, device or directory.
        JsonError: the file is missing, unreadable or too large.
    """
    place = where or path.name
    try:
        size = require_plain(path).st_size
        if size > limit:
            raise JsonError(where=place, detail=f"{size} bytes, the limit is {limit}")
        # A file that grows, or one of /proc, has more bytes than its size says.
        data = read_start(path, limit)
    except OSError as error:
        raise JsonError(where=place, detail=f"unreadable: {error.strerror}") from error
    if len(data) > limit:
        raise JsonError(where=place, detail=f"more bytes than the limit of {limit}")
    return data


def load_file(path: Path, *, where: str = "", limit: int = MAX_JSON_BYTES) -> Any:
    """Parse a JSON file of at most `limit` bytes. Raises as `file_bytes` and `loads`."""
    return loads(file_bytes(path, where=where, limit=limit), where=where or path.name)


def load_object(path: Path, *, where: str = "", limit: int = MAX_JSON_BYTES) -> dict[str, Any]:
    """Parse a JSON file whose document is an object. Raises as `load_file`."""
    value = load_file(path, where=where, limit=limit)
    if not isinstance(value, dict):
        raise JsonError(where=where or path.name, detail="the document is no object")
    return value


def pretty(value: Any) -> bytes:
    """The written form: two spaces, keys in the given order, UTF-8, a final newline."""
    return (json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()
