"""Tokenizer engines by name: the source's library and the reference, with one form of answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from trlm_lab.base import strict_json
from trlm_lab.errors import (
    MissingPackageError,
    PathMissingError,
    SegmentsUnsupportedError,
    TokenIdError,
    TokenizerEngineMissingError,
    TokenizerFileError,
    UnknownNameError,
)
from trlm_lab.text import MODES, Encoding, Tokenizer, read_tokenizer
from trlm_lab.text.coordinates import Coordinates, Span
from trlm_lab.text.decoded import escaped

#: Engines whose names are fixed and that do not exist yet.
PLANNED = ("native", "wasm")
UNITS = ("scalar", "utf16", "normalized_utf8_byte")
Row = dict[str, Any]


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


def open_tokenizer(path: Path, engine: str) -> TokenizerEngine:
    """The engine over one tokenizer.json.

    Raises:
        UnknownNameError: no engine of this name.
        TokenizerEngineMissingError: native and wasm do not exist yet.
        PathMissingError, JsonError: no readable file.
        TokenizerFieldError, TokenizerKindError, TokenizerVocabularyError, MergeDuplicateError,
        PatternUnsupportedError: the reference does not build it.
        TokenizerFileError: the library does not load it.
        MissingPackageError: the library is not installed.
    """
    if engine in PLANNED:
        raise TokenizerEngineMissingError(where="--engine", engine=engine)
    if engine not in ENGINES:
        known = ", ".join([*ENGINES, *PLANNED])
        raise UnknownNameError(where="--engine", kind="engine", name=engine, known=known)
    if not path.exists():
        raise PathMissingError(where=str(path))
    return ENGINES[engine](strict_json.load_object(path), path.name)


class Reference:
    """The reference tokenizer."""

    def __init__(self, document: Row, name: str) -> None:
        self._tokenizer: Tokenizer = read_tokenizer(document)
        self.notes: Sequence[str] = self._tokenizer.notes

    def tokenize(self, request: Request) -> Row:
        """Every stage is there on request."""
        found = self._tokenizer.encode(
            request.text,
            add_special_tokens=request.add_special_tokens,
            trace=request.trace,
            content=request.content,
        )
        row = _row(found.ids, found.offsets())
        return row | (_traced(found) if request.trace else {})

    def decode(self, ids: list[int], mode: str) -> Row:
        """Exact bytes in every mode."""
        found = self._tokenizer.decode(ids, mode)
        return {"bytes_hex": found.data.hex(), "text": found.text}


def _row(ids: list[int], offsets: Sequence[Span]) -> Row:
    return {"ids": ids, "offsets": [list(o) for o in offsets], "offset_unit": "utf8_byte"}


def _traced(found: Encoding) -> Row:
    return {
        "tokens": [token.text for token in found.tokens],
        "inserted": [token.inserted for token in found.tokens],
        "normalized": found.normalized,
        **{f"offsets_{unit}": [list(o) for o in found.offsets(unit)] for unit in UNITS},
        "stages": found.stage_rows(),
    }


class Source:
    """The `tokenizers` library. It shows tokens only, and its decoded bytes are those of a text."""

    def __init__(self, document: Row, name: str) -> None:
        try:
            from tokenizers import Tokenizer as Library
        except ImportError as error:
            raise MissingPackageError(package="tokenizers", extra="oracle") from error
        try:
            self._library = Library.from_str(strict_json.pretty(document).decode())
        except Exception as error:
            # The library raises bare Exceptions for all that it does not load.
            raise TokenizerFileError(where=name, detail=str(error)) from error
        declared = {"truncation": self._library.truncation, "padding": self._library.padding}
        self._library.no_truncation()
        self._library.no_padding()
        self.notes: Sequence[str] = [
            f"{key} is declared and switched off" for key, value in declared.items() if value
        ]

    def tokenize(self, request: Request) -> Row:
        """Offsets are scalars there; they are given in bytes here."""
        text = request.text
        if request.content and request.content != ((0, len(text)),):
            raise SegmentsUnsupportedError(engine="hf")
        self._library.encode_special_tokens = bool(request.content)
        found = self._library.encode(text, add_special_tokens=request.add_special_tokens)
        place = Coordinates(text)
        row = _row(found.ids, [place.utf8(span) for span in found.offsets])
        traced = {"tokens": found.tokens, "offsets_scalar": [list(o) for o in found.offsets]}
        return row | (traced if request.trace else {})

    def decode(self, ids: list[int], mode: str) -> Row:
        """What is no UTF-8 is U+FFFD already."""
        for index, number in enumerate(ids):
            if number >= 1 << 32 or self._library.id_to_token(number) is None:
                raise TokenIdError(got=number, index=index)
        text = self._library.decode(ids, skip_special_tokens=mode == "visible")
        data = text.encode()
        return {"bytes_hex": data.hex(), "text": escaped(data) if mode == "diagnostic" else text}


ENGINES: dict[str, Callable[[Row, str], TokenizerEngine]] = {"hf": Source, "python": Reference}


def require_mode(mode: str) -> None:
    """Refuse a decode mode that does not exist.

    Raises:
        UnknownNameError: no such mode.
    """
    if mode not in MODES:
        raise UnknownNameError(where="--mode", kind="mode", name=mode, known=", ".join(MODES))
