"""The receipt nodes of a chat template, what rests on them, and how a forged one is found."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.receipts.nodes import grow, put_loose
from trlm_lab.base.blobs import file_sha256
from trlm_lab.base.interfaces import Subject
from trlm_lab.base.records import Case, CaseSuite
from trlm_lab.chat import compile_template, read_ir
from trlm_lab.flows.engines import runner
from trlm_lab.flows.evidence_graph import EvidenceGraph
from trlm_lab.flows.execution import Task, _case_nodes
from trlm_lab.flows.planning import run_plan
from trlm_lab.flows.progress import Board
from trlm_lab.flows.run import Run
from trlm_lab.flows.template_nodes import template_node
from trlm_lab.flows.verification_dossier import Dossier
from trlm_lab.flows.verification_records import check_record
from trlm_lab.flows.verification_templates import check_template_there
from trlm_lab.flows.workspace import Workspace
from trlm_lab.receipts import ReceiptStore, VerifyReport
from trlm_lab.receipts.invalidation import stale

SOURCE = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}"
OUTSIDE = "{{ messages.__class__ }}"
FILE = "chat_template.jinja"


class Evidence:
    """A store with a source tree over one model directory, and the node of its template."""

    def __init__(self, root: Path, text: str, place: str | None = FILE) -> None:
        self.root, path = root, root / FILE
        (root / "config.json").write_text("{}")
        path.write_bytes(text.encode())
        self.ws = Workspace(root / "run", Board(quiet=True))
        self.store = self.ws.store
        file = grow(self.store, "file", path=FILE.encode(), sha256=file_sha256(path))
        self.tree = self.store.add("source_tree", {"snapshot_id": "11" * 32, "files": 1}, [file])
        self.receipt = {"evidence": [{"field": "chat_template", "chosen": place}]}
        self.node = template_node(self.store, root, self.receipt, self.tree)

    def type(self) -> str:
        return self.store.get(self.node).type

    def source(self) -> str:
        """The node of the source."""
        below = self.store.get(self.node).children[0]
        return self.node if self.type() == "template_source" else below

    def facts(self) -> dict[str, Any]:
        return dict(self.store.get(self.source()).metadata)

    def found(self, *nodes: str) -> list[tuple[str, str]]:
        """What verification says of these nodes."""
        report, graph = VerifyReport(), EvidenceGraph(self.store)
        dossier = Dossier(self.root, report, nodes[-1], graph, nodes)
        for node in nodes:
            with dossier.reading(node):
                check_record(dossier, node)
        return [(one.code, one.where.split()[-1]) for one in report.findings]

    def forged(self, **facts: Any) -> list[tuple[str, str]]:
        """What verification says of a source with these facts, under its own compiled form."""
        source = put_loose(self.store, "template_source", self.facts() | facts, [self.tree])
        row = {"ir_blob": self.store.blobs.put(compile_template(SOURCE).ir.encoded)}
        return self.found(source, put_loose(self.store, "template_ir", row, [source]))


@pytest.fixture
def evidence(tmp_path: Path) -> Evidence:
    return Evidence(tmp_path, SOURCE)


def test_source_bytes_and_the_compiled_form_above_them(evidence: Evidence) -> None:
    assert evidence.type() == "template_ir"
    compiled = compile_template(SOURCE)
    data = evidence.store.blobs.get(evidence.store.get(evidence.node).metadata["ir_blob"])
    assert read_ir(data).sha256 == compiled.ir_sha256
    assert evidence.facts() == {"place": FILE, "source_blob": compiled.source_sha256}
    assert evidence.found(evidence.source(), evidence.node) == []


def test_outside_the_subset_the_source_alone_with_the_refusal(tmp_path: Path) -> None:
    evidence = Evidence(tmp_path, OUTSIDE)
    assert evidence.type() == "template_source"
    said = evidence.store.get_value(evidence.facts()["refusal_blob"])
    assert (said["code"], said["where"]) == ("TEMPLATE_UNSUPPORTED", f"{FILE} line 1")
    assert evidence.found(evidence.node) == []


def test_no_template_is_chosen(tmp_path: Path) -> None:
    assert Evidence(tmp_path, SOURCE, place=None).node == ""


def test_the_same_text_in_a_file_of_its_own_is_preferred(evidence: Evidence) -> None:
    row = {"chat_template": SOURCE}
    (evidence.root / "tokenizer_config.json").write_text(json.dumps(row))
    inside = "tokenizer_config.json#/chat_template"
    receipt = {"evidence": [{"field": "chat_template", "chosen": inside}]}
    made = template_node(evidence.store, evidence.root, receipt, evidence.tree)
    assert made == evidence.node
    (evidence.root / FILE).unlink()
    made = template_node(evidence.store, evidence.root, receipt, evidence.tree)
    assert evidence.store.get(evidence.store.get(made).children[0]).metadata["place"] == inside


def test_forged_facts_are_found(evidence: Evidence) -> None:
    put = evidence.store.blobs.put
    assert evidence.forged() == []
    assert evidence.forged(place="other.jinja") == [("RECORD_ID", "place")]
    other = evidence.forged(source_blob=put(SOURCE.replace("|", "!").encode()))
    assert other == [("RECORD_ID", "source_blob"), ("RECORD_ID", "ir_blob")]
    outside = evidence.forged(source_blob=put(OUTSIDE.encode()))
    assert ("RECORD_ID", "refusal_blob") in outside
    assert ("RECORD_ID", "ir_blob") in outside
    refusal = evidence.store.put_value({"code": "TEMPLATE_UNSUPPORTED"})
    assert evidence.forged(refusal_blob=refusal) == [("RECORD_ID", "refusal_blob")]
    bad = evidence.store.put_value({})
    assert [code for code, _ in evidence.forged(refusal_blob=bad)] == ["EVIDENCE_UNREADABLE"]


def test_a_compiled_form_that_was_dropped(evidence: Evidence) -> None:
    assert evidence.found(evidence.source()) == [("EVIDENCE_LEFT_OUT", "template_ir")]


@pytest.mark.parametrize("kept", [True, False])
def test_a_template_that_was_left_out_of_the_promotion(evidence: Evidence, kept: bool) -> None:
    below = [evidence.tree, evidence.node] if kept else [evidence.tree]
    promotion = put_loose(evidence.store, "promotion", {}, below)
    report, graph = VerifyReport(), EvidenceGraph(evidence.store)
    check_template_there(Dossier(evidence.root, report, promotion, graph, ()), promotion)
    assert [one.code for one in report.findings] == ["EVIDENCE_LEFT_OUT"] * (not kept)


def test_another_template_invalidates_texts_and_what_rests_on_them_alone(
    evidence: Evidence,
) -> None:
    """The row of the table: prompts and their traces; cases of ids, artifacts, sources stay."""
    store, suite = evidence.store, CaseSuite("s", (Case("ids", (1,)), Case("text", (2,), text="x")))
    tokenizer = grow(store, "tokenizer_profile")
    task = Task("reference", "f32", runner("reference"), Subject(None, None, {}), suite,
                tokenizer=tokenizer, template=evidence.node)  # fmt: skip
    ids, text = _case_nodes(evidence.ws, task)
    assert store.get(ids).children == ()
    assert store.get(text).children == (tokenizer, evidence.node)
    artifact = grow(store, "artifact")
    traces = [_above(store, "trace", artifact, case) for case in (ids, text)]
    promotion = put_loose(store, "promotion", {}, [evidence.tree, *traces, evidence.node])
    found = {row.node_id for row in stale(store, promotion, [evidence.source()])}
    assert found == {evidence.node, text, traces[1], promotion}
    found = {row.node_id for row in stale(store, promotion, [evidence.tree])}
    assert {evidence.source(), evidence.node, text, promotion} <= found
    assert not {ids, artifact, tokenizer} & found


@pytest.mark.slow
def test_a_run_over_a_source_with_a_template_writes_both(raw_model: Path, tmp_path: Path) -> None:
    (raw_model / FILE).write_text(SOURCE)
    plan = run_plan(f"dir:{raw_model}", "reference", "", "", "f32", "")
    run = Run(plan, Workspace(tmp_path / "run", Board(quiet=True)))
    node = run.ws.store.get(run.template_node)
    assert node.metadata == {"ir_blob": compile_template(SOURCE).ir_sha256}
    source = run.ws.store.get(node.children[0])
    assert source.metadata["place"] == FILE
    assert source.children == (run.source.nodes["source_tree"],)


def _above(store: ReceiptStore, kind: str, *children: str) -> str:
    return put_loose(store, kind, {}, list(children))
