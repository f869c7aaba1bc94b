"""UTF-8 in: well-formed, or refused with the first invalid byte; NUL is a scalar like others."""

from __future__ import annotations

from trlm_lab.errors import TextTooLongError, Utf8Error

#: Bytes of one call; tables of alignment take about a hundred times as much memory.
MAX_BYTES = 64 << 20


def text_of(data: bytes, *, where: str = "", limit: int = MAX_BYTES) -> str:
    """The scalars of UTF-8 bytes.

    Raises:
        TextTooLongError: more than `limit` bytes.
        Utf8Error: an ill-formed sequence; `index` is the offset of its first byte.
    """
    require_length(len(data), limit, where=where)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Utf8Error(where=where, detail=error.reason, index=error.start) from error


def checked(text: str, *, where: str = "", limit: int = MAX_BYTES) -> str:
    """A Python text that has a UTF-8 form of at most `limit` bytes.

    Raises:
        Utf8Error: a lone surrogate; `index` counts the bytes before it.
        TextTooLongError: more than `limit` bytes.
    """
    try:
        length = len(text) if text.isascii() else len(text.encode("utf-8"))
    except UnicodeEncodeError as error:
        index = len(text[: error.start].encode("utf-8"))
        raise Utf8Error(where=where, detail="a lone surrogate", index=index) from error
    require_length(length, limit, where=where)
    return text


def require_length(length: int, limit: int, *, where: str) -> None:
    """Refuse more than `limit` bytes."""
    if length > limit:
        raise TextTooLongError(where=where, got=length, unit="bytes", limit=limit)
