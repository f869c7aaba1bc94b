"""The receipt of a judgement: what it says, and that a changed one is found."""

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.flows.golden.conftest import IDS, golden_of
from tests.receipts.nodes import put_loose
from trlm_lab.base import blobs
from trlm_lab.base.blobs import file_sha256
from trlm_lab.flows.cli.app import run
from trlm_lab.flows.golden_judge import judge_golden
from trlm_lab.flows.receipts_view import sealed_root
from trlm_lab.flows.verification import verify_directory
from trlm_lab.receipts import ReceiptStore, render_graph
from trlm_lab.receipts.invalidation import RUN, stale
from trlm_lab.receipts.receipt_file import receipt_text

pytestmark = pytest.mark.xdist_group("flows")


@pytest.fixture
def judged(whole: Path, artifact: Path, tmp_path: Path) -> Path:
    """A store with the judgement of a faulty engine by both containers."""
    judge_golden(whole, "faulty:rope_pairing@2", artifact=artifact, out=tmp_path / "store")
    return tmp_path / "store"


def test_a_judgement_names_engine_artifact_and_containers(
    judged: Path, whole: Path, artifact: Path
) -> None:
    store = ReceiptStore(judged)
    node = store.get(sealed_root(judged))
    assert (node.type, node.metadata["outcome"]) == ("comparison", "WRONG")
    assert node.metadata["artifact_sha256"] == file_sha256(artifact)
    build, profile, *cases = [store.get(child) for child in node.children]
    assert (build.type, profile.type) == ("runtime_build", "engine_profile")
    assert build.metadata["name"] == "faulty:rope_pairing@2"
    assert [case.metadata["case_id"] for case in cases] == IDS
    golden = golden_of(whole)
    assert cases[0].metadata["golden_blob"] == golden.sha256
    assert cases[0].metadata["generator"] == golden.case.generator_receipt.hex()
    verdicts = store.get_value(node.metadata["verdicts_blob"])
    assert [row["mismatch"]["boundary"] for row in verdicts] == ["layers.2.q_rope"] * 2


def test_it_verifies_and_says_what_it_does_not_prove(judged: Path) -> None:
    report = verify_directory(judged)
    assert report.findings == []
    assert (report.kind, report.nodes) == ("comparison", 5)
    assert report.proves.endswith("the root is a comparison, no promotion is proven")


def test_it_has_a_graph_and_needs_a_run_when_the_build_changes(judged: Path) -> None:
    store, root = ReceiptStore(judged), sealed_root(judged)
    words = [line.split()[0] for line in render_graph(store, root).splitlines()]
    assert words == ["comparison", "runtime_build", "engine_profile", "case", "case"]
    (found,) = stale(store, root, [store.get(root).children[0]])
    assert (found.type, found.action) == ("comparison", RUN)


def test_the_same_judgement_is_the_same_node(judged: Path, whole: Path, artifact: Path) -> None:
    before = set(ReceiptStore(judged))
    judge_golden(whole, "faulty:rope_pairing@2", artifact=artifact, out=judged)
    assert set(ReceiptStore(judged)) == before


def test_another_judgement_stands_beside_the_sealed_one(
    judged: Path, whole: Path, artifact: Path
) -> None:
    root = sealed_root(judged)
    judge_golden(whole, "reference", artifact=artifact, out=judged)
    assert sealed_root(judged) == root
    assert verify_directory(judged).sound
    found = [ReceiptStore(judged).get(i) for i in ReceiptStore(judged)]
    assert {n.metadata["outcome"] for n in found if n.type == "comparison"} == {"MATCH", "WRONG"}


def test_a_judgement_without_an_artifact_of_that_model_is_recorded_too(
    whole: Path, smaller_slm: Path, tmp_path: Path
) -> None:
    judge_golden(whole, "reference", artifact=smaller_slm, out=tmp_path / "store")
    report = verify_directory(tmp_path / "store")
    assert report.findings == []
    node = ReceiptStore(tmp_path / "store").get(str(report.root))
    assert node.metadata["artifact_sha256"] == file_sha256(smaller_slm)
    assert node.metadata["outcome"] == "WRONG"


def forged(store: ReceiptStore, name: str) -> str:
    """Another root over the same children, of which one thing is changed."""
    node = store.get(sealed_root(store.root))
    facts: dict[str, Any] = dict(node.metadata)
    verdicts = store.get_value(facts["verdicts_blob"])
    children = list(node.children)
    if name == "outcome":
        facts["outcome"] = "MATCH"
    elif name == "a verdict":
        verdicts[0]["mismatch"]["verdict"] = verdicts[1]["mismatch"]["verdict"] = "MATCH"
    elif name == "a verdict less":
        del verdicts[0]
    elif name == "another case":
        verdicts[0]["case_id"] = "another"
    elif name == "another container":
        verdicts[0]["document_sha256"] = "0" * 64
    elif name == "more than all":
        verdicts[0]["judged"] = 83
    elif name == "fewer arrays":
        verdicts[0]["of"] = verdicts[0]["judged"] = 81
    elif name == "a generator":
        case = store.get(children[2])
        children[2] = put_loose(store, "case", {**case.metadata, "generator": "0" * 64})
    elif name == "no verdicts":
        verdicts = {"case": 1}
    facts["verdicts_blob"] = store.put_value(verdicts)
    return put_loose(store, "comparison", facts, children)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("outcome", "the worst verdict is WRONG"),
        ("a verdict", "the worst verdict is MATCH"),
        ("a verdict less", "1 verdicts on 2 containers"),
        ("another case", "case_id is 'another'"),
        ("another container", "document_sha256 is '000"),
        ("more than all", "83 of 82 arrays are judged"),
        ("fewer arrays", "of is 81, the container gives 82"),
        ("a generator", "generator is '000"),
        ("no verdicts", "1 verdicts on 2 containers"),
    ],
)
def test_a_changed_judgement_is_found(judged: Path, name: str, words: str) -> None:
    root = forged(ReceiptStore(judged), name)
    (judged / "receipt.json").write_text(receipt_text(root))
    (finding,) = [f for f in verify_directory(judged).findings if f.level == "error"]
    assert finding.code == "GOLDEN_JUDGEMENT"
    assert words in finding.detail
    assert finding.fix


def test_a_container_that_is_none_is_found(judged: Path) -> None:
    store = ReceiptStore(judged)
    node = store.get(sealed_root(judged))
    case = store.get(node.children[2])
    blob = store.put_value({"no": "container"})
    other = put_loose(store, "case", {**case.metadata, "golden_blob": blob})
    root = put_loose(store, "comparison", node.metadata, [*node.children[:2], other])
    (judged / "receipt.json").write_text(receipt_text(root))
    assert not verify_directory(judged).sound


def test_the_command_writes_and_the_others_read(
    whole: Path, artifact: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "store")
    judge = ["golden", "judge", str(whole), "--artifact", str(artifact), "--engine", "reference"]
    assert run([*judge, "--out", out, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["verdict"] == "MATCH"
    assert run(["verify", out]) == 0
    assert "no promotion is proven" in capsys.readouterr().out
    root = sealed_root(Path(out))
    assert run(["receipts", "show", root[:12], "--dir", out, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["type"] == "comparison"
    assert run(["receipts", "graph", root[:12], "--dir", out]) == 0
    assert "runtime_build" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("engine", "verdict"), [("reference", "MATCH"), ("faulty:rope_pairing@2", "WRONG")]
)
def test_a_verdict_is_shown_where_its_receipt_cannot_be_written(
    whole: Path,
    artifact: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    engine: str,
    verdict: str,
) -> None:
    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(blobs.os, "fsync", full)
    judge = ["golden", "judge", str(whole), "--artifact", str(artifact), "--engine", engine]
    judge += ["--out", str(tmp_path / "store")]
    assert run([*judge, "--json"]) == 4
    document = json.loads(capsys.readouterr().out)
    assert (document["verdict"], len(document["cases"])) == (verdict, 2)
    assert document["error"]["code"] == "STORE_WRITE"
    assert run(judge) == 4
    shown = capsys.readouterr()
    assert IDS[0] in shown.out
    assert verdict in shown.out
    assert "STORE_WRITE" in shown.err
