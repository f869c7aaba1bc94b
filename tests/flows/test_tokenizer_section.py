"""What an artifact holds of a tokenizer: TOK2 with roles and template, or the file as it is."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.inspector.conftest import CONFIG
from tests.text.components import ADDED
from tests.text.constructed import byte_bpe, document
from trlm_lab.chat import compile_template
from trlm_lab.flows.model_templates import declared_template
from trlm_lab.flows.tokenizer_section import file_roles, tokenizer_section
from trlm_lab.text import read_tokenizer
from trlm_lab.text.tok2 import read_tok2

TEMPLATE = "{% for m in messages %}{{ m.content }}{% endfor %}"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    row = document(byte_bpe(), added_tokens=ADDED)
    (tmp_path / "tokenizer.json").write_text(json.dumps(row))
    (tmp_path / "chat_template.jinja").write_text(TEMPLATE)
    return tmp_path


def section(root: Path) -> tuple[bytes, list[str]]:
    said: list[str] = []
    template = declared_template(root)
    return tokenizer_section(root, CONFIG, template, said.append), said


def test_compiled(root: Path) -> None:
    data, said = section(root)
    found = read_tok2(data)
    assert said == []
    assert found.roles == (("bos", 1), ("eos", 2))
    assert found.template == compile_template(TEMPLATE).ir.encoded
    vocab = byte_bpe()["vocab"]
    assert found.tokenizer.encode("<s>he").ids == [len(vocab), vocab["he"]]
    assert section(root)[0] == data


def test_without_tokenizer(tmp_path: Path) -> None:
    assert section(tmp_path) == (b"", [])


def test_template_outside_the_subset(root: Path) -> None:
    (root / "chat_template.jinja").write_text("{{ a.__class__ }}")
    data, said = section(root)
    assert read_tok2(data).template == b""
    assert said[0].startswith("the chat template is not stored: ")


def test_tokenizer_outside_the_formats(root: Path) -> None:
    row: dict[str, Any] = document(byte_bpe(), normalizer={"type": "Unheard"})
    (root / "tokenizer.json").write_text(json.dumps(row))
    data, said = section(root)
    assert data == (root / "tokenizer.json").read_bytes()
    assert said[0].startswith("the tokenizer is stored as tokenizer.json: TOKENIZER_KIND")


def test_roles_of_a_tokenizer_config() -> None:
    tokenizer = read_tokenizer(document(byte_bpe(), added_tokens=ADDED))
    rows = file_roles(
        tokenizer,
        {
            "bos_token": "<s>",
            "eos_token": {"content": "<mask>"},
            "pad_token": None,
            "sep_token": "?x",
        },
    )
    ids = {one.content: one.id for one in tokenizer.added}
    assert rows == [("bos", ids["<s>"]), ("eos", ids["<mask>"])]
