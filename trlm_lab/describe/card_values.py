"""Assignments in the code of a model card, read as text and never run.

Every pattern is bounded and begins at a distinct character, so a card is read in linear time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

TOKEN_STOPS = "stop_token_ids"
STOPS = frozenset({"stop", "stop_strings", "stop_sequences", "stop_words", TOKEN_STOPS})
SAMPLING = frozenset(
    {"temperature", "top_p", "top_k", "min_p", "repetition_penalty", "do_sample"}
)  # fmt: skip

CONTROL = re.compile(r"<\|[^|<>\s]{1,60}\|>|</?s>|<(?:start|end)_of_turn>|\[/?INST\]")
_MAX_TEXT, _MAX_ITEMS = 1 << 16, 64

_NAME = re.compile(
    r"(?<![\w-])((?:bos|eos|pad|unk)_token(?:_id)?|stop(?:_(?:strings|sequences|words|token_ids))?"
    r"|chat_template|temperature|top_[pk]|min_p|repetition_penalty|do_sample)"
    r"(?:\\?[\"'])?[ \t]{0,8}[=:]|(?<!\w)PARAMETER[ \t]{1,8}(stop|temperature|top_[pk]|min_p)[ \t]"
)
_SPACE = re.compile(r"\s{0,200}")
_STRINGS = (
    re.compile(r'"((?:[^"\\\n]|\\.){0,65536})"(?!")'),
    re.compile(r"'((?:[^'\\\n]|\\.){0,65536})'(?!')"),
)
#: A text of a JSON document that stands in a text itself, as in the arguments of a shell.
_INNER = re.compile(r'\\"([^"\\\n]{0,400})\\"')
_NUMBER = re.compile(r"-?[0-9]{1,20}(?:\.[0-9]{1,20})?(?![\w.])")
_TRUTH = re.compile(r"(?:[Tt]rue|[Ff]alse)(?!\w)")
_CALL = re.compile(
    r"[\w.]{0,80}(?:convert_tokens_to_ids|AddedToken)\(\s{0,20}[\"']([^\"'\n]{1,80})[\"'][^()\n]{0,200}\)"
)
_OBJECT = re.compile(r"\{[^{}]{0,400}\}")
_CONTENT = re.compile(r"[\"']content[\"']\s{0,8}:\s{0,8}[\"']([^\"'\n]{1,80})[\"']")
_OTHER = re.compile(r"[\w.]{1,100}(?:\([^()\n]{0,200}\))?")
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)", re.S)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", '"': '"', "'": "'", "\n": ""}


@dataclass(frozen=True)
class Reference:
    """A value that another name gives, such as `tokenizer.eos_token_id`."""

    name: str


Item = int | float | bool | str | Reference


@dataclass(frozen=True)
class Assignment:
    """`name` = `items` at characters `start` to `end`; `whole`: every item was understood."""

    name: str
    items: tuple[Item, ...]
    whole: bool
    start: int
    end: int


def assignments(text: str, start: int, end: int) -> Iterator[Assignment]:
    """Every assignment of a name that declares behaviour, with a value that can be read."""
    while match := _NAME.search(text, start, end):
        items, whole, start = _value(text, match.end(), end)
        if items:
            yield Assignment(match[1] or match[2], items, whole, match.start(), start)


def _value(text: str, at: int, end: int) -> tuple[tuple[Item, ...], bool, int]:
    """Items, whether all were understood, and where reading goes on."""
    first = _skip(text, at, end)
    if not text.startswith("[", first):
        item, after = _item(text, first, end)
        return (() if item is None else (item,)), True, max(after, at)
    items: list[Item] = []
    whole, at = True, first + 1
    for _ in range(_MAX_ITEMS):
        at = _skip(text, at, end)
        if text.startswith("]", at):
            return tuple(items), whole, at + 1
        item, after = _item(text, at, end)
        if after == at:
            break
        items += [] if item is None else [item]
        whole = whole and item is not None
        at = _skip(text, after, end)
        at += text.startswith(",", at)
    return tuple(items), False, at


def _skip(text: str, at: int, end: int) -> int:
    match = _SPACE.match(text, at, end)
    return match.end() if match else at


def _item(text: str, at: int, end: int) -> tuple[Item | None, int]:
    """The item at a place and where it ends; None: nothing that is understood."""
    mark = text[at : at + 1]
    if text.startswith(('"""', "'''"), at):
        close = text.find(text[at : at + 3], at + 3, min(end, at + _MAX_TEXT))
        return (unescaped(text[at + 3 : close]), close + 3) if close >= 0 else (None, at)
    if mark in ('"', "'"):
        match = _STRINGS[mark == "'"].match(text, at, end)
        return (unescaped(match[1]), match.end()) if match else (None, at)
    if match := _INNER.match(text, at, end):
        return match[1], match.end()
    if match := CONTROL.match(text, at, end):
        return match[0], match.end()
    if match := _NUMBER.match(text, at, end):
        return (float(match[0]) if "." in match[0] else int(match[0])), match.end()
    if match := _TRUTH.match(text, at, end):
        return match[0].lower() == "true", match.end()
    return _named(text, at, end)


def _named(text: str, at: int, end: int) -> tuple[Item | None, int]:
    """A call or object that names a token, or another name."""
    if match := _CALL.match(text, at, end):
        return unescaped(match[1]), match.end()
    if match := _OBJECT.match(text, at, end):
        content = _CONTENT.search(match[0])
        return (unescaped(content[1]) if content else None), match.end()
    if match := _OTHER.match(text, at, end):
        return Reference(match[0]), match.end()
    return None, at


def unescaped(text: str) -> str:
    """A literal's text; an escape that Python and JSON do not share stays as it is written."""

    def one(match: re.Match[str]) -> str:
        code = match[1]
        return chr(int(code[1:], 16)) if len(code) > 1 else _ESCAPED.get(code, match[0])

    return _ESCAPE.sub(one, text)
