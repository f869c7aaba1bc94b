"""The string table: u32 count, (u32 offset, u32 length) pairs, then UTF-8 bytes."""

from __future__ import annotations

from typing import Any, NoReturn

from trlm_lab.errors import SlmStringError
from trlm_lab.slm.layout import MAX_STRINGS, STRING_COUNT, STRING_SPAN
from trlm_lab.slm.window import Window


def encode_strings(texts: list[str]) -> bytes:
    """The table of these texts, spans in their order. Raises SlmStringError for too many."""
    if len(texts) > MAX_STRINGS:
        raise SlmStringError(
            where="the plan", field="count", got=len(texts), expected=f"at most {MAX_STRINGS}"
        )
    raw = [text.encode() for text in texts]
    spans, at = b"", 0
    for one in raw:
        spans += STRING_SPAN.pack(at, len(one))
        at += len(one)
    return STRING_COUNT.pack(len(raw)) + spans + b"".join(raw)


def read_strings(window: Window, start: int, length: int) -> tuple[str, ...]:
    """The texts of the table at `start`; the caller has checked that the range is in the file.

    Raises:
        SlmStringError: a count or span beyond the table, overlapping or unexplained bytes,
            ill-formed UTF-8, a duplicate.
    """
    if length < STRING_COUNT.size:
        _refuse(window, start, "the table", f"{length} bytes", STRING_COUNT.size)
    (count,) = STRING_COUNT.unpack_from(window.view, start)
    most = min((length - STRING_COUNT.size) // STRING_SPAN.size, MAX_STRINGS)
    if count > most:
        _refuse(window, start, "count", count, f"at most {most}")
    bytes_start = STRING_COUNT.size + count * STRING_SPAN.size
    pairs = STRING_SPAN.iter_unpack(window.view[start + STRING_COUNT.size : start + bytes_start])
    spans = list(pairs)
    _check_spans(window, start, spans, length - bytes_start)
    texts = [_text(window, start + bytes_start + offset, size) for offset, size in spans]
    for i in _repeated(texts):
        _refuse(window, start + 4 + 8 * i, f"string {i}", repr(texts[i]), "no earlier string")
    return tuple(texts)


def _check_spans(window: Window, start: int, spans: list[Any], room: int) -> None:
    """The spans tile the bytes region: in any order, but without overlap, hole or tail."""
    at = 0
    for i in sorted(range(len(spans)), key=lambda k: spans[k]):
        offset, size = spans[i]
        place = start + STRING_COUNT.size + STRING_SPAN.size * i
        if offset != at:
            _refuse(window, place, f"the offset of string {i}", offset, at)
        at += size
        if at > room:
            _refuse(window, place, f"the end of string {i}", at, f"at most {room}")
    if at != room:
        _refuse(window, start, "the end of the last string", at, room)


def _text(window: Window, start: int, size: int) -> str:
    try:
        return bytes(window.view[start : start + size]).decode()
    except UnicodeDecodeError as error:
        place = start + error.start
        _refuse(window, place, "a string", error.reason, "well-formed UTF-8")


def _repeated(texts: list[str]) -> list[int]:
    seen: set[str] = set()
    return [i for i, t in enumerate(texts) if t in seen or seen.add(t)]  # type: ignore[func-returns-value]


def _refuse(window: Window, place: int, field: str, got: Any, expected: Any) -> NoReturn:
    raise SlmStringError(where=window.at(place), field=field, got=got, expected=expected)
