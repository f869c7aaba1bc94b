"""Files that a person signs: one strict reader, and a name that says something."""

import json
from pathlib import Path
from typing import Any

import pytest

from trlm_lab.base.canon import sha256_hex
from trlm_lab.base.reviewed_file import MOST_BYTES, ReviewedFile
from trlm_lab.base.reviewed_rows import ReviewedForm, is_said
from trlm_lab.errors import TreeProfileError

FORM = ReviewedForm(
    "a.v1", texts=frozenset({"pattern", "reviewer"}), said=frozenset({"reviewer"}),
    error=TreeProfileError, about=("pattern",),
)  # fmt: skip
ROW = {"pattern": "*", "reviewer": "Ada"}


def write(path: Path, row: Any) -> Path:
    path.write_text(row if isinstance(row, str) else json.dumps(row))
    return path


def listed(*rows: Any, **changes: Any) -> dict[str, Any]:
    return {"schema": "a.v1", "rows": list(rows)} | changes


@pytest.mark.parametrize("text", ["Ada", "7", "A. B.", "李", "Ж", "é", "\u200bAda"])
def test_a_name_says_something(text: str) -> None:
    assert is_said(text)


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "\t\n", "\u00a0", "\u200b", "\u200c\u200d\u2060\ufeff", "\u00ad", "\u3164",
        "\u115f\u1160\uffa0", "\u2800", "\u0301", "--", "?!", "…", "🙂", "\ue000", None, 7, ["Ada"],
    ],
)  # fmt: skip
def test_signs_and_what_nobody_sees_say_nothing(text: Any) -> None:
    assert not is_said(text)


def test_rows_come_with_their_places(tmp_path: Path) -> None:
    path = write(tmp_path / "f.json", listed(ROW, ROW | {"pattern": "x"}))
    (_, first), (place, second) = FORM.load_rows(FORM.read(path), "rows")
    assert (first, second["pattern"], place) == (ROW, "x", f"{path}#/rows/1")


@pytest.mark.parametrize(
    ("row", "where"),
    [
        ("{", ""),
        ("[]", ""),
        (" " * MOST_BYTES + "{}", ""),
        ({}, "#/schema"),
        (listed(schema="a.v2"), "#/schema"),
        (listed(more=1), "#"),
        ({"schema": "a.v1"}, "#"),
        (listed(rows={}), "#/rows"),
        (listed(ROW, []), "#/rows/1"),
        (listed({"pattern": "x"}), "#/rows/0"),
        (listed(ROW | {"more": "x"}), "#/rows/0"),
        (listed(ROW | {"pattern": 3}), "#/rows/0/pattern"),
        (listed(ROW | {"pattern": " "}), "#/rows/0/pattern"),
        (listed(ROW, ROW | {"reviewer": "\u200b"}), "#/rows/1/reviewer"),
        (listed(ROW, ROW | {"pattern": "x"}, ROW), "#/rows/2"),
    ],
)
def test_the_place_of_what_is_wrong(tmp_path: Path, row: Any, where: str) -> None:
    path = write(tmp_path / "f.json", row)
    with pytest.raises(TreeProfileError) as caught:
        FORM.load_rows(FORM.read(path), "rows")
    assert caught.value.where == f"{path}{where}"


def test_one_object_with_other_keys(tmp_path: Path) -> None:
    row = {"schema": "a.v1", **ROW, "texts": [1]}
    file = FORM.read(write(tmp_path / "f.json", row))
    assert FORM.load(file, others=["texts"]) == row
    with pytest.raises(TreeProfileError, match="'texts' is unknown"):
        FORM.load(file)


@pytest.mark.parametrize(
    ("second", "words"), [(ROW, "and is the same"), (ROW | {"reviewer": "Eve"}, "says otherwise")]
)
def test_two_rows_about_the_same_are_refused(
    tmp_path: Path, second: dict[str, str], words: str
) -> None:
    path = write(tmp_path / "f.json", listed(ROW, second))
    with pytest.raises(TreeProfileError, match=words) as caught:
        FORM.load_rows(FORM.read(path), "rows")
    assert "/rows/0 is about pattern '*' as well" in caught.value.detail
    assert "keep one of the two" in caught.value.detail


def test_a_file_is_read_once(tmp_path: Path) -> None:
    """Whoever puts another file under the name afterwards changes neither words nor hash."""
    path = write(tmp_path / "f.json", listed(ROW))
    file = FORM.read(path)
    before = path.read_bytes()
    path.write_text("{}")
    assert (file.data, file.sha256) == (before, sha256_hex(before))
    assert FORM.load_rows(file, "rows") == [(f"{path}#/rows/0", ROW)]


def test_what_cannot_be_read_is_an_error_of_the_form(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none"):
        with pytest.raises(TreeProfileError) as caught:
            ReviewedFile.read(path, TreeProfileError)
        assert caught.value.where == str(path)
