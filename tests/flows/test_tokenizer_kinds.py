"""`trlm tokenize` over GGUF files and SentencePiece models, with their own sources beside."""

import io
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.text.ggml.made_vocabulary import byte_level, gguf_bytes
from tests.text.ggml.peers import require_llama_cpp
from tests.text.sentencepiece.made_models import model
from trlm_lab.errors import (
    EngineFileKindError,
    SegmentsUnsupportedError,
    StreamUnsupportedError,
    TokenIdError,
    TokenizerFileError,
)
from trlm_lab.flows.cli.app import run
from trlm_lab.flows.tokenizer_engines import Request, open_tokenizer, source_engine

Capture = pytest.CaptureFixture[str]
Row = dict[str, Any]


@pytest.fixture
def gguf(tmp_path: Path) -> Path:
    path = tmp_path / "made.gguf"
    path.write_bytes(gguf_bytes(byte_level("qwen2", more=("<|a|>", "</s>"))))
    return path


@pytest.fixture
def piece_model(tmp_path: Path) -> Path:
    path = tmp_path / "made.model"
    path.write_bytes(model("BPE", byte_fallback=True))
    return path


def command(
    words: list[str], lines: bytes, patch: pytest.MonkeyPatch, capsys: Capture, status: int = 0
) -> list[Row]:
    patch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(lines)))
    assert run(words) == status
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


@pytest.mark.peer
def test_gguf(gguf: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    require_llama_cpp()
    lines = b'{"text":"ab 12\\u00e9 <|a|>"}\n{"segments":[{"text":"<|a|>","owner":"content"}]}'
    rows = {
        engine: command(
            ["tokenize", "--tokenizer", str(gguf), "--engine", engine], lines, monkeypatch, capsys
        )
        for engine in ("python", "llama.cpp")
    }
    assert [row["ids"] for row in rows["python"]] == [row["ids"] for row in rows["llama.cpp"]]
    assert "offsets" not in rows["llama.cpp"][0]
    ids = json.dumps({"ids": rows["python"][0]["ids"]}).encode()
    for engine in rows:
        words = ["decode", "--tokenizer", str(gguf), "--engine", engine]
        (row,) = command(words, ids, monkeypatch, capsys)
        assert row["text"] == "ab 12\u00e9 <|a|>"


@pytest.mark.parametrize("engine", ["native", "wasm"])
def test_gguf_in_the_runtime(
    engine: str, gguf: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    lines = b'{"text":"ab 12\\u00e9 <|a|>"}\n{"segments":[{"text":"<|a|>","owner":"content"}]}'
    words = ["tokenize", "--tokenizer", str(gguf), "--engine"]
    rows = command([*words, engine], lines, monkeypatch, capsys)
    assert rows == command([*words, "python"], lines, monkeypatch, capsys)
    ids = json.dumps({"ids": rows[0]["ids"]}).encode()
    words = ["decode", "--tokenizer", str(gguf), "--engine", engine, "--mode", "visible"]
    (row,) = command(words, ids, monkeypatch, capsys)
    assert row["text"] == "ab 12\u00e9 "


def test_sentencepiece(piece_model: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    lines = b'{"text":"abc z\\u4e16"}'
    rows = [
        command(
            ["tokenize", "--tokenizer", str(piece_model), "--engine", engine, "--trace"],
            lines, monkeypatch, capsys,
        )[0]
        for engine in ("python", "sentencepiece")
    ]  # fmt: skip
    for key in rows[1]:
        assert rows[0][key] == rows[1][key]
    assert {"ids", "offsets", "offsets_scalar", "tokens"} <= set(rows[1])


@pytest.mark.parametrize("engine", ["native", "wasm"])
def test_sentencepiece_in_the_runtime(
    engine: str, piece_model: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    lines = b'{"text":"abc z\\u4e16 <s>"}'
    words = ["tokenize", "--tokenizer", str(piece_model), "--engine"]
    rows = command([*words, engine], lines, monkeypatch, capsys)
    assert rows == command([*words, "python"], lines, monkeypatch, capsys)
    ids = b'{"ids":[1, 3, 4, 198, 172, 261, 0]}'
    words = ["decode", "--tokenizer", str(piece_model), "--mode", "visible", "--engine"]
    rows = command([*words, engine], ids, monkeypatch, capsys)
    assert rows == command([*words, "python"], ids, monkeypatch, capsys)


def test_a_compiled_model(
    piece_model: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    """It is the model again; its roles are the pieces that the model names."""
    out = piece_model.with_suffix(".tok2")
    assert run(["tokenizer", "compile", str(piece_model), "--out", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["roles"] == [["unk", 0], ["bos", 1], ["eos", 2]]
    assert run(["check", str(out), "--json"]) == 0
    capsys.readouterr()
    rows = [
        command(["tokenize", "--tokenizer", str(path), "--trace"], b'{"text":"abc z\\u4e16 <s>"}',
                monkeypatch, capsys)
        for path in (piece_model, out)
    ]  # fmt: skip
    assert rows[0] == rows[1]


def test_sources(gguf: Path, piece_model: Path, tmp_path: Path) -> None:
    plain = tmp_path / "tokenizer.json"
    plain.write_text("{}")
    assert source_engine(gguf) == "llama.cpp"
    assert source_engine(piece_model) == "sentencepiece"
    assert source_engine(plain) == "hf"


@pytest.mark.parametrize("engine", ["hf", "sentencepiece"])
def test_other_kinds_of_files(engine: str, gguf: Path) -> None:
    with pytest.raises(EngineFileKindError, match=r"use .*python") as refused:
        open_tokenizer(gguf, engine)
    assert refused.value.facts["kind"] == "GGUF"


def test_libraries_refuse_broken_files(tmp_path: Path) -> None:
    broken = tmp_path / "broken.model"
    broken.write_bytes(b"\x0a\x7f")
    with pytest.raises(TokenizerFileError):
        open_tokenizer(broken, "sentencepiece")


@pytest.mark.peer
def test_llama_cpp_refuses(tmp_path: Path, gguf: Path) -> None:
    require_llama_cpp()
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF")
    with pytest.raises(TokenizerFileError):
        open_tokenizer(broken, "llama.cpp")
    opened = open_tokenizer(gguf, "llama.cpp")
    with pytest.raises(SegmentsUnsupportedError):
        opened.tokenize(Request("ab", ((0, 1),)))
    with pytest.raises(TokenIdError):
        opened.decode([1 << 30], "raw")
    with pytest.raises(StreamUnsupportedError):
        opened.stream("raw")


def test_sentencepiece_library_refuses(piece_model: Path) -> None:
    opened = open_tokenizer(piece_model, "sentencepiece")
    with pytest.raises(TokenIdError):
        opened.decode([1 << 30], "raw")
    with pytest.raises(StreamUnsupportedError):
        opened.stream("raw")
    assert opened.decode([1], "visible") == {"bytes_hex": "", "text": ""}


def test_check(piece_model: Path, tmp_path: Path, capsys: Capture) -> None:
    assert run(["check", str(piece_model), "--json"]) == 0
    capsys.readouterr()
    broken = tmp_path / "broken.model"
    broken.write_bytes(piece_model.read_bytes()[:-1])
    assert run(["check", str(broken), "--json"]) == 3
    (finding,) = json.loads(capsys.readouterr().out)["findings"]
    assert finding["code"] == "SENTENCEPIECE_FILE"
