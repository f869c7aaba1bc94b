"""Files in which a person says something and signs it: one strict reader for all their forms.

Such a file is an object with a `schema` and texts, or with a `schema` and a list of rows that are
objects of texts. What is missing, unknown, empty or invisible is refused at its JSON pointer; who
reads it adds the rules of the matter.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trlm_lab.base.reviewed_file import ReviewedFile
from trlm_lab.errors import TrlmError

#: Letters by their class that no font draws: the fillers of Hangul.
_BLANK_LETTERS = frozenset("\u115f\u1160\u3164\uffa0")


def is_said(text: Any) -> bool:
    """Whether a value is a text that says something: it holds a letter or a digit that shows.

    White space, punctuation, and characters of no width (U+200B and its like) say nothing.
    """
    return isinstance(text, str) and any(c.isalnum() and c not in _BLANK_LETTERS for c in text)


@dataclass(frozen=True)
class ReviewedForm:
    """What a file must look like, and the error that says where it does not.

    `said` are the texts that must hold a letter or a digit; the other `texts` may be signs alone,
    as a pattern is. `about` are the texts of a row that say what it decides: two rows about the
    same would have to be ranked, and nobody who reads the file sees by which rule.
    """

    schema: str
    texts: frozenset[str]
    said: frozenset[str]
    error: type[TrlmError]
    about: tuple[str, ...] = ()

    def read(self, path: Path) -> ReviewedFile:
        """The bytes of a file.

        Raises:
            TrlmError: of the class `error`.
        """
        return ReviewedFile.read(path, self.error)

    def load(self, file: ReviewedFile, others: Iterable[str] = ()) -> dict[str, Any]:
        """The object that is the whole file; `others` are its keys that hold no text.

        Raises:
            TrlmError: of the class `error`.
        """
        row = self._document(file, {*self.texts, *others})
        self._require_texts(row, f"{file.path}#")
        return row

    def load_rows(self, file: ReviewedFile, key: str) -> list[tuple[str, dict[str, str]]]:
        """(place, row) of every row of the list at `key`.

        Raises:
            TrlmError: of the class `error`.
        """
        rows = self._document(file, {key})[key]
        if not isinstance(rows, list):
            raise self.error(where=f"{file.path}#/{key}", detail=f"{key!r} is no list")
        placed = [(f"{file.path}#/{key}/{i}", row) for i, row in enumerate(rows)]
        for place, row in placed:
            if not isinstance(row, dict):
                raise self.error(where=place, detail="this is no object")
            self._require_keys(row, set(self.texts), place)
            self._require_texts(row, place)
        self._require_single(placed, key)
        return placed

    def _require_single(self, placed: list[tuple[str, dict[str, str]]], key: str) -> None:
        """No two rows are about the same. The place is that of the second."""
        seen: dict[tuple[str, ...], int] = {}
        for number, (place, row) in enumerate(placed):
            about = tuple(row[name] for name in self.about)
            first = seen.setdefault(about, number)
            if self.about and first != number:
                named = " and ".join(f"{name} {row[name]!r:.200}" for name in self.about)
                state = "is the same" if row == placed[first][1] else "says otherwise"
                other = f"/{key}/{first} is about {named} as well, and {state}"
                detail = f"{other}; keep one of the two"
                raise self.error(where=place, detail=detail)

    def _document(self, file: ReviewedFile, keys: set[str]) -> dict[str, Any]:
        row = file.document(self.error)
        if not isinstance(row, dict):
            raise self.error(where=str(file.path), detail="the document is no object")
        if row.get("schema") != self.schema:
            detail = f"the schema is {row.get('schema')!r}, {self.schema!r} is wanted"
            raise self.error(where=f"{file.path}#/schema", detail=detail)
        self._require_keys(row, {"schema", *keys}, f"{file.path}#")
        return row

    def _require_keys(self, row: dict[str, Any], keys: set[str], place: str) -> None:
        for name in sorted(keys ^ row.keys()):
            state = "is missing" if name in keys else "is unknown"
            raise self.error(where=place, detail=f"the key {name!r} {state}")

    def _require_texts(self, row: dict[str, Any], place: str) -> None:
        for name in sorted(self.texts):
            text = row[name]
            if not isinstance(text, str) or not text.strip():
                raise self.error(where=f"{place}/{name}", detail=f"{name!r} is no text")
            if name in self.said and not is_said(text):
                detail = f"{name!r} holds no letter and no digit"
                raise self.error(where=f"{place}/{name}", detail=detail)
