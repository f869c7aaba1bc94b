"""`trlm tokenizer`: the profile of a file, its golden vectors, and engines judged by them."""

import gzip
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from tests.text.components import ADDED, TEMPLATE, byte_level
from tests.text.constructed import byte_bpe, document
from tests.text.ggml import made_vocabulary
from tests.text.sentencepiece.made_models import model
from trlm_lab.base import canon
from trlm_lab.base.records.tokenizer_profile import TokenizerProfile
from trlm_lab.flows.cli.app import run
from trlm_lab.flows.tokenizer_profiles import profile_of_file
from trlm_lab.flows.tokenizer_requests import TokenizerFile
from trlm_lab.flows.tokenizer_vectors import unpacked
from trlm_lab.text.ggml import read_gguf_tokenizer
from trlm_lab.text.tok2 import read_tok2, write_tok2

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


@pytest.mark.parametrize("kind", ["UNIGRAM", "BPE", "WORD", "CHAR"])
def test_sentencepiece_models(capsys: Capture, tmp_path: Path, kind: str) -> None:
    """Profile and vectors like those of other files; the library agrees with the vectors."""
    path, out = tmp_path / "small.model", tmp_path / "v.cbor"
    path.write_bytes(model(kind))
    before = answer(capsys, "profile", str(path))
    assert before["profile"]["source"] == "sentencepiece 0.2.3"
    assert before["profile"]["model"]["model"] == f"SentencePiece {kind}"
    path.write_bytes(model(kind, add_dummy_prefix=False))
    after = answer(capsys, "profile", str(path))
    assert after["profile_id"] != before["profile_id"]
    row = answer(capsys, "vectors", str(path), "--out", str(out))
    assert row["profile_id"] == after["profile_id"]
    for engine in ("python", "sentencepiece"):
        judged = answer(capsys, "check-vectors", str(out), "--engine", engine)
        assert judged["agree"] == row["vectors"] > 1000


def test_a_compiled_tokenizer_follows_the_library_that_it_came_from() -> None:
    """Of a GGUF file: llama.cpp, whichever file it is read from."""
    tokenizer = read_gguf_tokenizer(made_vocabulary.byte_level("gpt-2"))
    compiled = read_tok2(write_tok2(tokenizer)).tokenizer
    found = profile_of_file(TokenizerFile(Path("x.tok2"), "TOK2"), compiled)
    assert found == profile_of_file(TokenizerFile(Path("x.gguf"), "GGUF"), tokenizer)
    assert found.source.startswith("llama.cpp")


def test_missing_file(capsys: Capture, tmp_path: Path) -> None:
    row = answer(capsys, "profile", str(tmp_path / "none.json"), status=3)
    assert row["error"]["code"] == "PATH_MISSING"


def test_vectors_from_a_file_and_back(
    capsys: Capture, tokenizer_file: Path, tmp_path: Path
) -> None:
    out = tmp_path / "v.cbor"
    row = answer(capsys, "vectors", str(tokenizer_file), "--out", str(out))
    assert row["sha256"] == hashlib.sha256(out.read_bytes()).hexdigest()
    assert row["vectors"] == sum(row["classes"].values())
    assert row["invertible"] + row["refused"] <= row["vectors"]
    assert [one.name for one in tmp_path.iterdir() if one.name.startswith(".tmp")] == []
    # Nothing but the file is needed from here on.
    tokenizer_file.unlink()
    judged = answer(capsys, "check-vectors", str(out), "--engine", "python")
    assert judged["agree"] == judged["vectors"] == row["vectors"]
    assert "stages" in judged["judged_by"]
    source = answer(capsys, "check-vectors", str(out), "--engine", "hf")
    assert source["agree"] == row["vectors"]
    assert "decode visible text" in source["judged_by"]
    assert "stages" not in source["judged_by"]


def test_vectors_that_are_wrong(capsys: Capture, tokenizer_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "v.cbor"
    answer(capsys, "vectors", str(tokenizer_file), "--out", str(out))
    row = canon.decode(out.read_bytes())
    row["vectors"] = row["vectors"][2:6]
    row["vectors"][1]["expected"]["ids"][0] += 1
    row["vectors"][3]["expected"]["stages"][2]["texts"][0] += "x"
    out.write_bytes(canon.encode(row))
    judged = answer(capsys, "check-vectors", str(out), "--engine", "python", status=1)
    found = [(one["vector"], one["stage"]) for one in judged["partings"]]
    assert found == [("ascii/2", "ids"), ("ascii/4", "/added_tokens")]
    assert judged["partings"][0]["got"] != judged["partings"][0]["expected"]
    source = answer(capsys, "check-vectors", str(out), "--engine", "hf", status=1)
    assert [one["stage"] for one in source["partings"]] == ["ids"]
    assert run(["tokenizer", "check-vectors", str(out), "--engine", "python"]) == 1
    assert "/added_tokens" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "NOT_CANONICAL"),
        (b"\xa0", "TOKENIZER_VECTORS"),
        (b"\x00", "TOKENIZER_VECTORS"),
        (b"\x1f\x8bnot gzip at all", "TOKENIZER_VECTORS"),
        (gzip.compress(b"\xa0", mtime=0), "TOKENIZER_VECTORS"),
        (None, "TOKENIZER_VECTORS"),
    ],
)
def test_no_vectors(capsys: Capture, tmp_path: Path, data: bytes | None, code: str) -> None:
    path = tmp_path / "v.cbor"
    if data is not None:
        path.write_bytes(data)
    row = answer(capsys, "check-vectors", str(path), "--engine", "python", status=3)
    assert row["error"]["code"] == code


def test_vectors_that_are_too_many(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A small file may unpack to a large one; it is not unpacked further than the limit."""
    monkeypatch.setattr("trlm_lab.flows.tokenizer_vectors.MAX_VECTOR_BYTES", 1000)
    path = tmp_path / "v.cbor.gz"
    assert len(unpacked(gzip.compress(bytes(100_000)))) == 1001
    for data in (gzip.compress(bytes(100_000)), bytes(1001)):
        path.write_bytes(data)
        row = answer(capsys, "check-vectors", str(path), "--engine", "python", status=3)
        assert row["error"]["code"] == "TOKENIZER_VECTORS"
        assert "1000 bytes" in row["error"]["detail"]


def test_engine_that_does_not_exist(capsys: Capture, tokenizer_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "v.cbor"
    answer(capsys, "vectors", str(tokenizer_file), "--out", str(out))
    row = answer(capsys, "check-vectors", str(out), "--engine", "other", status=2)
    assert row["error"]["code"] == "UNKNOWN_NAME"


@pytest.mark.parametrize("command", ["vectors", "compile"])
def test_an_output_over_an_input_or_a_device(
    capsys: Capture, tokenizer_file: Path, command: str
) -> None:
    before = tokenizer_file.read_bytes()
    words = (command, str(tokenizer_file), "--out")
    assert answer(capsys, *words, str(tokenizer_file), status=2)["error"]["code"] == (
        "OUTPUT_IS_INPUT"
    )
    folder = str(tokenizer_file.parent)
    assert answer(capsys, *words, folder, status=2)["error"]["code"] == "OUTPUT_NOT_PLAIN"
    assert tokenizer_file.read_bytes() == before
    assert list(tokenizer_file.parent.iterdir()) == [tokenizer_file]


def test_vectors_leave_nothing_unfinished(
    tokenizer_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(number: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    out = tokenizer_file.with_name("v.cbor")
    assert run(["tokenizer", "vectors", str(tokenizer_file), "--out", str(out)]) == 4
    assert list(tokenizer_file.parent.iterdir()) == [tokenizer_file]
