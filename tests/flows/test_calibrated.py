"""Calibrated quantizers from corpus to artifact: receipts, identity, refusals, the command."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.flows.test_cli import document
from trlm_lab.acquire import acquire
from trlm_lab.acquire.text_data import Document, text_packages
from trlm_lab.base import strict_json
from trlm_lab.calibrate.corpus import Corpus, TextSource
from trlm_lab.calibrate.corpus_choice import make_corpus
from trlm_lab.cases import load_suite
from trlm_lab.errors import (
    CalibrationNeededError,
    CalibrationRecordError,
    CalibrationTextOverlapError,
    TextDataMissingError,
    TrainedModelMissingError,
)
from trlm_lab.flows import calibrated
from trlm_lab.flows.acquisition import Described, Source
from trlm_lab.flows.bench_quant import trained_model
from trlm_lab.flows.calibrated import calibrated_codes, read_corpus, text_corpus
from trlm_lab.flows.packing import pack_artifact
from trlm_lab.flows.progress import Board
from trlm_lab.flows.workspace import Workspace

pytestmark = pytest.mark.xdist_group("flows")
Capture = pytest.CaptureFixture[str]
QUANT = "q4_g64-gptq"
QUIET = Board(quiet=True)


@pytest.fixture
def corpus() -> Corpus:
    """Random ids of the synthetic model's vocabulary."""
    draw = random.Random(4)
    documents = [(f"t/{n}", f"{n:064x}", draw.choices(range(512), k=64)) for n in range(4)]
    source = TextSource("t", "@x/t", "1", "ab" * 32, "CC0-1.0")
    return make_corpus([source], "cd" * 32, documents, [], window=32, wanted=4)


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRLM_HOME", str(tmp_path / "home"))


def test_an_artifact_rests_on_its_calibration_data(
    workspace: Workspace, small_source: Source, small_described: Described, corpus: Corpus
) -> None:
    codes = calibrated_codes(small_source, small_described, QUANT, corpus, QUIET)
    packed = pack_artifact(workspace, small_source, small_described, QUANT, codes)
    store = workspace.store
    node = store.get(packed.nodes["artifact"])
    data = [store.get(c) for c in node.children if store.get(c).type == "calibration_data"]
    assert [one.metadata["calibration_id"] for one in data] == [corpus.corpus_id]
    assert data[0].metadata["codes_id"] == codes.codes_id
    # Made again out of nothing, the codes are the same file.
    first = codes.path.read_bytes()
    codes.path.unlink()
    again = calibrated_codes(small_source, small_described, QUANT, corpus, QUIET)
    assert again.path.read_bytes() == first
    # Another licence of the same text: the same bytes, another identity.
    licence = replace(corpus, sources=(replace(corpus.sources[0], licence="PDDL-1.0"),))
    other = calibrated_codes(small_source, small_described, QUANT, licence, QUIET)
    repacked = pack_artifact(workspace, small_source, small_described, QUANT, other)
    assert repacked.artifact.file_sha256 == packed.artifact.file_sha256
    assert repacked.nodes["artifact"] != packed.nodes["artifact"]


def test_judged_text_and_foreign_corpora_are_refused(
    small_source: Source, small_described: Described, corpus: Corpus, tmp_path: Path
) -> None:
    longest = max(load_suite("small-judged").cases, key=lambda case: len(case.token_ids))
    record = replace(corpus.records[0], ids=(5, *longest.token_ids))
    case = tmp_path / "x.json"
    rows = [{"case_id": "a", "token_ids": list(corpus.records[1].ids[3:20])}]
    case.write_text(json.dumps({"schema": "trlm.process.cases.v1", "cases": rows}))
    spoilt = replace(corpus, records=(record, *corpus.records[1:]))
    with pytest.raises(CalibrationTextOverlapError, match="small-judged"):
        calibrated_codes(small_source, small_described, QUANT, spoilt, QUIET)
    with pytest.raises(CalibrationTextOverlapError, match=r"x\.json"):
        calibrated_codes(small_source, small_described, QUANT, corpus, QUIET, [str(case)])
    for ids in ((512, 1), ()):
        foreign = replace(corpus, records=(replace(corpus.records[0], ids=ids),) if ids else ())
        with pytest.raises(CalibrationRecordError, match="vocabulary"):
            calibrated_codes(small_source, small_described, QUANT, foreign, QUIET)
    path = tmp_path / "c.json"
    for text in ("{}", "[", '{"schema": "other"}'):
        path.write_text(text)
        with pytest.raises(CalibrationRecordError):
            read_corpus(path)


def test_pack_takes_a_corpus_or_codes(capsys: Capture, tmp_path: Path, corpus: Corpus) -> None:
    text, codes = tmp_path / "c.json", tmp_path / "codes"
    text.write_bytes(strict_json.pretty(corpus.to_map()))
    source = "synthetic:llama-small"
    made = ["quantize", source, "--quant", QUANT, "--calibration", str(text), "--out", str(codes)]
    row = document(capsys, made, 0)
    assert row["calibration_id"] == corpus.corpus_id
    pack = ["pack", source, "--quant", QUANT, "--out"]
    first = document(capsys, [*pack, str(tmp_path / "a.slm"), "--codes", str(codes)], 0)
    second = document(capsys, [*pack, str(tmp_path / "b.slm"), "--calibration", str(text)], 0)
    assert first["codes_id"] == second["codes_id"] == row["codes_id"]
    assert first["file_sha256"] == second["file_sha256"]
    root = str(acquire("synthetic:llama-small").root)
    verify = ["ledger", "verify", str(tmp_path / "a.slm")]
    proof = [*verify, "--source", root, "--codes", str(codes)]
    assert document(capsys, proof, 0)["verdict"] == "accept"
    assert document(capsys, [*verify, "--source", root], 1)["verdict"] == "refuse"
    entries = document(capsys, ["ledger", "show", *proof[2:]], 0)["entries"]
    assert any(row["codes_id"] for e in entries for _, row in e["transforms"] if "codes_id" in row)
    found = document(capsys, [*verify, "--codes", str(codes)], 2)
    assert found["error"]["code"] == CalibrationNeededError.code
    both = ["--codes", str(codes), "--calibration", str(text)]
    for more in ([], both):
        found = document(capsys, [*pack, str(tmp_path / "c.slm"), *more], 2)
        assert found["error"]["code"] == CalibrationNeededError.code


def test_a_corpus_of_texts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Texts of another's making through a tokenizer: what is held out is in no record."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    letters = pre_tokenizers.ByteLevel.alphabet()
    tokenizer = Tokenizer(models.BPE({c: n for n, c in enumerate(sorted(letters))}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    draw = random.Random(1)
    words = ["".join(draw.choices("abcdefgh ", k=400)) for _ in range(6)]

    def documents(part: str) -> list[Document]:
        if part == "held-out":
            return [Document("t/held", words[0][100:300])]
        return [Document(f"t/{n}", text) for n, text in enumerate(words)]

    monkeypatch.setattr(calibrated, "documents", documents)
    config: Any = type("Config", (), {"bos_token_id": 7, "max_position_embeddings": 100})
    found = text_corpus(tmp_path, config, ["smoke"], records=15, window=128)
    assert found == text_corpus(tmp_path, config, ["smoke"], records=15, window=128)
    assert {len(one.ids) for one in found.records} == {100}
    assert found.filtering.dropped == 2
    names = [row["name"] for row in found.against]
    assert names == ["held-out", "demo-judged", "gemma3-judged", "small-judged", "smoke"]
    assert {s.name for s in found.sources} == set(text_packages())


def test_what_was_not_fetched_or_trained_is_named() -> None:
    with pytest.raises(TrainedModelMissingError, match="train_text_model"):
        trained_model()
    with pytest.raises(TextDataMissingError):
        calibrated.documents("held-out")
