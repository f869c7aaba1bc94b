"""llama.cpp's character tables are whole, and differ from the other source's where it says so."""

import hashlib
import importlib.util
from pathlib import Path

import pytest

from tests.text.published import published
from trlm_lab.text.ggml import tables
from trlm_lab.text.ggml.splitting import GgmlSplit
from trlm_lab.text.ggml.table_data import SHA256

SCRIPT = Path(__file__).resolve().parents[3] / "tools/llama_cpp_tables.py"


def test_hash() -> None:
    assert hashlib.sha256(tables.form()).hexdigest() == SHA256


@pytest.mark.model
def test_they_are_those_of_the_source() -> None:
    published("llama.cpp", "src/unicode-data.cpp")
    spec = importlib.util.spec_from_file_location("llama_cpp_tables", SCRIPT)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.main(["--check"]) == 0


def test_every_scalar_has_one_class() -> None:
    for code in range(0, 0x110000, 7):
        category = tables.flags()[code] & 0xFF
        assert category & (category - 1) == 0
        assert category


def test_classes() -> None:
    flags = tables.flags()
    assert flags[0x20] & tables.SPACE
    assert flags[0x85] & tables.SPACE
    assert flags[ord("\u4e00")] & tables.LETTER
    assert tables.lower()[ord("\u00c9")] == ord("\u00e9")
    assert tables.plain()[ord("\u00c9")] == ord("E")


def test_no_text_is_lost() -> None:
    for name in ("a1 \u3000b\n", "'s", ""):
        spans = GgmlSplit((r"\p{N}", r"\s+(?!\S)|\s+")).spans(name)
        assert "".join(name[start:end] for start, end in spans) == name
