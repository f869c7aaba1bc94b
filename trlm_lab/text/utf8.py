"""UTF-8 in: well-formed, or refused with the first invalid byte; NUL is a scalar like others."""

from __future__ import annotations

from dataclasses import dataclass

from trlm_lab.errors import TextTooLongError, Utf8Error

#: Of one call. Tables of alignment take about a hundred bytes a scalar; a scalar has up to four.
MAX_BYTES, MAX_SCALARS = 64 << 20, 16 << 20


@dataclass(frozen=True)
class Bounds:
    """The longest text of one call, in UTF-8 bytes and in Unicode scalars; both hold."""

    bytes: int = MAX_BYTES
    scalars: int = MAX_SCALARS

    def require(self, size: int, scalars: int | None = None, *, where: str = "") -> None:
        """Refuse a text of so many bytes, or of so many scalars once they are known.

        Raises:
            TextTooLongError: more than a bound.
        """
        if size > self.bytes:
            raise TextTooLongError(where=where, got=size, unit="bytes", limit=self.bytes)
        if scalars is not None and scalars > self.scalars:
            raise TextTooLongError(where=where, got=scalars, unit="scalars", limit=self.scalars)


BOUNDS = Bounds()


def text_of(data: bytes, *, where: str = "", bounds: Bounds = BOUNDS) -> str:
    """The scalars of UTF-8 bytes.

    Raises:
        TextTooLongError: more bytes or scalars than `bounds` allow; bytes are counted first.
        Utf8Error: an ill-formed sequence; `index` is the offset of its first byte.
    """
    bounds.require(len(data), where=where)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Utf8Error(where=where, detail=error.reason, index=error.start) from error
    bounds.require(len(data), len(text), where=where)
    return text


def checked(text: str, *, where: str = "", bounds: Bounds = BOUNDS) -> str:
    """A Python text that has a UTF-8 form within `bounds`.

    Raises:
        Utf8Error: a lone surrogate; `index` counts the bytes before it.
        TextTooLongError: more bytes or scalars than `bounds` allow.
    """
    try:
        length = len(text) if text.isascii() else len(text.encode("utf-8"))
    except UnicodeEncodeError as error:
        index = len(text[: error.start].encode("utf-8"))
        raise Utf8Error(where=where, detail="a lone surrogate", index=index) from error
    bounds.require(length, len(text), where=where)
    return text
