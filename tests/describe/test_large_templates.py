"""A file far larger than memory is judged by its size, and nobody reads it to say so."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from trlm_lab.describe import check_model_directory, declarations, template_conflicts
from trlm_lab.describe.templates import MAX_TEMPLATE_BYTES

Tree = Callable[..., Path]
#: More than any machine of a test holds; sparse, so that it takes no disk.
VAST = 1 << 42


@pytest.fixture(autouse=True)
def unhashed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hashing is in constant memory and takes its time; it is not what is asked here."""
    monkeypatch.setattr(template_conflicts, "file_sha256", lambda _: "0" * 64)


@pytest.mark.parametrize("name", ["chat_template.jinja", "additional_chat_templates/tools.jinja"])
def test_a_vast_template(tree: Tree, name: str) -> None:
    root = tree()
    path = root / name
    path.parent.mkdir(exist_ok=True)
    path.touch()
    os.truncate(path, VAST)
    found = [f for f in check_model_directory(root) if f["where"].startswith(name)]
    assert [f["code"] for f in found] == ["TEMPLATE_SYNTAX"]
    assert f"{VAST} bytes, at most {MAX_TEMPLATE_BYTES} are read" in found[0]["detail"]


def test_a_vast_record_of_a_gguf_file_is_none(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tree()
    (root / "provenance.cbor").touch()
    os.truncate(root / "provenance.cbor", VAST)
    monkeypatch.setattr(declarations.strict_json, "MAX_JSON_BYTES", 1 << 20)
    assert "TEMPLATE_SYNTAX" not in {f["code"] for f in check_model_directory(root)}
