"""What a check of a model directory finds, without torch."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from trlm_lab import errors
from trlm_lab.acquire import acquire
from trlm_lab.describe import check_model_directory, require_consistent

Tree = Callable[..., Path]


def codes(root: Path, level: str) -> list[str]:
    return [f["code"] for f in check_model_directory(root) if f["level"] == level]


def test_a_sound_snapshot_has_only_notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRLM_HOME", str(tmp_path))
    root = acquire("synthetic:llama-small").root
    assert codes(root, "error") == []
    notes = ["LICENCE_MISSING", "MISSING_PART", "MISSING_PART"]
    assert codes(root, "note") == notes


BLOOM = {"model_type": "bloom", "architectures": ["BloomForCausalLM"]}

ERRORS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "a conflict": ({"config": {"eos_token_id": 4}}, ["EOS_CONFLICT"]),
    "an unknown key": ({"config": {"odd": 1}}, ["UNKNOWN_FIELD"]),
    "an unsupported value": ({"config": {"mlp_bias": 1}}, ["FIELD_VALUE"]),
    "a conflict and a value": (
        {"config": {"eos_token_id": 4, "mlp_bias": 1}}, ["EOS_CONFLICT", "FIELD_VALUE"]
    ),
    "a conflict in another family": ({"config": {**BLOOM, "eos_token_id": 4}}, ["EOS_CONFLICT"]),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_errors_are_found(tree: Tree, name: str) -> None:
    documents, wanted = ERRORS[name]
    assert codes(tree(**documents), "error") == wanted


def test_another_family_is_accepted_as_far_as_it_can_be_checked(tree: Tree) -> None:
    root = tree(config=BLOOM)
    assert codes(root, "error") == []
    assert "FAMILY_UNSUPPORTED" in codes(root, "note")


def test_weights_of_another_family_are_refused_before_a_conversion(tree: Tree) -> None:
    root = tree(config=BLOOM)
    save_file({"model.norm.weight": np.zeros(8, np.float32)}, root / "model.safetensors")
    found = [f for f in check_model_directory(root) if f["level"] == "error"]
    assert [(f["code"], f["where"]) for f in found] == [
        ("FAMILY_UNSUPPORTED", "config.json#/model_type")
    ]
    with pytest.raises(errors.FamilyUnsupportedError, match="'bloom' has no schema"):
        require_consistent(root, None)


@pytest.mark.parametrize("family", ["foo", "Llama", "llama ", None, 5, ["llama"], True])
def test_no_family_without_a_schema_is_converted(tree: Tree, family: Any) -> None:
    root = tree(config={"model_type": family, "architectures": ["FooForCausalLM"]})
    with pytest.raises((errors.FamilyUnsupportedError, errors.ConflictError)):
        require_consistent(root, None)
    save_file({"model.norm.weight": np.zeros(8, np.float32)}, root / "model.safetensors")
    assert "FAMILY_UNSUPPORTED" in codes(root, "error")


def test_a_family_is_held_against_the_tensors_where_a_size_is_left_open(tree: Tree) -> None:
    root = tree(config={"head_dim": None})
    names = ("transformer.wte.weight", "model.layers.0.mlp.up_proj.scale", "model.norm.weight")
    save_file({name: np.zeros(8, np.float32) for name in names}, root / "model.safetensors")
    assert codes(root, "error") == ["TENSOR_UNKNOWN"] * 2


def test_a_snapshot_that_others_made_is_held_against_its_own_tensors(tree: Tree) -> None:
    root = tree()
    assert require_consistent(root, None).stops == ()
    save_file({"model.norm.weight": np.zeros(8, np.float32)}, root / "model.safetensors")
    with pytest.raises(errors.TensorMissingError):
        require_consistent(root, None)


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
