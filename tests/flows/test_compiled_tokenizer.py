"""Compiled tokenizers as files: compiled, checked, inspected, run, alone and in an artifact."""

import io
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.inspector.conftest import built
from tests.text.components import ADDED, TEMPLATE, byte_level
from tests.text.constructed import byte_bpe, document
from tests.text.ggml.made_vocabulary import byte_level as byte_level_fields
from tests.text.ggml.made_vocabulary import gguf_bytes
from tests.text.tok2.blocks import Block
from trlm_lab.flows.checking import check_path
from trlm_lab.flows.cli.app import run
from trlm_lab.text.slm1 import Btok, write_btok
from trlm_lab.text.tok2 import read_tok2

Capture = pytest.CaptureFixture[str]
TEXT = b'{"text":"<s> hello w\xc3\xa9"}\n'


@pytest.fixture
def root(tmp_path: Path) -> Path:
    row = document(
        byte_bpe(), pre_tokenizer=byte_level(), decoder=byte_level(), post_processor=TEMPLATE,
        added_tokens=ADDED,
    )  # fmt: skip
    (tmp_path / "tokenizer.json").write_text(json.dumps(row))
    (tmp_path / "tokenizer_config.json").write_text('{"bos_token": "<s>"}')
    (tmp_path / "chat_template.jinja").write_text("{{ messages[0].content }}")
    return tmp_path


def compiled(source: Path, out: Path, capsys: Capture) -> dict[str, Any]:
    assert run(["tokenizer", "compile", str(source), "--out", str(out), "--json"]) == 0
    row: dict[str, Any] = json.loads(capsys.readouterr().out)
    return row


def answer(path: Path, patch: pytest.MonkeyPatch, capsys: Capture, *options: str) -> Any:
    patch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(TEXT)))
    assert run(["tokenize", "--tokenizer", str(path), *options]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_same_through_every_file(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    compiled(root, root / "a.tok2", capsys)
    (root / "a.slm").write_bytes(built(tokenizer=(root / "a.tok2").read_bytes()))
    (root / "b.slm").write_bytes(built(tokenizer=(root / "tokenizer.json").read_bytes()))
    wanted = answer(root / "tokenizer.json", monkeypatch, capsys, "--trace")
    for name in ("a.tok2", "a.slm", "b.slm"):
        assert answer(root / name, monkeypatch, capsys, "--trace") == wanted
        assert check_path(root / name)["verdict"] == "accept"


def test_a_directory_brings_roles_and_template(root: Path, capsys: Capture) -> None:
    row = compiled(root, root / "a.tok2", capsys)
    found = read_tok2((root / "a.tok2").read_bytes())
    assert row["roles"] == [list(role) for role in found.roles]
    assert [role for role, _ in found.roles] == ["bos"]
    assert row["template_bytes"] == len(found.template) > 0
    alone = compiled(root / "tokenizer.json", root / "b.tok2", capsys)
    assert (alone["roles"], alone["template_bytes"]) == ([], 0)
    assert alone["source_bytes"] == (root / "tokenizer.json").stat().st_size


def test_compiled_onto_itself(root: Path, capsys: Capture) -> None:
    before = (root / "tokenizer.json").read_bytes()
    assert run(["tokenizer", "compile", str(root), "--out", str(root / "tokenizer.json")]) != 0
    assert (root / "tokenizer.json").read_bytes() == before


@pytest.mark.parametrize(
    ("name", "data", "code"),
    [
        ("v.gguf", b"GGUF", "GGUF"),
        ("v.model", b"\n\x0e", "SENTENCEPIECE_FILE"),
        ("v.tok2", b"TOK2", "TOK2_COMPILE"),
        ("none.json", None, "PATH_MISSING"),
    ],
)
def test_other_files(
    tmp_path: Path, capsys: Capture, name: str, data: bytes | None, code: str
) -> None:
    if data is not None:
        (tmp_path / name).write_bytes(data)
    arguments = ["tokenizer", "compile", str(tmp_path / name), "--out", str(tmp_path / "x.tok2")]
    assert run(arguments) == 3
    assert code in capsys.readouterr().err
    assert not (tmp_path / "x.tok2").exists()


def test_damage_is_named(root: Path, capsys: Capture) -> None:
    compiled(root, root / "a.tok2", capsys)
    block = Block((root / "a.tok2").read_bytes())
    block.put("model", 4, 64)
    (root / "a.tok2").write_bytes(block.sealed())
    (root / "a.slm").write_bytes(built(tokenizer=block.sealed()))
    for name in ("a.tok2", "a.slm"):
        found = check_path(root / name)
        assert [f["code"] for f in found["findings"]] == ["TOK2_MODEL"]
        assert run(["tokenize", "--tokenizer", str(root / name)]) == 3
    (root / "c.tok2").write_bytes(b"{}")
    assert check_path(root / "c.tok2")["findings"][0]["code"] == "TOK2_LENGTH"


def test_an_artifact_without_tokenizer(root: Path, capsys: Capture) -> None:
    (root / "a.slm").write_bytes(built(tokenizer=b""))
    assert check_path(root / "a.slm")["verdict"] == "accept"
    assert run(["tokenize", "--tokenizer", str(root / "a.slm")]) == 3
    assert "TOKENIZER_FILE" in capsys.readouterr().err


def test_inspect_shows_it(root: Path, capsys: Capture) -> None:
    compiled(root, root / "a.tok2", capsys)
    assert run(["inspect", str(root / "a.tok2"), "--json"]) == 0
    row = json.loads(capsys.readouterr().out)
    assert row["format"] == "TOK2"
    assert {"field": "magic", "offset": 0, "size": 4, "value": "TOK2"} in row["tokenizer"]
    assert run(["inspect", str(root / "a.tok2")]) == 0
    assert "token_count" in capsys.readouterr().out


def test_tokenizers_of_gguf(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    (tmp_path / "v.gguf").write_bytes(gguf_bytes(byte_level_fields("gpt-2")))
    compiled(tmp_path / "v.gguf", tmp_path / "v.tok2", capsys)
    rows = [
        answer(tmp_path / name, monkeypatch, capsys, "--trace") for name in ("v.gguf", "v.tok2")
    ]
    assert rows[0] == rows[1]
    assert check_path(tmp_path / "v.tok2")["verdict"] == "accept"
    assert run(["inspect", str(tmp_path / "v.tok2"), "--json"]) == 0


def test_tokenizers_of_slm1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    """The same ids from the file, in every engine, and after its migration."""
    (tmp_path / "t.btok").write_bytes(write_btok(Btok()))
    compiled(tmp_path / "t.btok", tmp_path / "t.tok2", capsys)
    for name in ("t.btok", "t.tok2"):
        row = answer(tmp_path / name, monkeypatch, capsys, "--add-special-tokens")
        assert row["ids"] == Btok().encode("<s> hello w\xe9".encode())
        assert check_path(tmp_path / name)["verdict"] == "accept"
        for engine in ("native", "wasm"):
            options = ("--add-special-tokens", "--engine", engine)
            assert answer(tmp_path / name, monkeypatch, capsys, *options) == row
    for magic in (b"BTOK", b"BPE1"):
        (tmp_path / "broken").write_bytes(magic)
        (finding,) = check_path(tmp_path / "broken")["findings"]
        assert finding["code"] == magic.decode()
        words = ["tokenize", "--tokenizer", str(tmp_path / "broken"), "--engine", "native"]
        assert run(words) == 3
        assert f"with {magic.decode()} (" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["tokenizer.json", "tokenizer_config.json", "chat_template.jinja"])
def test_no_file_of_the_model_is_overwritten(root: Path, capsys: Capture, name: str) -> None:
    before = (root / name).read_bytes()
    assert run(["tokenizer", "compile", str(root), "--out", str(root / name)]) == 2
    assert "OUTPUT_IS_INPUT" in capsys.readouterr().err
    assert (root / name).read_bytes() == before
