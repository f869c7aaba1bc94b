"""JSON lines through a tokenizer engine; a bad line is answered in its place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from trlm_lab.base import strict_json
from trlm_lab.errors import DoubleInsertionError, TextLineError, TrlmError
from trlm_lab.flows.lines import MAX_LINE_BYTES
from trlm_lab.flows.tokenizer_engines import Request, Row, TokenizerEngine
from trlm_lab.text import Decoded, text_of
from trlm_lab.text.coordinates import Span

OWNERS = ("template", "content")
_FORMS = ("text", "bytes_hex", "segments")


def tokenize_lines(
    lines: Iterable[bytes | None], engine: TokenizerEngine, *, add_special_tokens: bool, trace: bool
) -> Iterator[Row]:
    """Ids and offsets of each line, or `{"error": …}`."""

    def answer(row: Row, where: str) -> Iterator[Row]:
        text, content = _given(row, where)
        request = Request(text, content, add_special_tokens, trace)
        found = engine.tokenize(request)
        if add_special_tokens and "segments" in row:
            _require_one_owner(engine, request, found["ids"], where)
        yield found

    return _answers(lines, answer)


def _require_one_owner(
    engine: TokenizerEngine, request: Request, ids: list[int], where: str
) -> None:
    """Refuse a token of the post-processor that stands in what the template wrote, wherever.

    Raises:
        DoubleInsertionError: the id.
    """
    own = engine.tokenize(replace(request, add_special_tokens=False, trace=False))["ids"]
    starts = range(len(ids) - len(own) + 1)
    at = next((k for k in starts if own and ids[k : k + len(own)] == own), None)
    if at is None:
        return
    written = [n for part in _written(request) for n in engine.tokenize(part)["ids"]]
    for added in (*ids[:at], *ids[at + len(own) :]):
        if added in written:
            detail = "the template wrote it and the post-processor adds it"
            raise DoubleInsertionError(where=where, token=f"id {added}", detail=detail)


def _written(request: Request) -> Iterator[Request]:
    """What is no content, part by part: a control token never reaches over a part's end."""
    edges = [0, *(edge for span in request.content for edge in span), len(request.text)]
    for start, end in zip(edges[::2], edges[1::2], strict=True):
        if start < end:
            yield Request(request.text[start:end])


def decode_lines(
    lines: Iterable[bytes | None], engine: TokenizerEngine, mode: str
) -> Iterator[Row]:
    """Bytes and text of each line, or `{"error": …}`."""

    def answer(row: Row, where: str) -> Iterator[Row]:
        yield engine.decode(_ids(row, where), mode)

    return _answers(lines, answer)


def stream_lines(
    lines: Iterable[bytes | None], engine: TokenizerEngine, mode: str
) -> Iterator[Row]:
    """For each line a row a token, with what is held back, and one for the end; or `{"error": …}`.

    Raises:
        StreamUnsupportedError: the engine does not decode token by token.
    """
    stream = engine.stream(mode)

    def answer(row: Row, where: str) -> Iterator[Row]:
        ids = _ids(row, where)
        stream.flush()
        for number in ids:
            now = _decoded_row(stream.push(number))
            held = stream.held
            yield {"id": number} | now | {"held_hex": held.data.hex(), "held_text": held.text}
        yield {"end": True} | _decoded_row(stream.flush())

    return _answers(lines, answer)


def _decoded_row(found: Decoded) -> Row:
    return {"bytes_hex": found.data.hex(), "text": found.text}


def _ids(row: Row, where: str) -> list[int]:
    ids = row.get("ids")
    if set(row) != {"ids"} or not isinstance(ids, list):
        raise TextLineError(where=where, detail="a line holds ids, a list, and nothing else")
    for index, number in enumerate(ids):
        if isinstance(number, bool) or not isinstance(number, int) or number < 0:
            raise TextLineError(where=where, detail=f"the id at index {index} is no id")
    return ids


def _answers(
    lines: Iterable[bytes | None], answer: Callable[[Row, str], Iterator[Row]]
) -> Iterator[Row]:
    for number, line in enumerate(lines, start=1):
        if line is not None and not line.strip():
            continue
        where = f"line {number}"
        try:
            if line is None:
                raise TextLineError(where=where, detail=f"more than {MAX_LINE_BYTES} bytes")
            yield from answer(_object(line.rstrip(b"\r\n"), where), where)
        except TrlmError as error:
            yield {"error": _refusal(error, where)}


def _object(line: bytes, where: str) -> Row:
    # The first invalid byte is named before the line is looked at as JSON.
    text_of(line, where=where)
    row = strict_json.loads(line, where=where)
    if not isinstance(row, dict):
        raise TextLineError(where=where, detail="the line is no object")
    return row


def _refusal(error: TrlmError, where: str) -> Row:
    finding: Row = dict(error.as_finding())
    finding["where"] = finding["where"] or where
    if "index" in error.facts:
        finding["index"] = error.facts["index"]
    return finding


def _given(row: Row, where: str) -> tuple[str, tuple[Span, ...]]:
    """The text of a line, and its content spans in scalars."""
    forms = [form for form in _FORMS if form in row]
    if len(row) != 1 or len(forms) != 1:
        raise TextLineError(where=where, detail=f"a line holds one of {', '.join(_FORMS)}")
    value = row[forms[0]]
    if forms[0] == "segments":
        return _segments(value, where)
    if not isinstance(value, str):
        raise TextLineError(where=where, detail=f"{forms[0]} is no text")
    return (value if forms[0] == "text" else _from_hex(value, where)), ()


def _from_hex(value: str, where: str) -> str:
    try:
        data = bytes.fromhex(value)
    except ValueError as error:
        raise TextLineError(where=where, detail=f"bytes_hex: {error}") from error
    return text_of(data, where=where)


def _segments(value: Any, where: str) -> tuple[str, tuple[Span, ...]]:
    texts: list[str] = []
    content: list[Span] = []
    at = 0
    for index, segment in enumerate(value if isinstance(value, list) else [None]):
        good = isinstance(segment, dict) and set(segment) == {"text", "owner"}
        if not good or not isinstance(segment["text"], str) or segment["owner"] not in OWNERS:
            detail = f"segment {index} is no text with an owner ({', '.join(OWNERS)})"
            raise TextLineError(where=where, detail=detail)
        end = at + len(segment["text"])
        if segment["owner"] == "content" and end > at:
            content.append((at, end))
        texts.append(segment["text"])
        at = end
    return "".join(texts), tuple(content)
