"""What a text says once it is decoded, and which base64 is a picture and says nothing."""

from __future__ import annotations

import base64
import binascii
import html
import re
from collections.abc import Iterator
from typing import Any
from unicodedata import category, normalize
from urllib.parse import unquote

_DATA = re.compile(r"data:[a-z]+/[a-z0-9.+-]+(?:;[a-z0-9=-]+)*;base64,([A-Za-z0-9+/]+={0,2})")
#: One line, or lines as MIME writes them; what follows a shorter line is something else.
_WHOLE = re.compile(r"(?:[A-Za-z0-9+/]{76}\r?\n)*[A-Za-z0-9+/]*={0,2}\n?")
_BEGINNINGS = (
    b"\x89PNG\r\n", b"\xff\xd8\xff", b"GIF8", b"%PDF", b"RIFF", b"wOFF", b"wOF2", b"OTTO",
    b"\0\1\0\0",
)  # fmt: skip
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{20,}={0,2}")
_ESCAPE = re.compile(r"\\u([0-9A-Fa-f]{4})|\\x([0-9A-Fa-f]{2})")
#: ASCII of eight characters and more in UTF-16.
_WIDE = {
    re.compile(rb"(?:[\t\n\r -~]\0){8,}"): "utf-16-le",
    re.compile(rb"(?:\0[\t\n\r -~]){8,}"): "utf-16-be",
}
#: Base64 in base64 is decoded this often.
_DEPTH = 3


def without_pictures(text: str) -> str:
    """A text with its `data:` addresses unpacked: pictures and fonts go, texts are read."""
    return _DATA.sub(lambda m: _unpacked(m[1]), text)


def _unpacked(data: str) -> str:
    if is_picture(data):
        return ""
    content = _decoded(data)
    try:
        return data if content is None else content.decode()
    except UnicodeDecodeError:
        return data


def wide_texts(data: bytes) -> Iterator[str]:
    """The ASCII texts that stand in bytes as UTF-16, either way round and with or without a mark.

    Whatever surrounds them, a secret is ASCII; single letters of another script end a text.
    """
    for form, name in _WIDE.items():
        for match in form.finditer(data):
            yield match[0].decode(name)


def is_picture(value: Any) -> bool:
    """Whether a value is the base64 of a picture or font, by how its bytes begin."""
    if not isinstance(value, str):
        return False
    head = _decoded(value[:16]) or b""
    return head.startswith(_BEGINNINGS) and _WHOLE.fullmatch(value) is not None


def readings(line: str, depth: int = _DEPTH) -> Iterator[str]:
    """A line, the line without disguise, and every text that stands in it as base64."""
    yield line
    plain = _plain(line)
    if plain != line:
        yield plain
    if depth:
        for match in _BASE64.finditer(plain):
            inner = (_decoded(match[0]) or b"").decode("utf-8", "replace")
            if len(inner) > 8 and inner.isascii() and inner.replace("\n", "").isprintable():
                yield from readings(inner, depth - 1)


def _plain(line: str) -> str:
    """Compatibility forms, invisible characters and escapes resolved."""
    text = line.replace("\0", "")
    if "\\" in text:
        text = _ESCAPE.sub(lambda m: chr(int(m[1] or m[2], 16)), text)
    if "&" in text:
        text = html.unescape(text)
    if "%" in text:
        text = unquote(text)
    if not text.isascii():
        text = "".join(c for c in normalize("NFKC", text) if category(c) != "Cf")
    return text


def _decoded(text: str) -> bytes | None:
    if not text.isascii():
        return None
    text = text.rstrip("=").translate({ord("-"): "+", ord("_"): "/"})
    text = text[: len(text) - (len(text) % 4 == 1)]
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4))
    except binascii.Error:
        return None
