"""The exactness run finds a planted fault, makes its text small, and goes on where it was."""

import importlib.util
import json
import random
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.text.components import ADDED, TEMPLATE, byte_level, kind, replaced
from tests.text.constructed import byte_bpe, document
from trlm_lab.backends.native import NativeRunner
from trlm_lab.base.interfaces import Runner
from trlm_lab.flows.exactness import text_generators as generators
from trlm_lab.flows.exactness.prose import PROSE
from trlm_lab.flows.exactness.shards import Shard, pool_of, run_shard, shrunk
from trlm_lab.flows.exactness.stages import Sides
from trlm_lab.flows.tokenizer_engines import Reference, open_tokenizer
from trlm_lab.flows.tokenizer_requests import Request, Row, TokenizerFile

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def tokenizer(tmp_path: Path) -> Path:
    path = tmp_path / "tokenizer.json"
    row = document(byte_bpe(), pre_tokenizer=byte_level(), added_tokens=ADDED)
    path.write_text(json.dumps(row))
    return path


class Faulty(Reference):
    """Wrong wherever a text has a Q."""

    def tokenize(self, request: Request) -> Row:
        row = super().tokenize(request)
        return {**row, "ids": [*row["ids"], 0]} if "Q" in request.text else row


def run(candidate: Reference, path: Path, count: int = 300) -> Shard:
    pool = pool_of(candidate.tokenizer, 1)
    return run_shard(candidate, open_tokenizer(path, "hf"), pool, Shard(1, 0), count)


def test_reference_is_exact(tokenizer: Path) -> None:
    found = run(Reference(TokenizerFile.at(tokenizer)), tokenizer)
    assert found.mismatches == []
    assert found.texts + found.refused == 300
    assert found.refused == 15
    assert found.long * 10 >= found.texts
    assert set(generators.GENERATORS) <= set(found.generators)
    assert found.digest == run(Reference(TokenizerFile.at(tokenizer)), tokenizer).digest


def test_planted_fault(tokenizer: Path) -> None:
    found = run(Faulty(TokenizerFile.at(tokenizer)), tokenizer).mismatches
    assert found
    assert {one.smallest for one in found} == {"Q"}
    assert {one.stage for one in found} == {"model or added tokens"}
    assert all("Q" in one.text for one in found)


CUT = [byte_level(regex=False)]
#: What is changed, and the stage in which a tokenizer so changed parts from the plain one.
CHANGES: dict[str, dict[str, Any]] = {
    "/normalizer (Replace)": {"normalizer": replaced({"String": "1"}, "2")},
    "/pre_tokenizer/pretokenizers/0 (Digits)": {
        "pre_tokenizer": kind(
            "Sequence", pretokenizers=[kind("Digits", individual_digits=True), *CUT]
        )
    },
    "/added_tokens (given text)": {"added_tokens": []},
    "/model (BPE)": {"model": byte_bpe(ignore_merges=True) | {"merges": []}},
    "/post_processor (TemplateProcessing)": {"post_processor": TEMPLATE},
}


@pytest.mark.parametrize("stage", CHANGES)
def test_the_stage_of_the_runtime_is_named(
    stage: str, tmp_path: Path, require: Callable[[Runner], None]
) -> None:
    """Beside the reference, and beside a library that shows less."""
    require(NativeRunner())
    plain = {
        "normalizer": replaced({"String": "1"}, "1"),
        "pre_tokenizer": kind(
            "Sequence", pretokenizers=[kind("Digits", individual_digits=False), *CUT]
        ),
        "post_processor": byte_level(),
        "added_tokens": ADDED,
        "model": byte_bpe(),
    }
    files = [tmp_path / "plain.json", tmp_path / "changed.json"]
    for file, changes in zip(files, ({}, CHANGES[stage]), strict=True):
        file.write_text(json.dumps(document(**{**plain, **changes})))
    ours, reference = open_tokenizer(files[1], "native"), Reference(TokenizerFile.at(files[0]))
    for side in (Sides(ours, reference), Sides(ours, open_tokenizer(files[0], "hf"), reference)):
        assert side.first_stage("hello 11<s>", special=True) == stage


def test_shrinking() -> None:
    assert (
        shrunk("xx" * 40 + "\u00e9zz\u00e9" + "y" * 30, lambda text: text.count("\u00e9") > 1)
        == "\u00e9\u00e9"
    )
    assert shrunk("hello w", lambda text: len(text) > 2) == "aaa"


def test_generators() -> None:
    """Each gives texts that have a UTF-8 form, and the same ones for one seed."""
    pool = generators.Pool(["a", " the"], ["<s>"], generators.equal_texts())
    assert len(generators.GENERATORS) >= 12
    assert len(PROSE) >= 20
    for name, generate in generators.GENERATORS.items():
        for number in range(60):
            text = generate(random.Random(number), pool)
            assert text == generate(random.Random(number), pool), name
            text.encode()
    for number in range(60):
        with pytest.raises(UnicodeDecodeError):
            generators.ill_formed(random.Random(number), pool).decode()


def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("exactness", ROOT / "tools/fuzz/exactness.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_shards_are_kept(
    tokenizer: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module, kept = script(), tmp_path / "kept"
    arguments = [str(tokenizer), "--texts", "50", "--shard", "20", "--kept", str(kept)]
    assert module.main(arguments) == 0
    first = capsys.readouterr().out
    assert "0 mismatches" in first
    files = sorted(kept.rglob("*.json"))
    assert [file.name for file in files] == [f"seed-1-shard-0000{n}.json" for n in range(3)]
    rows = [json.loads(file.read_bytes()) for file in files]
    assert sum(row["texts"] + row["refused"] for row in rows) == 50
    files[1].unlink()
    ran: list[int] = []
    whole = module.run_shard
    monkeypatch.setattr(module, "run_shard", lambda *a: (ran.append(a[3].number), whole(*a))[1])
    assert module.main(arguments) == 0
    assert ran == [1]
    assert json.loads(files[1].read_bytes()) == rows[1]
    rows[2]["mismatches"] = [
        {"stage": "normalizer", "smallest": "\u00e9", "generator": "prose", "index": 4}
    ]
    files[2].write_text(json.dumps(rows[2]))
    assert module.main(arguments) == 1
    assert "normalizer: '\\xe9' (prose, text 4)" in capsys.readouterr().out
