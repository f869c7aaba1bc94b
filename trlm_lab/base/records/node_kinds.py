"""The kinds of value that node metadata may hold, each with its test and its words."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from trlm_lab.base.records.outcome import Outcome

_SHA256 = re.compile(r"[0-9a-f]{64}\Z")
_HEX = "64 lower-case hex digits"
_OUTCOMES = [o.value for o in Outcome]
_ENGINE = {"name", "version", "profile", "build_sha256", "details"}

#: An absolute path at the start of a text or after what may stand before a word: from the root
#: with two parts, from a home directory, with a drive letter, from a network share, or as an
#: address of a file.
_ABSOLUTE = re.compile(
    r"""\A/|(?:\A|[\s"'`=(,;:\[<>|])(?:/[\w.~+@-]+/|~[\w-]*/|[A-Za-z]:[\\/]|\\\\)|file:/"""
)


@dataclass(frozen=True)
class Kind:
    """What values it takes, in words, and the test. `searched` kinds hold texts in which an
    absolute path is refused; the user's own words may name any, and other kinds hold none."""

    words: str
    accepts: Callable[[Any], bool]
    searched: bool = False


def is_sha256(value: Any) -> bool:
    """Whether a value is 64 lower-case hex digits."""
    return isinstance(value, str) and _SHA256.match(value) is not None


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**63


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and "\0" not in value


def _each(test: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(map(test, value))


def _is_path(value: Any) -> bool:
    if not isinstance(value, bytes) or not value or b"\0" in value or b"\\" in value:
        return False
    return not any(part in (b"", b".", b"..") for part in value.split(b"/"))


def _is_fact(value: Any) -> bool:
    if isinstance(value, dict):
        return all(isinstance(k, str) and _is_fact(v) for k, v in value.items())
    if isinstance(value, list):
        return all(map(_is_fact, value))
    return value is None or isinstance(value, (str, bool, int, float))


def _is_engine(value: Any) -> bool:
    if (
        not isinstance(value, dict)
        or set(value) != _ENGINE
        or not isinstance(value["details"], dict)
    ):
        return False
    texts = all(_is_text(value[k]) for k in ("name", "version", "profile"))
    return texts and is_sha256(value["build_sha256"]) and _is_fact(value["details"])


def _is_counts(value: Any) -> bool:
    return isinstance(value, dict) and all(_is_text(k) and _is_count(v) for k, v in value.items())


KINDS: Final[dict[str, Kind]] = {
    "sha256": Kind(_HEX, is_sha256),
    "sha256-or-null": Kind(
        "64 lower-case hex digits, or null", lambda v: v is None or is_sha256(v)
    ),
    "sha256-or-empty": Kind("64 lower-case hex digits, or ''", lambda v: v == "" or is_sha256(v)),
    "blob": Kind(f"the SHA-256 of a blob in the store, {_HEX}", is_sha256),
    "count": Kind("an integer from 0 to 2^63-1, no Boolean", _is_count),
    "flag": Kind("a Boolean", lambda v: isinstance(v, bool)),
    "text": Kind("a text without NUL and without an absolute path", _is_text, True),
    "text-or-null": Kind("a text as above, or null", lambda v: v is None or _is_text(v), True),
    "words": Kind("any text: the user's own words", lambda v: isinstance(v, str)),
    "texts": Kind("a list of texts", _each(_is_text), True),
    "counts": Kind("a map from texts to counts", _is_counts, True),
    "ids": Kind("a list of counts", _each(_is_count)),
    "path": Kind("bytes: a relative path in its normal form, parts joined by '/'", _is_path),
    "outcome": Kind("an outcome: " + ", ".join(_OUTCOMES), lambda v: v in _OUTCOMES),
    "engine": Kind(
        "a map of name, version, profile (texts), build_sha256 and details (a map of facts)",
        _is_engine,
        True,
    ),
}


def absolute_path(value: Any) -> str:
    """The first text in a value, keys of maps too, that holds an absolute path; or empty."""
    if isinstance(value, str):
        return value if _ABSOLUTE.search(value) else ""
    if isinstance(value, dict):
        parts: list[Any] = [*value.keys(), *value.values()]
    else:
        parts = value if isinstance(value, list) else []
    return next((found for part in parts if (found := absolute_path(part))), "")
