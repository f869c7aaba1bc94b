"""Without a decision on the licence nothing is converted."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from tests.acquire.hub.conftest import REPO, TREE, acquired
from tests.acquire.hub.server import HubServer, Repository
from trlm_lab.acquire.hub_snapshot import HubRules
from trlm_lab.acquire.licence import load_decision
from trlm_lab.acquire.tree_profile import Permission, TreeProfile, load_tree_profile
from trlm_lab.base.home import trlm_home
from trlm_lab.errors import LicenceDecisionError, LicenceUndecidedError, TreeProfileError

CARD = b"---\nlicense: llama3.2\n---\n"


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def row(path: str, data: bytes) -> dict[str, str]:
    return {"path": path, "sha256": sha256(data)}


def decision(**changes: Any) -> dict[str, Any]:
    return {
        "schema": "trlm.licence_decision.v2",
        "source": f"hf:{REPO}",
        "spdx": "LicenseRef-llama3.2",
        "texts": [row("LICENSE", TREE["LICENSE"])],
        "cards": [row("README.md", CARD)],
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
    return HubRules(decision=load_decision(path))


def test_a_reviewed_licence_is_decided_by_the_table(tiny: Repository) -> None:
    licence = acquired().provenance["licence"]
    assert licence["spdx"] == "Apache-2.0"
    assert licence["decision"] == "accepted"
    assert licence["source"] == f"hf:{REPO}@{tiny.branches['main']}"
    assert licence["texts"] == [row("LICENSE", TREE["LICENSE"])]
    assert licence["cards"] == [row("README.md", TREE["README.md"])]
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


def test_who_must_decide_need_not_wait_for_the_weights(special: Repository, hub: HubServer) -> None:
    with pytest.raises(LicenceUndecidedError) as caught:
        acquired()
    assert set(hub.sent) == {"LICENSE", "README.md"}
    for stated in (*decision()["texts"], *decision()["cards"]):
        assert json.dumps(stated) in caught.value.remedy


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
        decision(texts=[row("LICENSE", b"another text")]),
        decision(texts=[]),
        decision(texts=None),
        decision(cards=[]),
        decision(cards=[row("README", CARD)]),
        decision(source="hf:eve/other"),
        decision(source=f"hf:{REPO}@{'0' * 40}"),
        decision(source=None),
        decision(decision="rejected"),
        decision(reviewer=" "),
        decision(reviewer="\u200b\u2060"),
        decision(reviewer="\u3164"),
        decision(reviewer="--"),
        decision(redistribution="…"),
        decision(extra=1),
        decision(schema="v2"),
        {},
        [],
    ],
)
def test_licence_decision(special: Repository, tmp_path: Path, row: Any) -> None:
    with pytest.raises(LicenceDecisionError):
        acquired(rules=write(tmp_path / "decision.json", row))


SEVERAL = {"LICENSE-CODE": b"MIT", "LICENSE-MODEL.md": b"more", "USE_POLICY.md": b"policy"}


def test_a_decision_names_all_texts_and_cards(tiny: Repository, tmp_path: Path) -> None:
    tiny.commit(TREE | SEVERAL | {"README.md": CARD, "readme.txt": b"another card"})
    texts = [
        row(name, data) for name, data in sorted(({"LICENSE": TREE["LICENSE"]} | SEVERAL).items())
    ]
    cards = [row("README.md", CARD), row("readme.txt", b"another card")]
    said = decision(texts=texts, cards=cards)
    for short in (said | {"texts": texts[:1]}, said | {"cards": cards[:1]}):
        with pytest.raises(LicenceDecisionError, match="the source has"):
            acquired(rules=write(tmp_path / "short.json", short))
    snapshot = acquired(rules=write(tmp_path / "decision.json", said))
    assert snapshot.provenance["licence"] == said
    assert (snapshot.root / "LICENSE-MODEL.md").read_bytes() == b"more"


def test_the_table_decides_on_one_licence_text_alone(tiny: Repository) -> None:
    tiny.commit(TREE | {"NOTICE": b"by Ada"})
    listed = acquired().provenance["licence"]["texts"]
    assert [text["path"] for text in listed] == ["LICENSE", "NOTICE"]
    tiny.commit(TREE | {"USE_POLICY.md": b"not for this"})
    with pytest.raises(LicenceUndecidedError, match=r"LICENSE, USE_POLICY\.md"):
        acquired()


def test_two_cards_that_name_two_licences(tiny: Repository) -> None:
    tiny.commit(TREE | {"README": b"---\nlicense: mit\n---\n"})
    with pytest.raises(LicenceUndecidedError, match="'unknown'"):
        acquired()
    tiny.commit(TREE | {"README": b"no front matter"})
    assert acquired().provenance["licence"]["spdx"] == "Apache-2.0"


def test_a_decision_without_a_text_is_about_one_commit(tiny: Repository, tmp_path: Path) -> None:
    bare = {k: v for k, v in TREE.items() if k not in ("LICENSE", "README.md")}
    commit = tiny.commit(bare)
    said = decision(texts=[], cards=[])
    with pytest.raises(LicenceDecisionError, match="no licence text that could bind"):
        acquired(rules=write(tmp_path / "any.json", said))
    said |= {"source": f"hf:{REPO}@{commit}"}
    snapshot = acquired(rules=write(tmp_path / "one.json", said))
    assert snapshot.provenance["licence"] == said
    tiny.commit(bare | {"generation_config.json": b"{}"})
    with pytest.raises(LicenceDecisionError, match=commit):
        acquired(rules=write(tmp_path / "one.json", said))


def profile(**changes: Any) -> dict[str, Any]:
    rule = {"pattern": "onnx/*", "reason": "exports of the same weights", "reviewer": "Ada"}
    return {"schema": "trlm.tree_profile.v1", "exceptions": [rule | changes]}


def test_a_tree_profile_leaves_out_what_was_reviewed(tiny: Repository, tmp_path: Path) -> None:
    tiny.commit(TREE | {"onnx/model.bin": b"x", "onnx/model.onnx": b"x", "onnx/run": b"#!"})
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
        profile(reviewer="\u200b"),
        profile(pattern=3),
        profile(extra="x"),
        profile(pattern="*"),
        profile(pattern="config.*"),
        profile(pattern="*.safetensors"),
        {"schema": "trlm.tree_profile.v2", "exceptions": []},
        {"schema": "trlm.tree_profile.v1", "exceptions": {}},
        {**profile(), "exceptions": [*profile()["exceptions"], *profile(reason="r")["exceptions"]]},
        {},
        [],
    ],
)
def test_tree_profile(tmp_path: Path, row: Any) -> None:
    path = tmp_path / "profile.json"
    path.write_text(json.dumps(row))
    with pytest.raises(TreeProfileError):
        load_tree_profile(path)


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_a_card_that_says_its_license_twice(tiny: Repository, mark: bytes) -> None:
    tiny.commit(TREE | {"README.md": mark + b"---\nlicense: llama2\nlicense: apache-2.0\n---\n"})
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
