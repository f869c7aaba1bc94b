"""`trlm tokenizer`: the profile of a file."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from tests.text.components import ADDED, TEMPLATE, byte_level
from tests.text.constructed import byte_bpe, document
from trlm_lab.base import canon
from trlm_lab.base.records.tokenizer_profile import TokenizerProfile
from trlm_lab.flows.cli.app import run

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def tokenizer_file(tmp_path: Path) -> Path:
    path = tmp_path / "tokenizer.json"
    row = document(
        byte_bpe(), pre_tokenizer=byte_level(), decoder=byte_level(), post_processor=TEMPLATE,
        added_tokens=ADDED[:3],
    )  # fmt: skip
    path.write_text(json.dumps(row))
    return path


def answer(capsys: Capture, *words: str, status: int = 0) -> Any:
    assert run(["tokenizer", *words, "--json"]) == status
    return json.loads(capsys.readouterr().out)


def test_profile(capsys: Capture, tokenizer_file: Path) -> None:
    row = answer(capsys, "profile", str(tokenizer_file))
    assert row["file_sha256"] == hashlib.sha256(tokenizer_file.read_bytes()).hexdigest()
    assert row["profile_id"] == canon.content_id(row["profile"])
    assert TokenizerProfile.from_map(row["profile"]).profile_id == row["profile_id"]
    assert row["profile"]["insertion"]["before"] == [7, 8]


def test_profile_for_people(capsys: Capture, tokenizer_file: Path) -> None:
    assert run(["tokenizer", "profile", str(tokenizer_file)]) == 0
    shown = capsys.readouterr().out
    assert "profile.added_tokens[0].content" in shown
    assert "'\\u2028'" in shown


def test_file_without_profile(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "small.model"
    path.write_bytes(b"")
    monkeypatch.setattr("trlm_lab.flows.tokenizer_profiles.read_reference", lambda file: file)
    row = answer(capsys, "profile", str(path), status=4)
    assert row["error"]["code"] == "NOT_SUPPORTED"


def test_missing_file(capsys: Capture, tmp_path: Path) -> None:
    row = answer(capsys, "profile", str(tmp_path / "none.json"), status=3)
    assert row["error"]["code"] == "PATH_MISSING"
