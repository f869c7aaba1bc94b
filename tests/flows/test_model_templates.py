"""One chat template a model, wherever it is declared: compiled, packed and rendered alike."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.inspector.conftest import CONFIG
from tests.text.constructed import byte_bpe, document
from tests.text.ggml.made_vocabulary import byte_level as byte_level_fields
from tests.text.ggml.made_vocabulary import gguf_bytes
from trlm_lab.chat import compile_template
from trlm_lab.errors import ConflictError, TemplateSourceError
from trlm_lab.flows.cli.app import run
from trlm_lab.flows.model_templates import declared_template, template_source
from trlm_lab.flows.tokenizer_section import tokenizer_section
from trlm_lab.text.tok2 import read_tok2

SOURCE = "{% for m in messages %}<{{ m.content }}>{% endfor %}"
OTHER = "{{ 'another' }}"


def put(name: str, value: object) -> Callable[[Path], Path]:
    """A file of the directory, as JSON unless it is text; the path that is opened."""

    def write(root: Path) -> Path:
        (root / name).write_text(value if isinstance(value, str) else json.dumps(value))
        return root

    return write


PLACES: dict[str, Callable[[Path], Path]] = {
    "chat_template.jinja": put("chat_template.jinja", SOURCE),
    "tokenizer_config.json": put("tokenizer_config.json", {"chat_template": SOURCE}),
    "a list of one": put(
        "tokenizer_config.json", {"chat_template": [{"name": "default", "template": SOURCE}]}
    ),
    "a list of equal ones": put(
        "tokenizer_config.json",
        {"chat_template": [{"name": n, "template": SOURCE} for n in ("default", "tool_use")]},
    ),
    "chat_template.json": put("chat_template.json", {"chat_template": SOURCE}),
    "a map of names": put("processor_config.json", {"chat_template": {"default": SOURCE}}),
}
SEVERAL: dict[str, list[Callable[[Path], Path]]] = {
    "named": [
        put(
            "tokenizer_config.json",
            {
                "chat_template": [
                    {"name": "default", "template": SOURCE},
                    {"name": "tool_use", "template": OTHER},
                ]
            },
        )
    ],
    "two files": [
        put("tokenizer_config.json", {"chat_template": SOURCE}),
        put("chat_template.jinja", OTHER),
    ],
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "tokenizer.json").write_text(json.dumps(document(byte_bpe())))
    return tmp_path


@pytest.mark.parametrize("place", PLACES)
def test_wherever_it_stands(root: Path, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path, wanted = PLACES[place](root), compile_template(SOURCE).ir.encoded
    out = root / "a.tok2"
    assert run(["tokenizer", "compile", str(path), "--out", str(out)]) == 0
    assert read_tok2(out.read_bytes()).template == wanted
    section = tokenizer_section(root, CONFIG, declared_template(root), print)
    assert read_tok2(section).template == wanted
    assert template_source(path)[0] == SOURCE.encode()


def test_a_gguf_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = tmp_path / "a.gguf", tmp_path / "a.tok2"
    path.write_bytes(gguf_bytes({**byte_level_fields("gpt-2"), "tokenizer.chat_template": SOURCE}))
    assert run(["tokenizer", "compile", str(path), "--out", str(out)]) == 0
    assert read_tok2(out.read_bytes()).template == compile_template(SOURCE).ir.encoded
    line = b'{"messages": [{"role": "user", "content": "x"}]}\n'
    for opened in (path, tmp_path / "tokenizer_config.json"):
        put("tokenizer_config.json", {"chat_template": SOURCE})(tmp_path)
        monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(line)))
        capsys.readouterr()
        assert run(["render", "--template", str(opened)]) == 0
        assert json.loads(capsys.readouterr().out)["text"] == "<x>"


@pytest.mark.parametrize("several", SEVERAL)
def test_several_texts_are_no_choice(root: Path, several: str) -> None:
    for write in SEVERAL[several]:
        write(root)
    with pytest.raises(ConflictError, match="TEMPLATE_AMBIGUOUS: 2 different templates"):
        template_source(root)
    assert run(["tokenizer", "compile", str(root), "--out", str(root / "a.tok2")]) == 3
    assert not (root / "a.tok2").exists()


def test_none_is_declared(root: Path) -> None:
    assert declared_template(root) is None
    with pytest.raises(TemplateSourceError, match="no chat template is declared here"):
        template_source(root)


def test_an_unreadable_one_is_named(root: Path) -> None:
    put("tokenizer_config.json", {"chat_template": [{"name": "default"}]})(root)
    with pytest.raises(TemplateSourceError) as caught:
        template_source(root)
    assert caught.value.where == "tokenizer_config.json#/chat_template/0/template"
