"""Files that a person signs: one strict reader, and a name that says something."""

import json
from pathlib import Path
from typing import Any

import pytest

from trlm_lab.base.reviewed_rows import MOST_BYTES, ReviewedForm, is_said
from trlm_lab.errors import TreeProfileError

FORM = ReviewedForm(
    "a.v1", texts=frozenset({"pattern", "reviewer"}), said=frozenset({"reviewer"}),
    error=TreeProfileError,
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
    (_, first), (place, second) = FORM.load_rows(path, "rows")
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
    ],
)
def test_the_place_of_what_is_wrong(tmp_path: Path, row: Any, where: str) -> None:
    path = write(tmp_path / "f.json", row)
    with pytest.raises(TreeProfileError) as caught:
        FORM.load_rows(path, "rows")
    assert caught.value.where == f"{path}{where}"


def test_one_object_with_other_keys(tmp_path: Path) -> None:
    row = {"schema": "a.v1", **ROW, "texts": [1]}
    assert FORM.load(write(tmp_path / "f.json", row), others=["texts"]) == row
    with pytest.raises(TreeProfileError, match="'texts' is unknown"):
        FORM.load(write(tmp_path / "f.json", row))
