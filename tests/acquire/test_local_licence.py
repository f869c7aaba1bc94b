"""Who decides on the licence of a user's own copy: its card by the table, a file, or nobody."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from trlm_lab.acquire import HubRules, acquire, load_decision, recorded_pin
from trlm_lab.base.home import trlm_home
from trlm_lab.base.licence_state import UNDECIDED, is_undecided
from trlm_lab.errors import LicenceDecisionError, TreeError


@pytest.fixture
def model(tmp_path: Path) -> Path:
    root = tmp_path / "model"
    root.mkdir()
    (root / "config.json").write_bytes(b'{"model_type": "llama"}')
    save_file({"w": np.arange(6, dtype=np.float32)}, root / "model.safetensors")
    return root


def licence(source: str, decision: dict[str, Any] | None = None) -> dict[str, Any]:
    rules = HubRules()
    if decision is not None:
        file = trlm_home().parent / "decision.json"
        file.write_text(json.dumps(decision))
        rules = HubRules(decision=load_decision(file))
    row: dict[str, Any] = acquire(source, rules=rules).provenance["licence"]
    return row


def accepted(row: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """The decision that somebody makes of an undecided row."""
    words = {"spdx": "MIT", "decision": "accepted", "redistribution": "with its text"}
    return row | words | {"attribution": "keep the notice", "reviewer": "Ada"} | changes


def test_without_any_evidence_nobody_decided(model: Path) -> None:
    row = licence(str(model))
    assert (row["decision"], row["spdx"]) == (UNDECIDED, "unknown")
    assert is_undecided(row)
    assert (row["texts"], row["cards"]) == ([], [])
    name, _, content = row["source"].partition("@")
    assert name == "dir:model"
    assert len(content) == 64


def test_a_text_alone_is_evidence_and_no_decision(model: Path) -> None:
    (model / "LICENSE").write_bytes(b"do as you like")
    row = licence(str(model))
    assert is_undecided(row)
    assert row["source"] == "dir:model"


def test_the_table_decides_by_the_card_as_for_a_hub(model: Path) -> None:
    (model / "README.md").write_bytes(b"---\nlicense: mit\n---\n")
    row = licence(str(model))
    assert (row["spdx"], row["decision"]) == ("MIT", "accepted")
    assert not is_undecided(row)
    (model / "USE_POLICY.md").write_bytes(b"more terms")
    (model / "LICENSE").write_bytes(b"terms")
    assert is_undecided(licence(str(model)))


@pytest.mark.parametrize("text", [None, b"do as you like"])
def test_the_undecided_row_is_the_form_of_a_decision(model: Path, text: bytes | None) -> None:
    if text is not None:
        (model / "LICENSE").write_bytes(text)
    made = accepted(licence(str(model)))
    assert licence(str(model), made) == made
    # Both stand in the cache, each by its own key.
    assert is_undecided(licence(str(model)))


@pytest.mark.parametrize(
    "changes",
    [
        {"source": "dir:model"},
        {"source": f"dir:model@{'0' * 64}"},
        {"source": "hf:ada/model"},
        {"decision": "rejected"},
        {"texts": [{"path": "LICENSE", "sha256": "0" * 64}]},
    ],
)
def test_a_decision_about_something_else(model: Path, changes: dict[str, Any]) -> None:
    made = accepted(licence(str(model)), **changes)
    before = sorted((trlm_home() / "snapshots").iterdir())
    with pytest.raises(LicenceDecisionError):
        licence(str(model), made)
    kept = [p for p in (trlm_home() / "snapshots").iterdir() if not p.name.startswith(".")]
    assert sorted(kept) == [p for p in before if not p.name.startswith(".")]


def test_other_content_needs_another_decision(model: Path) -> None:
    made = accepted(licence(str(model)))
    save_file({"w": np.arange(7, dtype=np.float32)}, model / "model.safetensors")
    with pytest.raises(LicenceDecisionError, match="no licence text that could bind"):
        licence(str(model), made)


def test_a_gguf_file(small_gguf: Callable[..., Any]) -> None:
    file = small_gguf().path
    row = licence(f"gguf:{file}")
    assert is_undecided(row)
    assert row["source"].startswith(f"gguf:{file.name}@")
    made = accepted(row)
    assert licence(f"gguf:{file}", made) == made
    with pytest.raises(LicenceDecisionError):
        licence(f"gguf:{file}", accepted(row, source=f"gguf:{file.name}"))


def test_the_key_of_a_gguf_file_names_a_licence(small_gguf: Callable[..., Any]) -> None:
    file = small_gguf(extra={"general.license": "apache-2.0"}).path
    assert licence(f"gguf:{file}")["spdx"] == "Apache-2.0"


@pytest.mark.parametrize("row", [None, {}, "accepted", {"decision": "local use only"}])
def test_what_holds_no_decision(row: Any) -> None:
    assert is_undecided(row)


def test_a_name_that_is_no_text(model: Path, small_gguf: Callable[..., Any]) -> None:
    odd = model.with_name(os.fsdecode(b"model\xff"))
    model.rename(odd)
    file = small_gguf().path
    renamed = file.rename(file.with_name(os.fsdecode(b"m\xff.gguf")))
    for source in (f"dir:{odd}", f"gguf:{renamed}"):
        with pytest.raises(TreeError, match="its own name is no UTF-8"):
            acquire(source)
        with pytest.raises(TreeError, match="its own name is no UTF-8"):
            recorded_pin(source)
