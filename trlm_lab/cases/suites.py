"""Case files: the built-in suites and the files that users bring, one schema for both.

`{"schema": "trlm.process.cases.v1", "cases": [{"case_id": "a", "token_ids": [1, 2]}]}`. A case may
hold `text`, `position_ids` and `attention_mask`; a file may hold `name` and `vocab_size`. Keys that
begin with `x_` are passed over; any other unknown key is refused, since it might change what a case
means.
"""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Any

from trlm_lab.base import strict_json
from trlm_lab.base.records import Case, CaseSuite
from trlm_lab.errors import CaseFileError, RecordError, UnknownNameError

SCHEMA = "trlm.process.cases.v1"
_FILE_KEYS = {"schema", "name", "vocab_size", "cases"}
_ID_LISTS = ("token_ids", "position_ids", "attention_mask")
_CASE_KEYS = {"case_id", "text", *_ID_LISTS}


def _directory() -> Any:
    return resources.files("trlm_lab") / "data" / "cases"


def suite_names() -> list[str]:
    """Names of the built-in suites."""
    names = [p.name for p in _directory().iterdir() if p.name.endswith(".json")]
    return sorted(name.removesuffix(".json") for name in names)


def is_case_file(name: str) -> bool:
    """Whether a suite is named by the path of a file."""
    return "/" in name or name.endswith(".json")


def suite_row(suite: CaseSuite) -> dict[str, Any]:
    """The document of a case file that holds exactly this suite."""
    cases = [case.to_map() for case in suite.cases]
    return {"schema": SCHEMA, "name": suite.name, "cases": cases}


def load_suite(name: str | Path) -> CaseSuite:
    """A built-in suite by name, or a case file by path (anything with `/` or ending in `.json`).

    Raises:
        UnknownNameError: no built-in suite of that name.
        CaseFileError, JsonError, JsonDuplicateKeyError: the file breaks the schema.
    """
    text = str(name)
    if is_case_file(text):
        path = Path(name)
        return parse_cases(strict_json.load_file(path), name=path.stem, where=path.name)
    if text not in suite_names():
        raise UnknownNameError(kind="case suite", name=text, known=", ".join(suite_names()))
    data = (_directory() / f"{text}.json").read_bytes()
    return parse_cases(strict_json.loads(data, where=text), name=text, where=text)


def parse_cases(row: Any, *, name: str, where: str) -> CaseSuite:
    """The suite of a parsed case file; `name` stands in where the file gives none.

    Raises:
        CaseFileError: the schema is broken; `where` names the file and the case.
    """
    if not isinstance(row, dict) or row.get("schema") != SCHEMA:
        raise CaseFileError(where=where, detail=f"the document is no object of schema {SCHEMA!r}")
    _require_known(row, _FILE_KEYS, where)
    cases, vocab = row.get("cases"), row.get("vocab_size")
    if not isinstance(cases, list) or not cases:
        raise CaseFileError(where=where, detail="cases is no list with at least one case")
    if vocab is not None and not _is_id(vocab):
        raise CaseFileError(where=where, detail=f"vocab_size is {vocab!r}")
    named = row.get("name", name)
    if not isinstance(named, str):
        raise CaseFileError(where=where, detail=f"name is {named!r}, no text")
    parsed = tuple(_case(case, vocab, _place(where, i, case)) for i, case in enumerate(cases))
    try:
        return CaseSuite(named, parsed)
    except RecordError as error:
        raise CaseFileError(where=where, detail=error.detail) from error


def _place(where: str, number: int, row: Any) -> str:
    """The file, the case's number from 0, and its id where it has one."""
    named = row.get("case_id") if isinstance(row, dict) else None
    return f"{where}: case {number}" + (f" ({named:.80})" if isinstance(named, str) else "")


def _require_known(row: dict[str, Any], known: set[str], where: str) -> None:
    strange = sorted(k for k in row if k not in known and not k.startswith("x_"))
    if strange:
        detail = f"unknown keys {strange}; known: {sorted(known)}, and x_ for your own"
        raise CaseFileError(where=where, detail=detail)


def _is_id(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31


def _case(row: Any, vocab: int | None, where: str) -> Case:
    if not isinstance(row, dict):
        raise CaseFileError(where=where, detail="the case is no object")
    _require_known(row, _CASE_KEYS, where)
    missing = {"case_id", "token_ids"} - set(row)
    if missing:
        raise CaseFileError(where=where, detail=f"{sorted(missing)} are missing")
    fields: dict[str, Any] = {}
    for key in ("case_id", "text"):
        if key in row and not isinstance(row[key], str):
            raise CaseFileError(where=where, detail=f"{key} is no text")
        fields[key] = row.get(key)
    for key in _ID_LISTS:
        fields[key] = _ids(row[key], key, where) if key in row else None
    _require_in_vocabulary(fields["token_ids"], vocab, where)
    if set(fields["attention_mask"] or ()) - {0, 1}:
        raise CaseFileError(where=where, detail="attention_mask holds other values than 0 and 1")
    try:
        return Case(**fields)
    except RecordError as error:
        raise CaseFileError(where=where, detail=error.detail) from error


def _ids(value: Any, key: str, where: str) -> tuple[int, ...]:
    if not isinstance(value, list):
        raise CaseFileError(where=where, detail=f"{key} is no list")
    for index, item in enumerate(value):
        if not _is_id(item):
            detail = f"{key}[{index}] is {item!r}, no integer from 0 to 2^31 - 1"
            raise CaseFileError(where=where, detail=detail)
    return tuple(value)


def _require_in_vocabulary(ids: tuple[int, ...], vocab: int | None, where: str) -> None:
    if vocab is not None:
        for index, token in enumerate(ids):
            if token >= vocab:
                detail = f"token_ids[{index}] is {token}, the vocabulary has {vocab} ids"
                raise CaseFileError(where=where, detail=detail)
