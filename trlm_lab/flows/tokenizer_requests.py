"""What a tokenizer engine is asked, what it answers, and the file that it opens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from trlm_lab.base.plain_file import open_plain
from trlm_lab.errors import PathMissingError
from trlm_lab.text import Encoding, TokenStream
from trlm_lab.text.coordinates import Span

Row = dict[str, Any]
#: The tokenizers of SLM1.
SMALL = ("BTOK", "BPE1")
MAGICS = (b"GGUF", b"TOK2", b"SLM1", b"SLM2", b"BTOK", b"BPE1")


@dataclass(frozen=True)
class TokenizerFile:
    """A file and its kind: tokenizer.json, GGUF, SentencePiece, TOK2, BTOK, BPE1, SLM1 or SLM2."""

    path: Path
    kind: str

    @classmethod
    def at(cls, path: Path) -> TokenizerFile:
        """By the first bytes, SentencePiece by `.model` in the name, else JSON.

        Raises:
            PathMissingError: no such file.
        """
        if not path.exists():
            raise PathMissingError(where=str(path))
        with open_plain(path) as stream:
            magic = stream.read(4)
        other = "SentencePiece" if ".model" in path.name else "tokenizer.json"
        return cls(path, magic.decode() if magic in MAGICS else other)


@dataclass(frozen=True)
class Request:
    """A text, the spans (scalars) of it that are content, and what is asked for."""

    text: str
    content: tuple[Span, ...] = ()
    add_special_tokens: bool = False
    trace: bool = False


class TokenizerEngine(Protocol):
    """Texts to ids, ids to bytes, as rows of JSON."""

    notes: Sequence[str]

    def tokenize(self, request: Request) -> Row:
        """Ids and offsets; with trace the stages."""

    def decode(self, ids: list[int], mode: str) -> Row:
        """Bytes and text."""

    def stream(self, mode: str) -> TokenStream:
        """The same token by token."""


@runtime_checkable
class TakesUtf8(Protocol):
    """An engine that looks at the bytes of a text itself: their form, and their number."""

    def tokenize_utf8(self, data: bytes, *, add_special_tokens: bool, trace: bool = False) -> Row:
        """As `tokenize`.

        Raises:
            Utf8Error, TextTooLongError: by the engine's own judgement.
        """


@runtime_checkable
class Closes(Protocol):
    """An engine that holds something beside memory: a browser, a process."""

    def close(self) -> None:
        """Give it up. May be called again."""


UNITS = ("scalar", "utf16", "normalized_utf8_byte")


def token_row(ids: list[int], offsets: Sequence[Span]) -> Row:
    """Ids and offsets in bytes of the original text."""
    return {"ids": ids, "offsets": [list(o) for o in offsets], "offset_unit": "utf8_byte"}


def encoding_row(found: Encoding, *, trace: bool) -> Row:
    """An encoding as a row; every stage with `trace`."""
    row = token_row(found.ids, found.offsets())
    if not trace:
        return row
    return row | {
        "tokens": [token.text for token in found.tokens],
        "inserted": [token.inserted for token in found.tokens],
        "normalized": found.normalized,
        **{f"offsets_{unit}": [list(o) for o in found.offsets(unit)] for unit in UNITS},
        "stages": found.stage_rows(),
    }
