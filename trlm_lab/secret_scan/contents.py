"""What bytes of evidence say: canonical CBOR, JSON, notebooks, plain text, UTF-16."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from trlm_lab.base import canon
from trlm_lab.errors import TrlmError
from trlm_lab.secret_scan.disguise import is_picture, wide_texts

_TEXT_CHARACTERS = bytes({7, 8, 9, 10, 12, 13, 27} | set(range(0x20, 0x100)) - {0x7F})
#: A longer value is a text, whatever its name.
_LONGEST_VALUE = 200
_NO_QUOTES = str.maketrans("\"'`", "___")
#: Options of `curl` before a user and password.
_USER = frozenset({"-u", "-U", "--user", "--proxy-user"})


@dataclass(frozen=True)
class Together:
    """Texts that a document holds apart and that say more in one line, where the last stands."""

    place: str
    line: str
    parts: tuple[str, ...]


def record(data: bytes) -> Any:
    """The map or list that canonical CBOR holds, or None."""
    try:
        document = canon.decode(data, where="")
    except TrlmError:
        return None
    return document if isinstance(document, dict | list) else None


def contents(data: bytes) -> Iterator[Any]:
    """The documents and texts of some bytes; arrays and other binary content have none."""
    document = record(data)
    if document is not None:
        yield document
        return
    yield from map(_parsed, wide_texts(data))
    if not data.translate(None, _TEXT_CHARACTERS):
        yield _parsed(data.decode("utf-8", "replace"))


def _parsed(text: str) -> Any:
    """The document that a text is, or the text."""
    if text[:1] not in ("{", "["):
        return text
    try:
        # A repeated key hides what stood there before.
        return json.loads(text, object_pairs_hook=_unrepeated)
    except (ValueError, RecursionError):
        return text


def _unrepeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a key stands twice")
    return dict(pairs)


def strings(document: Any) -> Iterator[tuple[str, str]]:
    """(JSON pointer, text) of every text, key and byte string, in no promised order."""
    for place, value in _values(document):
        if isinstance(value, str):
            yield place, value
        elif isinstance(value, bytes):
            yield place, value.decode("utf-8", "replace")
            yield from ((place, text) for text in wide_texts(value))
        elif isinstance(value, dict):
            yield from ((f"{place}/{k} (key)", str(k)) for k in value if not is_picture(value[k]))


def together(document: Any) -> Iterator[Together]:
    """Every name with its value, and every option of a command line with what follows it."""
    for place, value in _values(document):
        if isinstance(value, dict):
            yield from _named(place, value)
        elif isinstance(value, list | tuple):
            yield from _options(place, value)


def _values(document: Any) -> Iterator[tuple[str, Any]]:
    """(JSON pointer, value) of the document and of everything in it."""
    pending: list[tuple[str, Any]] = [("", document)]
    while pending:
        place, value = pending.pop()
        yield place, value
        if isinstance(value, dict):
            # A notebook keeps a picture as a text under its media type.
            kept = [(k, v) for k, v in value.items() if not is_picture(v)]
            pending.extend((f"{place}/{k}", v) for k, v in reversed(kept))
        elif isinstance(value, list | tuple):
            pending.extend((f"{place}/{i}", v) for i, v in reversed(list(enumerate(value))))


def _named(place: str, row: dict[Any, Any]) -> Iterator[Together]:
    """A map of a `name` (or `key`) and its `value` names it too."""
    pairs = list(row.items())
    if "value" in row:
        pairs.append((row.get("name", row.get("key")), row["value"]))
    for key, value in pairs:
        if isinstance(key, str) and isinstance(value, str) and len(value) <= _LONGEST_VALUE:
            quoted = value.translate(_NO_QUOTES)
            yield Together(f"{place}/{key}", f'"{key}": "{quoted}"', (key, value))


def _options(place: str, row: list[Any] | tuple[Any, ...]) -> Iterator[Together]:
    for index, (option, value) in enumerate(pairwise(row), 1):
        if isinstance(option, str) and option.startswith("-") and isinstance(value, str):
            command = "curl " if option in _USER else ""
            line = f"{command}{option} {value[:_LONGEST_VALUE]}"
            yield Together(f"{place}/{index}", line, (option, value))
