"""Forgeries whose every hash, id and list agrees, and what still gives them away."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.flows.conftest import SmallRun
from tests.flows.forging import (
    Edit,
    Forger,
    errors,
    with_children,
    with_facts,
    write_anew,
)
from tests.receipts.nodes import acquired
from trlm_lab.base import canon
from trlm_lab.base.records import Node
from trlm_lab.flows.verification import verify_directory
from trlm_lab.receipts import ReceiptStore
from trlm_lab.receipts.verify import RECEIPT_FILE, receipt_text

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("flows")]


# --- what a sound run says -------------------------------------------------------------------


def test_a_sound_run_recomputes_bit_for_bit(small_run: SmallRun) -> None:
    report = verify_directory(small_run.out, recompute=True)
    assert report.sound, report.findings
    assert report.kind == "conformance"
    assert report.recomputed > 1000
    assert {f.code for f in report.findings} == {"NOT_RECOMPUTED"}


def test_sealing_again_without_an_edit_is_no_forgery(forger: Forger) -> None:
    forger.forge({})
    assert errors(forger.directory) == set()


# --- the root --------------------------------------------------------------------------------


def test_a_root_that_is_the_promotion_proves_no_run(forger: Forger) -> None:
    forger.seal(forger.store.get(forger.nodes("promotion")[0]))
    assert "NO_PROMOTION" in errors(forger.directory)


def test_a_report_without_promotion(forger: Forger) -> None:
    forger.forge({forger.root: with_children(lambda c: c[1:])})
    assert errors(forger.directory) == {"NODE_SCHEMA"}


@pytest.mark.parametrize(
    "edit",
    [
        with_facts(surprise=1),
        with_facts(total="many"),
        with_facts(artifact="/home/someone/model"),
        with_children(lambda c: ()),
    ],
)
def test_a_node_of_another_form(forger: Forger, edit: Edit) -> None:
    """Whatever was hashed again: the type says what a node looks like."""
    forger.forge({forger.exact(): edit}, derive=False)
    assert errors(forger.directory) == {"NODE_SCHEMA"}


def test_an_acquisition_alone_is_sound_and_says_what_it_is(tmp_path: Path) -> None:
    store = ReceiptStore(tmp_path)
    rows = [[b"a", 1, "11" * 32]]
    file = store.add("file", dict(zip(("path", "size", "sha256"), rows[0], strict=True)), [])
    facts = {"snapshot_id": canon.content_id(rows), "files": 1}
    tree = store.add("source_tree", facts, [file])
    said = store.add("provenance", {"statement_blob": store.put_value({})}, [tree])
    decision = {"text_sha256": None, "decision_blob": store.put_value(None)}
    licence = store.add("licence", decision, [tree])
    root = store.add("acquisition", acquired(store), [tree, said, licence])
    (tmp_path / RECEIPT_FILE).write_text(receipt_text(root))
    report = verify_directory(tmp_path)
    assert report.sound, report.findings
    assert report.kind == "acquisition"
    assert "no promotion is proven" in report.proves


# --- the claims ------------------------------------------------------------------------------


def without(word: str) -> Callable[[list[dict[str, Any]]], list[dict[str, Any]]]:
    """Leave out the claims that say `word`."""
    return lambda rows: [row for row in rows if word not in row["claim"]]


def test_a_claim_left_out(forger: Forger) -> None:
    forger.forge({}, claims=without("hooks"))
    assert errors(forger.directory) == {"CLAIM_LEFT_OUT"}


def test_a_claim_added(forger: Forger) -> None:
    more = {"level": "C14 promotion", "claim": "all of it", "engine": "webgpu", "artifact": "f32"}
    forger.forge({}, claims=lambda rows: [*rows, {**rows[-1], **more}])
    assert errors(forger.directory) == {"CLAIM_ADDED"}


@pytest.mark.parametrize("field", ["outcome", "detail", "evidence"])
def test_a_claim_changed(forger: Forger, field: str) -> None:
    other = {"outcome": "MATCH", "detail": "everything equal", "evidence": "11" * 32}[field]

    def change(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [{**r, field: other} if "frozen limit" in r["claim"] else r for r in rows]

    forger.forge({}, claims=change)
    assert errors(forger.directory) == {"CLAIM_CHANGED"}


def drop_from_promotion(forger: Forger, node_id: str) -> None:
    promotion = forger.nodes("promotion")[0]
    place = forger.store.get(promotion).children.index(node_id)
    forger.forge({promotion: with_children(lambda c: c[:place] + c[place + 1 :])})


@pytest.mark.parametrize("which", ["bounded", "exact", "inspection", "fault_run"])
def test_evidence_left_out_with_its_claims(forger: Forger, which: str) -> None:
    found = {"bounded": forger.bounded, "exact": forger.exact}
    node_id = found[which]() if which in found else forger.nodes(which)[0]
    drop_from_promotion(forger, node_id)
    assert "EVIDENCE_LEFT_OUT" in errors(forger.directory)


def test_a_probe_left_out(forger: Forger) -> None:
    drop_from_promotion(forger, forger.nodes("probe")[0])
    # No promotion is without one, so its schema says it first.
    assert "NODE_SCHEMA" in errors(forger.directory)


def test_evidence_of_another_engine(forger: Forger) -> None:
    """The comparison says `reference`, its trace is of the stored engine."""
    stored = forger.store.put_value("llama.cpp")
    forger.forge({forger.bounded(): with_facts(engine_blob=stored)})
    assert {"ENGINE", "EVIDENCE_LEFT_OUT", "EVIDENCE_FOREIGN"} <= errors(forger.directory)


def test_evidence_of_another_artifact(forger: Forger) -> None:
    """The easy artifact's comparison stands in for the other's."""
    found = forger.nodes("comparison", "comparison_blob")
    other = next(i for i in found if i != forger.bounded())
    twin = forger.store.get(other)
    forger.forge({forger.bounded(): lambda store, node: _as_f32(twin)})
    assert "ENGINE" in errors(forger.directory)


def _as_f32(twin: Node) -> Node:
    return replace(twin, metadata={**twin.metadata, "artifact": "f32"})


def test_one_engine_twice_under_two_names(forger: Forger) -> None:
    """The first engine's trace in place of the second's makes equal digests."""
    forger.forge({forger.exact(): with_children(lambda c: (c[0], c[0], *c[2:]))})
    assert "ENGINE" in errors(forger.directory)


def test_a_plan_that_no_receipt_lists(forger: Forger) -> None:
    (forger.directory / "plan.json").unlink()
    forger.seal()
    assert errors(forger.directory) == {"PLAN_MISSING"}


def test_an_engine_planned_and_never_run(forger: Forger) -> None:
    path = forger.directory / "plan.json"
    plan = json.loads(path.read_text())
    plan["bounded"] = ["llama.cpp"]
    write_anew(path, json.dumps(plan).encode())
    forger.forge({})
    assert errors(forger.directory) == {"EVIDENCE_LEFT_OUT"}


def replanned(forger: Forger, **facts: Any) -> None:
    """Another plan under a new root."""
    path = forger.directory / "plan.json"
    write_anew(path, json.dumps(json.loads(path.read_text()) | facts).encode())
    forger.forge({})


@pytest.mark.parametrize("suite", ["judged", "calibration"])
def test_a_suite_is_known_by_its_cases(forger: Forger, suite: str) -> None:
    """Under a user's name no built-in list helps; the plan still binds the cases."""
    replanned(forger, **{suite: "/a/users/cases.json"})
    assert errors(forger.directory) == set()
    replanned(forger.again(), **{f"{suite}_digest": "11" * 32})
    assert errors(forger.directory) == {"SUITE"}


@pytest.mark.parametrize("facts", [{"resolutions": ["11" * 32]}, {"secret_exceptions": "11" * 32}])
def test_a_reviewed_file_that_nothing_rests_on(forger: Forger, facts: dict[str, Any]) -> None:
    replanned(forger, **facts)
    assert errors(forger.directory) == {"REVIEWED"}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (
            "licence_decision",
            b'{"schema": "trlm.licence_decision.v2", "source": "hf:a/b", "spdx": "MIT",'
            b' "texts": [], "cards": [], "decision": "accepted", "redistribution": "with it",'
            b' "attribution": "named", "reviewer": "Ada"}',
        ),
        (
            "tree_profile",
            b'{"schema": "trlm.tree_profile.v1", "exceptions":'
            b' [{"pattern": "*.bin", "reason": "pickle", "reviewer": "a"}]}',
        ),
    ],
)
def test_a_reviewed_file_other_than_the_record(forger: Forger, name: str, content: bytes) -> None:
    digest = hashlib.sha256(content).hexdigest()
    kept = forger.directory / "reviewed" / f"{digest}.json"
    kept.parent.mkdir(exist_ok=True)
    kept.write_bytes(content)
    replanned(forger, **{name: digest})
    assert errors(forger.directory) == {"REVIEWED"}
    kept.unlink()
    forger.again().forge({})
    assert errors(forger.directory) == {"EVIDENCE_UNREADABLE"}


def test_holds_is_derived(forger: Forger) -> None:
    """A fault that was not named, in a promotion that says it holds."""
    run = forger.nodes("fault_run")[0]
    forger.forge({run: with_facts(named="layers.1.q_rope")}, facts={"holds": True})
    assert errors(forger.directory) == {"PROMOTION", "FAULT_RUN"}


def test_an_expected_boundary_moved_to_where_the_judge_looked(forger: Forger) -> None:
    moved = with_facts(expected="layers.1.q_rope", named="layers.1.q_rope")
    forger.forge({forger.nodes("fault_run")[0]: moved})
    assert errors(forger.directory) == {"FAULT_RUN"}
