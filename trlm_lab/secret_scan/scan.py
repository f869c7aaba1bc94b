"""Search the texts inside evidence: plain text, JSON, notebooks and canonical CBOR."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from trlm_lab.base import canon
from trlm_lab.errors import TrlmError
from trlm_lab.secret_scan.disguise import is_picture, readings, without_pictures
from trlm_lab.secret_scan.rules import rules

_ID = re.compile(r"(?<![0-9a-zA-Z])[0-9a-f]{64}(?![0-9a-zA-Z])")
#: A whole text that is a Git id, or an `hf:` source pinned to one.
_GIT = re.compile(r"(?:hf:[^@\s]+@)?([0-9a-f]{40})\Z")
_FREE = frozenset({"text", "prompt", "content"})
#: An engine that is a command line, which a person wrote.
_COMMAND = "process:"
#: No rule matches anything shorter.
_SHORTEST = 6
_TEXT_CHARACTERS = bytes({7, 8, 9, 10, 12, 13, 27} | set(range(0x20, 0x100)) - {0x7F})


@dataclass(frozen=True)
class SecretFinding:
    """A rule, the place, and the text itself only as its beginning and length."""

    rule: str
    where: str
    line: int
    hint: str


def scan_text(
    text: str, *, where: str, known: frozenset[str] = frozenset()
) -> Iterator[SecretFinding]:
    """Every match of every rule in a text.

    Args:
        text: what to search.
        where: names the text in the findings.
        known: texts that are no secrets: the content ids of the evidence itself.
    """
    if text in known:
        return
    place = _shown(where)
    for number, line in enumerate(without_pictures(text).splitlines(), 1):
        if len(line) < _SHORTEST:
            continue
        for name, match in _matches(line):
            if match.lower() not in known:
                yield SecretFinding(name, place, number, _hint(match))


@lru_cache(maxsize=1 << 16)
def _matches(line: str) -> tuple[tuple[str, str], ...]:
    """(rule, match) of one line; records repeat their keys and names many times."""
    found = (
        (name, match)
        for reading in readings(line)
        for name, rule in rules().items()
        for match in rule(reading)
        if match
    )
    return tuple(dict.fromkeys(found))


def _shown(where: str) -> str:
    """A place without what is secret in the keys that lead to it."""
    for name, match in _matches(where):
        if not name.endswith("Entropy"):
            where = where.replace(match, _hint(match))
    return where


def _hint(match: str) -> str:
    return f"{match[:4]}… ({len(match)} characters)"


def content_ids(data: bytes) -> frozenset[str]:
    """The SHA-256 ids in the texts of a canonical record, and the Git ids of a Hub's tree.

    Texts under the keys of `_FREE` are what people wrote, and never count as ids.
    """
    document = _record(data)
    if document is None:
        return frozenset()
    strings = list(_strings(document))
    texts = [
        t
        for place, t in strings
        if place.rpartition("/")[2] not in _FREE and not t.startswith(_COMMAND)
    ]
    named = [t for place, t in strings if place.startswith("/hub/") or place.endswith("/pin")]
    return frozenset(
        [match for text in texts for match in _ID.findall(text)]
        + [match[1] for match in map(_GIT.match, named) if match]
    )


def scan_bytes(
    data: bytes, *, where: str, known: frozenset[str] = frozenset()
) -> Iterator[SecretFinding]:
    """As `scan_text`, over every text in canonical CBOR, a notebook, JSON, or UTF-8.

    A text that a document repeats is reported at its first place. Arrays and other binary content
    have no texts and give nothing.
    """
    seen: set[str] = set()
    for place, text in _texts(data):
        if text not in seen:
            seen.add(text)
            yield from scan_text(text, where=f"{where}{place}", known=known)


def _record(data: bytes) -> Any:
    """The map or list that canonical CBOR holds, or None."""
    try:
        document = canon.decode(data, where="")
    except TrlmError:
        return None
    return document if isinstance(document, dict | list) else None


def _texts(data: bytes) -> Iterator[tuple[str, str]]:
    document = _record(data)
    if document is not None:
        yield from _strings(document)
        return
    if data.translate(None, _TEXT_CHARACTERS):
        return
    text = data.decode("utf-8", "replace")
    yield from _json_strings(text) if text[:1] in ("{", "[") else [("", text)]


def _json_strings(text: str) -> Iterator[tuple[str, str]]:
    try:
        # A repeated key hides what stood there before.
        document = json.loads(text, object_pairs_hook=_unrepeated)
    except (ValueError, RecursionError):
        yield "", text
        return
    yield from _strings(document)


def _unrepeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a key stands twice")
    return dict(pairs)


def _strings(document: Any) -> Iterator[tuple[str, str]]:
    """(JSON pointer, text) of every text, key and byte string, in no promised order."""
    pending: list[tuple[str, Any]] = [("", document)]
    while pending:
        place, value = pending.pop()
        if isinstance(value, str):
            yield place, value
        elif isinstance(value, bytes):
            yield place, value.decode("utf-8", "replace")
        elif isinstance(value, dict):
            # A notebook keeps a picture as a text under its media type.
            kept = [(k, v) for k, v in value.items() if not is_picture(v)]
            yield from ((f"{place}/{k} (key)", str(k)) for k, _ in kept)
            pending.extend((f"{place}/{k}", v) for k, v in reversed(kept))
        elif isinstance(value, list | tuple):
            pending.extend((f"{place}/{i}", v) for i, v in reversed(list(enumerate(value))))
