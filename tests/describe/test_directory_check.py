"""What a check of a model directory finds, without torch."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from trlm_lab.acquire import acquire
from trlm_lab.describe import check_model_directory

Tree = Callable[..., Path]


def codes(root: Path, level: str) -> list[str]:
    return [f["code"] for f in check_model_directory(root) if f["level"] == level]


def test_a_sound_snapshot_has_only_notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRLM_HOME", str(tmp_path))
    root = acquire("synthetic:llama-small").root
    assert codes(root, "error") == []
    notes = ["LICENCE_MISSING", "MISSING_PART", "MISSING_PART"]
    assert codes(root, "note") == notes


QWEN = {"model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"]}

ERRORS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "a conflict": ({"config": {"eos_token_id": 4}}, ["EOS_CONFLICT"]),
    "an unknown key": ({"config": {"odd": 1}}, ["UNKNOWN_FIELD"]),
    "an unsupported value": ({"config": {"mlp_bias": True}}, ["FIELD_VALUE"]),
    "a conflict and a value": (
        {"config": {"eos_token_id": 4, "mlp_bias": True}}, ["EOS_CONFLICT", "FIELD_VALUE"]
    ),
    "a conflict in another family": ({"config": {**QWEN, "eos_token_id": 4}}, ["EOS_CONFLICT"]),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_errors_are_found(tree: Tree, name: str) -> None:
    documents, wanted = ERRORS[name]
    assert codes(tree(**documents), "error") == wanted


def test_another_family_is_accepted_as_far_as_it_can_be_checked(tree: Tree) -> None:
    root = tree(config=QWEN)
    assert codes(root, "error") == []
    assert "FAMILY_UNSUPPORTED" in codes(root, "note")


def test_an_empty_container_lacks_its_tensors(tree: Tree) -> None:
    root = tree()
    assert "MISSING_PART" in codes(root, "note")
    save_file({}, root / "model.safetensors")
    assert set(codes(root, "error")) == {"TENSOR_MISSING"}


def test_a_broken_container_or_document_is_a_finding(tree: Tree) -> None:
    root = tree()
    (root / "model.safetensors").write_bytes(b"")
    assert codes(root, "error") == ["TRUNCATED"]
    (root / "config.json").write_bytes(b"{")
    assert codes(root, "error") == ["JSON"]


def test_sizes_that_the_file_leaves_open_are_not_guessed(tree: Tree) -> None:
    root = tree(config={"head_dim": None})
    save_file({"model.norm.weight": np.zeros(8, np.float32)}, root / "model.safetensors")
    assert codes(root, "error") == []
    assert "TENSORS_UNCHECKED" in codes(root, "note")
