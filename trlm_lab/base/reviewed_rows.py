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

from trlm_lab.base import strict_json
from trlm_lab.errors import TrlmError

#: Far above any list that a person reads through.
MOST_BYTES = 1 << 20
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
    as a pattern is.
    """

    schema: str
    texts: frozenset[str]
    said: frozenset[str]
    error: type[TrlmError]

    def load(self, path: Path, others: Iterable[str] = ()) -> dict[str, Any]:
        """The object that is the whole file; `others` are its keys that hold no text.

        Raises:
            TrlmError: of the class `error`.
        """
        row = self._document(path, {*self.texts, *others})
        self._require_texts(row, f"{path}#")
        return row

    def load_rows(self, path: Path, key: str) -> list[tuple[str, dict[str, str]]]:
        """(place, row) of every row of the list at `key`.

        Raises:
            TrlmError: of the class `error`.
        """
        rows = self._document(path, {key})[key]
        if not isinstance(rows, list):
            raise self.error(where=f"{path}#/{key}", detail=f"{key!r} is no list")
        placed = [(f"{path}#/{key}/{i}", row) for i, row in enumerate(rows)]
        for place, row in placed:
            if not isinstance(row, dict):
                raise self.error(where=place, detail="this is no object")
            self._require_keys(row, set(self.texts), place)
            self._require_texts(row, place)
        return placed

    def _document(self, path: Path, keys: set[str]) -> dict[str, Any]:
        try:
            row = strict_json.load_object(path, limit=MOST_BYTES)
        except TrlmError as error:
            raise self.error(where=str(path), detail=error.detail) from error
        if row.get("schema") != self.schema:
            detail = f"the schema is {row.get('schema')!r}, {self.schema!r} is wanted"
            raise self.error(where=f"{path}#/schema", detail=detail)
        self._require_keys(row, {"schema", *keys}, f"{path}#")
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
