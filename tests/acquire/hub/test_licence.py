"""Without a decision on the licence nothing is converted."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from tests.acquire.hub.conftest import TREE, acquired
from tests.acquire.hub.server import Repository
from trlm_lab.acquire.hub_snapshot import HubRules
from trlm_lab.acquire.tree_profile import Permission, TreeProfile, load_tree_profile
from trlm_lab.base.home import trlm_home
from trlm_lab.errors import LicenceDecisionError, LicenceUndecidedError, TreeProfileError

CARD = b"---\nlicense: llama3.2\n---\n"


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def decision(**changes: Any) -> dict[str, Any]:
    return {
        "schema": "trlm.licence_decision.v1",
        "spdx": "LicenseRef-llama3.2",
        "text_sha256": sha256(TREE["LICENSE"]),
        "card_sha256": sha256(CARD),
        "decision": "accepted",
        "redistribution": "with the licence, and a name that begins with Llama",
        "attribution": "Built with Llama",
        "reviewer": "Ada",
    } | changes


@pytest.fixture
def special(tiny: Repository) -> Repository:
    tiny.commit(TREE | {"README.md": CARD})
    return tiny


def write(path: Path, row: Any) -> HubRules:
    path.write_text(json.dumps(row))
    return HubRules(decision=path)


def test_a_reviewed_licence_is_decided_by_the_table(tiny: Repository) -> None:
    licence = acquired().provenance["licence"]
    assert licence["spdx"] == "Apache-2.0"
    assert licence["decision"] == "accepted"
    assert licence["text_sha256"] == sha256(TREE["LICENSE"])
    assert licence["card_sha256"] == sha256(TREE["README.md"])
    assert "licence text" in licence["redistribution"]
    assert licence["attribution"]
    assert licence["reviewer"]


@pytest.mark.parametrize(
    "card",
    [
        CARD,
        b"# no front matter",
        b"---\nlicense: [mit, other]\n---\n",
        b"---\n: :\n\t-\n---\n",
        b"",
    ],
)
def test_licence_undecided(tiny: Repository, card: bytes) -> None:
    tiny.commit(TREE | {"README.md": card})
    with pytest.raises(LicenceUndecidedError):
        acquired()
    assert not list((trlm_home() / "snapshots").glob("[!.]*"))


def test_no_card_at_all(tiny: Repository) -> None:
    tiny.commit({k: v for k, v in TREE.items() if k != "README.md"})
    with pytest.raises(LicenceUndecidedError):
        acquired()


def test_a_reviewer_decides(special: Repository, tmp_path: Path) -> None:
    snapshot = acquired(rules=write(tmp_path / "decision.json", decision()))
    assert snapshot.provenance["licence"] == decision()


@pytest.mark.parametrize(
    "row",
    [
        decision(text_sha256=sha256(b"another text")),
        decision(card_sha256=None),
        decision(decision="rejected"),
        decision(reviewer=" "),
        decision(extra=1),
        decision(schema="v2"),
        {},
        [],
    ],
)
def test_licence_decision(special: Repository, tmp_path: Path, row: Any) -> None:
    with pytest.raises(LicenceDecisionError):
        acquired(rules=write(tmp_path / "decision.json", row))


def profile(**changes: Any) -> dict[str, Any]:
    rule = {"pattern": "onnx/*", "reason": "exports of the same weights", "reviewer": "Ada"}
    return {"schema": "trlm.tree_profile.v1", "exceptions": [rule | changes]}


def test_a_tree_profile_leaves_out_what_was_reviewed(tiny: Repository, tmp_path: Path) -> None:
    tiny.commit(TREE | {"onnx/model.bin": b"x"})
    path = tmp_path / "profile.json"
    path.write_text(json.dumps(profile()))
    hub = acquired(rules=HubRules(profile=load_tree_profile(path))).provenance["hub"]
    assert ["onnx/model.bin", "exports of the same weights (Ada)"] in hub["left_out"]
    assert hub["tree_profile"] == profile()


@pytest.mark.parametrize(
    "row",
    [
        profile(reason=""),
        profile(reviewer=" "),
        profile(pattern=3),
        profile(extra="x"),
        profile(pattern="*"),
        profile(pattern="config.*"),
        profile(pattern="*.safetensors"),
        {"schema": "trlm.tree_profile.v2", "exceptions": []},
        {"schema": "trlm.tree_profile.v1", "exceptions": {}},
        {},
        [],
    ],
)
def test_tree_profile(tmp_path: Path, row: Any) -> None:
    path = tmp_path / "profile.json"
    path.write_text(json.dumps(row))
    with pytest.raises(TreeProfileError):
        load_tree_profile(path)


def test_a_card_that_says_its_license_twice(tiny: Repository) -> None:
    tiny.commit(TREE | {"README.md": b"---\nlicense: llama2\nlicense: apache-2.0\n---\n"})
    with pytest.raises(LicenceUndecidedError):
        acquired()


@pytest.mark.parametrize(
    "pattern",
    [
        "generation_config.json",
        "tokenizer*",
        "LICEN*",
        "model.safe*",
        "additional_chat_templates/*",
    ],
)
def test_no_exception_covers_what_is_taken(tiny: Repository, pattern: str) -> None:
    profile = TreeProfile((Permission(pattern, "not wanted", "somebody"),))
    with pytest.raises(TreeProfileError, match="would leave out"):
        acquired(rules=HubRules(profile=profile))
