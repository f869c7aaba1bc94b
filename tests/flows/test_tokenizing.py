"""`trlm tokenize` and `trlm decode`: JSON lines in and out, bad lines in their place."""

import io
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.text.components import ADDED, TEMPLATE, byte_level
from tests.text.constructed import byte_bpe, document
from trlm_lab.backends.native import NativeRunner
from trlm_lab.backends.wasm_wasmtime import WasmtimeRunner
from trlm_lab.base.interfaces import Runner
from trlm_lab.flows import lines
from trlm_lab.flows.cli.app import run

Capture = pytest.CaptureFixture[str]
Row = dict[str, Any]


class Command:
    """A command with JSON lines on its standard input."""

    def __init__(self, capsys: Capture, patch: pytest.MonkeyPatch, tokenizer: Path) -> None:
        self._capsys, self._patch, self.tokenizer = capsys, patch, tokenizer

    def __call__(self, lines: bytes, *arguments: str, status: int = 0) -> list[Row]:
        self._patch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(lines)))
        words = [arguments[0], "--tokenizer", str(self.tokenizer), *arguments[1:]]
        assert run(words) == status
        self.output = self._capsys.readouterr()
        return [json.loads(line) for line in self.output.out.splitlines()]


#: Engines of the runtime, and who says whether they are here.
RUNTIME = {"native": NativeRunner, "wasm": WasmtimeRunner}


@pytest.fixture(params=["python", "hf", *RUNTIME])
def engine(request: pytest.FixtureRequest, require: Callable[[Runner], None]) -> str:
    if request.param in RUNTIME:
        require(RUNTIME[request.param]())
    return str(request.param)


@pytest.fixture
def command(capsys: Capture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Command:
    path = tmp_path / "tokenizer.json"
    row = document(
        byte_bpe(), pre_tokenizer=byte_level(), decoder=byte_level(), post_processor=TEMPLATE,
        added_tokens=ADDED[:1], truncation={"direction": "Right", "max_length": 2,
                                            "strategy": "LongestFirst", "stride": 0},
    )  # fmt: skip
    path.write_text(json.dumps(row))
    return Command(capsys, monkeypatch, path)


@pytest.mark.parametrize("options", [(), ("--add-special-tokens",)])
def test_engines_agree(command: Command, engine: str, options: tuple[str, ...]) -> None:
    lines = b'{"text":"hello\\u0000 w\xc3\xa9 <s>"}\n\n{"bytes_hex":"f09f9982"}\r\n{"text":""}'
    rows = command(lines, "tokenize", "--engine", engine, *options)
    plain = command(lines, "tokenize", *options)
    assert rows == plain
    assert len(rows) == 3
    assert set(rows[0]) == {"ids", "offsets", "offset_unit"}
    assert rows[0]["offset_unit"] == "utf8_byte"
    assert rows[0]["offsets"][-1] == [11, 14]
    assert len(rows[2]["ids"]) == (2 if options else 0)
    assert "truncation is declared and switched off" in command.output.err


def test_trace_of_every_engine(command: Command, engine: str) -> None:
    lines = b'{"text":"h\xc3\xa9 <s>"}\n{"segments":[{"text":"<s>","owner":"content"}]}'
    asked = ("tokenize", "--trace", "--add-special-tokens")
    rows, wanted = command(lines, *asked, "--engine", engine), command(lines, *asked)
    if engine == "hf":
        assert [row["tokens"] for row in rows] == [row["tokens"] for row in wanted]
    else:
        assert rows == wanted


def test_trace(command: Command) -> None:
    (row,) = command(b'{"text":"h\xc3\xa9"}', "tokenize", "--trace")
    assert [stage["kind"] for stage in row["stages"]] == [
        "input", "given text", "normalized text", "ByteLevel", "BPE", "TemplateProcessing",
    ]  # fmt: skip
    assert row["offsets_scalar"] == [[0, 1], [1, 2]]
    (other,) = command(b'{"text":"h\xc3\xa9"}', "tokenize", "--trace", "--engine", "hf")
    assert other["tokens"] == row["tokens"]


def test_bad_lines_in_their_place(command: Command, engine: str) -> None:
    lines = b"\n".join([
        b'{"text":"h"}', b'{"text":"\xff"}', b'{"bytes_hex":"61eda080"}', b"[]", b"{",
        b'{"text":7}',
        b'{"bytes_hex":"6"}', b'{"text":"a","more":1}', b'{"text":"\\ud800"}', b'{"segments":{}}',
        b'{"segments":[{"text":"a","owner":"me"}]}', b'{"text":"e"}',
    ])  # fmt: skip
    rows = command(lines, "tokenize", "--engine", engine, status=3)
    codes = [row["error"]["code"] if "error" in row else "" for row in rows]
    assert codes == ["", "UTF8", "UTF8", "TEXT_LINE", "JSON", "TEXT_LINE", "TEXT_LINE", "TEXT_LINE",
                     "JSON", "TEXT_LINE", "TEXT_LINE", ""]  # fmt: skip
    assert rows[1]["error"]["index"] == 9
    assert rows[2]["error"]["index"] == 1
    assert rows[3]["error"]["where"] == "line 4"
    assert rows[8]["error"]["index"] == 9


def test_segments(command: Command, engine: str) -> None:
    both = b'{"segments":[{"text":"<s>","owner":"template"},{"text":"<s>","owner":"content"}]}'
    content = b'{"segments":[{"text":"he<s>","owner":"content"}]}'
    assert command(content, "tokenize", "--engine", engine) == command(content, "tokenize")
    if engine == "hf":
        (refused,) = command(both, "tokenize", "--engine", "hf", status=3)
        assert refused["error"]["code"] == "NOT_SUPPORTED"
        return
    touching = b'{"segments":[{"text":"<","owner":"content"},{"text":"s>","owner":"content"}]}'
    (row, other) = command(both + b"\n" + touching, "tokenize", "--engine", engine)
    assert row["ids"].count(row["ids"][0]) == 1
    assert row["offsets"][:2] == [[0, 3], [3, 4]]
    assert row["ids"][0] not in other["ids"]


@pytest.mark.parametrize("written", ["<s>", "a <s>", " <s>b", "a<s>b"])
def test_what_the_template_wrote_is_not_added(command: Command, engine: str, written: str) -> None:
    """Wherever it stands; content that spells the token is no token."""
    if engine == "hf":
        return
    begins = [
        {"SpecialToken": {"id": "<s>", "type_id": 0}},
        {"Sequence": {"id": "A", "type_id": 0}},
    ]
    token = command(b'{"text":"<s>"}', "tokenize")[0]["ids"]
    row = json.loads(command.tokenizer.read_text())
    row["post_processor"] = TEMPLATE | {
        "single": begins,
        "special_tokens": {"<s>": {"id": "<s>", "ids": token, "tokens": ["<s>"]}},
    }
    command.tokenizer.write_text(json.dumps(row))
    said = [{"text": written, "owner": "template"}, {"text": "he", "owner": "content"}]
    spelled = [{"text": "he", "owner": "template"}, {"text": written, "owner": "content"}]
    lines = "\n".join(json.dumps({"segments": one}) for one in (said, said[::-1], spelled))
    options = ("tokenize", "--engine", engine, "--add-special-tokens")
    rows = command(lines.encode(), *options, status=3)
    assert [row.get("error", {}).get("code") for row in rows] == ["DOUBLE_INSERTION"] * 2 + [None]


def test_decode(command: Command, engine: str) -> None:
    ids = command(b'{"text":"<s>h\\u0007\xc3\xa9"}', "tokenize")[0]["ids"]
    line = json.dumps({"ids": ids}).encode()
    modes = {"raw": "<s>h\x07\xe9", "visible": "h\x07\xe9", "diagnostic": "<s>h\\u{7}\xe9"}
    for mode, text in modes.items():
        (row,) = command(line, "decode", "--engine", engine, "--mode", mode)
        assert row["text"] == text
        assert bytes.fromhex(row["bytes_hex"]).decode() == text.replace("\\u{7}", "\x07")


def test_broken_bytes(command: Command) -> None:
    """The reference keeps the bytes; the source's text has U+FFFD in their place."""
    ids = command(b'{"text":"\xc3\xa4"}', "tokenize")[0]["ids"]
    assert len(ids) == 2
    line = json.dumps({"ids": ids[:1]}).encode()
    assert command(line, "decode") == [{"bytes_hex": "c3", "text": "\ufffd"}]
    assert command(line, "decode", "--engine", "hf")[0]["text"] == "\ufffd"


def test_stream_of_every_engine(command: Command, engine: str) -> None:
    ids = command(b'{"text":"<s>h\xc3\xa4\xf0\x9f\x99\x82"}', "tokenize")[0]["ids"]
    lines = "\n".join(f'{{"ids":{row}}}' for row in (ids, [ids[0], 99999, 1], ids[:-1])).encode()
    if engine == "hf":
        command(lines, "decode", "--stream", "--engine", engine, status=4)
        assert "NOT_SUPPORTED" in command.output.err
        return
    asked = ("decode", "--stream", "--mode", "visible")
    wanted = command(lines, *asked, status=3)
    assert command(lines, *asked, "--engine", engine, status=3) == wanted


def test_stream(command: Command) -> None:
    """A line a token; a character comes when its last byte does, half of one at the end."""
    ids = command(b'{"text":"h\xc3\xa4\xc3\xa4"}', "tokenize")[0]["ids"]
    assert len(ids) == 5
    lines = "\n".join(f'{{"ids":{row}}}' for row in (ids, [ids[0], 99999, 1], ids[:2])).encode()
    rows = command(lines, "decode", "--stream", status=3)
    assert [row.get("id") for row in rows] == [*ids, None, ids[0], None, *ids[:2], None]
    assert [row["bytes_hex"] for row in rows[:6]] == ["68", "", "c3a4", "", "c3a4", ""]
    assert rows[1] == {
        "id": ids[1], "bytes_hex": "", "text": "", "held_hex": "c3", "held_text": "\ufffd",
    }  # fmt: skip
    assert rows[5] == {"end": True, "bytes_hex": "", "text": ""}
    assert (rows[7]["error"]["code"], rows[7]["error"]["index"]) == ("TOKEN_ID", 1)
    assert rows[-1] == {"end": True, "bytes_hex": "c3", "text": "\ufffd"}


def test_bad_ids(command: Command, engine: str) -> None:
    given = ["[0,99999]", "[-1]", "[true]", "1", "null", "[36893488147419103232]"]
    lines = "\n".join(f'{{"ids":{ids}}}' for ids in given).encode()
    rows = command(lines, "decode", "--engine", engine, status=3)
    codes = [row["error"]["code"] for row in rows]
    assert codes == ["TOKEN_ID", *["TEXT_LINE"] * 4, "TOKEN_ID"]
    assert rows[0]["error"]["index"] == 1


@pytest.mark.parametrize(
    ("arguments", "status", "code"),
    [
        (("tokenize", "--engine", "other"), 2, "UNKNOWN_NAME"),
        (("decode", "--mode", "pretty"), 2, "UNKNOWN_NAME"),
    ],
)
def test_names(command: Command, arguments: tuple[str, ...], status: int, code: str) -> None:
    command(b"", *arguments, status=status)
    assert code in command.output.err


def test_bad_files(command: Command, engine: str) -> None:
    command.tokenizer.write_text('{"version":"1.0","model":{"type":"Unheard"}}')
    command(b"", "tokenize", "--engine", engine, status=3)
    command.tokenizer.write_text("{")
    command(b"", "tokenize", "--engine", engine, status=3)
    command.tokenizer = command.tokenizer.parent / "missing.json"
    command(b"", "decode", "--engine", engine, status=3)
    assert "PATH_MISSING" in command.output.err


def test_a_line_beyond_the_bound_is_passed_over(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is refused by its number, whatever its end; the lines around it are answered."""
    short = partial(lines.bounded_lines, limit=40)
    monkeypatch.setattr(lines, "bounded_lines", short)
    long = b'{"text": "' + b"a" * 50 + b'"}'
    rows = command(b'{"text": "a"}\n' + long + b'\n{"text": "b"}\n' + long, "tokenize", status=3)
    assert [row.get("error", {}).get("where") for row in rows] == [None, "line 2", None, "line 4"]
    assert rows[1]["error"]["code"] == "TEXT_LINE"
    assert str(lines.MAX_LINE_BYTES) in rows[1]["error"]["detail"]
    (row,) = command(b'{"ids": [' + b"1, " * 20 + b"1]}\n", "decode", status=3)
    assert row["error"]["code"] == "TEXT_LINE"


class Endless(io.BytesIO):
    """A line without an end; what is asked of it is remembered."""

    asked = 0

    def readline(self, size: int | None = -1, /) -> bytes:
        assert size is not None
        assert size > 0
        self.asked += size
        return b"a" * size


def test_no_more_of_a_line_is_read_than_the_bound() -> None:
    stream = Endless()
    assert next(lines.bounded_lines(stream, 100)) is None
    assert stream.asked == 101


@pytest.mark.parametrize("end", [b"", b"\n"])
@pytest.mark.parametrize("length", [9, 10, 11, 1 << 21])
def test_the_bound_counts_the_end_of_a_line(length: int, end: bytes) -> None:
    data = b"a" * length + end
    found = list(lines.bounded_lines(io.BytesIO(data + b"\nb" if end else data), 10))
    assert found[0] == (data if len(data) <= 10 else None)
    assert found[1:] == ([b"\n", b"b"] if end else [])
