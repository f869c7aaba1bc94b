"""What templates do on text (strip, split, replace, case), with the owners carried along."""

from __future__ import annotations

from trlm_lab.chat.owned_text import EMPTY, Text, joined, of, owner_of


def strip(text: Text, chars: str | None = None, *, left: bool = True, right: bool = True) -> Text:
    """`str.strip` and its halves: Python's white space, or the given characters."""
    start, end = 0, len(text)
    if left:
        start = len(text) - len(str.lstrip(text, chars))
    if right:
        end = max(start, len(str.rstrip(text, chars)))
    return text[start:end]


def split(text: Text, separator: str | None = None, most: int = -1) -> list[Text]:
    """`str.split`: by white space without a separator."""
    if separator is None:
        return _located(text, str.split(text, None, most))
    return _cut(text, str.split(text, separator, most), len(separator))


def rsplit(text: Text, separator: str | None = None, most: int = -1) -> list[Text]:
    """`str.rsplit`."""
    if separator is None:
        return _located(text, str.rsplit(text, None, most))
    return _cut(text, str.rsplit(text, separator, most), len(separator))


def _located(text: Text, pieces: list[str]) -> list[Text]:
    # Only white space lies between the pieces, so the next occurrence is the piece itself.
    found, at = [], 0
    for piece in pieces:
        at = text.index(piece, at)
        found.append(text[at : at + len(piece)])
        at += len(piece)
    return found


def _cut(text: Text, pieces: list[str], gap: int) -> list[Text]:
    found, at = [], 0
    for piece in pieces:
        found.append(text[at : at + len(piece)])
        at += len(piece) + gap
    return found


def splitlines(text: Text, keepends: bool = False) -> list[Text]:
    """`str.splitlines`: every line boundary that Python knows."""
    whole = _cut(text, str.splitlines(text, keepends=True), 0)
    if keepends:
        return whole
    bare = str.splitlines(text)
    return [line[: len(end)] for line, end in zip(whole, bare, strict=True)]


def partition(text: Text, separator: str, *, last: bool = False) -> tuple[Text, Text, Text]:
    """`str.partition` and `str.rpartition`."""
    parts = str.rpartition(text, separator) if last else str.partition(text, separator)
    first, second, third = _cut(text, list(parts), 0)
    return first, second, third


def replace(text: Text, old: str, new: Text, count: int = -1) -> Text:
    """`str.replace`; the new text keeps its own owners."""
    if not old:
        made = str.replace(text, old, new, count)
        return of(made, owner_of(text, new))
    pieces = split(text, old, count)
    between = [part for piece in pieces for part in (new, piece)]
    return joined(between[1:]) if pieces else EMPTY


def lower(text: Text) -> Text:
    """`str.lower`."""
    return _cased(text, str.lower(text), str.lower)


def upper(text: Text) -> Text:
    """`str.upper`; one character may become several."""
    return _cased(text, str.upper(text), str.upper)


def capitalize(text: Text) -> Text:
    """`str.capitalize`."""
    return _whole(text, str.capitalize(text))


def title(text: Text) -> Text:
    """`str.title`."""
    return _whole(text, str.title(text))


def _whole(text: Text, made: str) -> Text:
    if len(made) == len(text):
        return Text(made, text.owners)
    return of(made, owner_of(text))


def _cased(text: Text, made: str, change: object) -> Text:
    if len(made) == len(text) and text.isascii():
        return Text(made, text.owners)
    widths = [len(change(character)) for character in str(text)]  # type: ignore[operator]
    if sum(widths) != len(made):
        return of(made, owner_of(text))
    owners = b"".join(bytes([o]) * w for o, w in zip(text.owners, widths, strict=True))
    return Text(made, owners)


def title_words(text: Text) -> Text:
    """The filter `title` of the source: a word begins after white space or one of - ( { [ <."""
    return _whole(text, _title_words(str(text)))


def _title_words(text: str) -> str:
    import re

    words = re.split(r"([-\s({\[<]+)", text)
    return "".join(word[0].upper() + word[1:].lower() for word in words if word)


def indent(text: Text, width: int | Text = 4, first: bool = False, blank: bool = False) -> Text:
    """The filter `indent` of the source: all lines but the first, no empty ones."""
    pad = width if isinstance(width, Text) else of(" " * width, 0)
    newline = of("\n", 0)
    lines = splitlines(joined([text, newline]))
    rest = [joined([pad, line]) if line or blank else line for line in lines[1:]]
    pieces = [lines[0], *(part for line in rest for part in (newline, line))]
    return joined([pad, *pieces]) if first else joined(pieces)
