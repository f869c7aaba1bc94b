"""`trlm bench tokenizer` on a small tokenizer and a small book: what is compared, what is shown."""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.text.components import byte_level
from tests.text.constructed import byte_bpe, document
from trlm_lab.backends.native import NativeRunner
from trlm_lab.base.interfaces import Runner
from trlm_lab.flows import bench_tokenizer as bench


@pytest.fixture
def small(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, require: Callable[[Runner], None]
) -> None:
    """A snapshot and a book of two paragraphs in place of the real ones."""
    require(NativeRunner())
    row = document(byte_bpe(), pre_tokenizer=byte_level())
    (tmp_path / "tokenizer.json").write_text(json.dumps(row))
    (tmp_path / "prose.txt").write_text("hello world\n\nw\xe9 00")
    package = SimpleNamespace(path=lambda name: tmp_path / name)
    monkeypatch.setattr(bench, "acquire", lambda source: SimpleNamespace(root=tmp_path))
    monkeypatch.setattr(bench, "tokenizer_packages", lambda: {"moby_dick": package})


@pytest.mark.slow
@pytest.mark.usefixtures("small")
def test_both_engines_are_measured_on_the_same_ids() -> None:
    rows = {row["figure"]: row for row in bench.bench_tokenizer()}
    assert rows["paragraphs with the same ids"]["native"] == "2 of 2"
    assert rows["one text with the same ids"]["native"] == "1 of 1"
    assert rows["one text, MB/s"]["target"] == 3.0
    assert set(rows) >= {"paragraphs, MB/s", "loaded, MiB", "after the book, MiB"}
    assert all(rows["paragraphs, MB/s"][name] > 0 for name in bench.NAMES)


def test_other_ids_are_counted() -> None:
    engines = {"native": lambda text: [1], "tokenizers": lambda text: [len(text)]}
    found, seconds = bench._turns(engines, ["a", "bb"])
    assert found == {"native": [[1], [1]], "tokenizers": [[1], [2]]}
    assert {len(spent) for spent in seconds.values()} == {bench.ROUNDS}
