"""How a notebook shows a tokenizer: what is on the page, and that nothing of a text is markup."""

import json
from pathlib import Path

import pytest

from trlm_lab.flows.notebooks import run_notebook
from trlm_lab.flows.progress import Board
from trlm_lab.flows.text_box import text_box
from trlm_lab.flows.text_views import StageView, decoded_rows, side_by_side, visible
from trlm_lab.flows.workspace import Workspace
from trlm_lab.text import read_tokenizer

TEXT = "a <b>\u00e9\u200b\n"


@pytest.fixture
def words() -> dict[str, object]:
    """Words and punctuation, lower case; whatever is not listed is unknown."""
    vocabulary = {"[UNK]": 0, "a": 1, "<": 2, "b": 3, ">": 4}
    return {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [],
        "normalizer": {"type": "Lowercase"}, "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": None, "decoder": None,
        "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "[UNK]"},
    }  # fmt: skip


@pytest.fixture
def file(tmp_path: Path, words: dict[str, object]) -> Path:
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(words))
    return path


def test_what_cannot_be_seen_is_shown() -> None:
    assert visible("a b\n\u200b\u0301") == "a·b⏎⟨200B⟩\u0301"


def test_stages_and_bytes_are_on_the_page(words: dict[str, object]) -> None:
    page = StageView(read_tokenizer(words).encode(TEXT, trace=True))._repr_html_()
    for part in ("Lowercase", "Whitespace", "/pre_tokenizer", "c3 a9", "id 3, bytes 3 to 4"):
        assert part in page, part
    assert "<b>" not in page


def test_engines_agree_side_by_side(file: Path) -> None:
    rows = side_by_side(file, "a <b>", ["python", "hf"]).rows
    assert [row["same"] for row in rows] == ["yes", "yes"]
    assert rows[0]["byte offsets"] == "0–1 2–3 3–4 4–5"


def test_an_engine_that_cannot_says_so(file: Path) -> None:
    (row,) = side_by_side(file, "\ud800", ["python"]).rows
    assert "surrogate" in row["ids"]


def test_the_box_follows_what_is_typed(file: Path) -> None:
    line, shown = text_box(file, ["python", "hf"], "a").children
    before = shown.value
    line.value = "a > b"
    assert shown.value != before
    assert "id 4" in shown.value
    line.value = "\ud800"
    assert "UTF8" in shown.value


@pytest.mark.slow
def test_the_notebook_runs_and_gives_what_the_library_gives(
    file: Path, words: dict[str, object], tmp_path: Path
) -> None:
    ws = Workspace(tmp_path / "run", Board(quiet=True))
    given = {"tokenizer": str(file), "text": "a <b>", "engines": "python,hf", "widget": False}
    done = run_notebook(ws, "08_text", given, [])
    assert done.evidence["ids"] == read_tokenizer(words).encode("a <b>").ids
    assert done.evidence["same"] == {"python": "yes", "hf": "yes"}


def test_what_is_decoded_shows_its_white_space(file: Path) -> None:
    rows = decoded_rows(file, "python", [1, 3])
    assert [(row["mode"], row["text"]) for row in rows] == [
        (mode, "a·b") for mode in ("raw", "visible", "diagnostic")
    ]


def test_an_error_in_the_box_is_no_markup(file: Path) -> None:
    _, shown = text_box(file, ["<b>"], "a").children
    assert "&lt;b&gt;" in shown.value
    assert "<b>" not in shown.value
