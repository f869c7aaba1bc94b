"""Without a decision on the licence all work goes on here, and nothing is passed on."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.flows.golden.conftest import artifact, room, trace
from tests.receipts.nodes import acquired, grow, put_loose
from trlm_lab.base.records import Outcome
from trlm_lab.errors import LicenceUndecidedError, NoReceiptError
from trlm_lab.flows.attestation import ATTESTATIONS, attest
from trlm_lab.flows.claim_rows import claims_of, holds
from trlm_lab.flows.cli.app import run
from trlm_lab.flows.evidence_graph import EvidenceGraph
from trlm_lab.flows.licensing import LOCAL_ONLY
from trlm_lab.flows.plan import RunPlan
from trlm_lab.receipts import ReceiptStore
from trlm_lab.receipts.verify import RECEIPT_FILE, receipt_text
from trlm_lab.traces import SafetensorsTrace

__all__ = ["artifact", "room", "trace"]
pytestmark = pytest.mark.xdist_group("flows")
UNDECIDED = {"decision": "undecided", "source": "dir:a@1", "texts": [], "cards": []}
ACCEPTED = {"decision": "accepted", "spdx": "MIT"}


def said(capsys: pytest.CaptureFixture[str], status: int, *words: str) -> tuple[Any, str]:
    assert run([*words, "--json"]) == status
    printed = capsys.readouterr()
    return json.loads(printed.out), printed.err


def decision_file(folder: Path, row: dict[str, Any]) -> list[str]:
    words = {"spdx": "MIT", "decision": "accepted", "redistribution": "with its text"}
    file = folder / "decision.json"
    file.write_text(json.dumps(row | words | {"attribution": "the notice", "reviewer": "Ada"}))
    return ["--licence-decision", str(file)]


def test_work_goes_on_and_says_so(
    raw_model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (raw_model / "LICENSE").unlink()
    row, warned = said(capsys, 0, "describe", str(raw_model))
    assert row["licence"]["decision"] == "undecided"
    assert LOCAL_ONLY in warned
    assert said(capsys, 0, "acquire", str(raw_model))[0]["licence"] == row["licence"]
    pack = ["pack", str(raw_model), "--quant", "f32", "--out", str(tmp_path / "m.slm")]
    packed, warned = said(capsys, 0, *pack)
    assert packed["licence"] == LOCAL_ONLY
    assert LOCAL_ONLY in warned
    given = decision_file(tmp_path, row["licence"])
    packed, warned = said(capsys, 0, *pack, *given)
    assert packed["licence"] == "MIT: accepted"
    assert LOCAL_ONLY not in warned


def test_a_result_names_its_snapshot_and_licence(
    raw_model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = {"schema": "trlm.process.cases.v1", "cases": [{"case_id": "a", "token_ids": [1, 2]}]}
    (tmp_path / "cases.json").write_text(json.dumps(rows))
    words = ["exec", "--backend", "reference", "--model", str(raw_model)]
    words += ["--cases", str(tmp_path / "cases.json"), "--out", str(tmp_path / "out")]
    assert said(capsys, 0, *words)[0]["licence"] == LOCAL_ONLY
    acquired_here, _ = said(capsys, 0, "acquire", str(raw_model))
    report = json.loads((tmp_path / "out" / "report.json").read_bytes())
    assert report["inputs"]["snapshot"] == acquired_here["snapshot_id"]
    assert SafetensorsTrace(tmp_path / "out").subject["snapshot"] == acquired_here["snapshot_id"]
    # Another snapshot of the same files is another subject.
    report["inputs"]["snapshot"] = "0" * 64
    (tmp_path / "out" / "report.json").write_text(json.dumps(report))
    refused, _ = said(capsys, 2, *words)
    assert refused["error"]["code"] == "DIRECTORY_DIFFERS"
    assert "snapshot" in refused["error"]["detail"]


def test_no_golden_container_without_a_decision(
    trace: Path, raw_model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["golden", "export", str(trace), "--model", str(raw_model)]
    words += ["--out", str(tmp_path / "golden")]
    refused, _ = said(capsys, 3, *words)
    assert refused["error"]["code"] == "LICENCE_UNDECIDED"
    assert "--licence-decision" in refused["error"]["fix"]
    assert "dir:model" in refused["error"]["fix"]
    assert not (tmp_path / "golden").exists()
    row = said(capsys, 0, "describe", str(raw_model))[0]["licence"]
    refused, _ = said(capsys, 3, *words, *decision_file(tmp_path, row))
    assert refused["error"]["code"] == "GOLDEN_EXPORT"  # the trace is of another snapshot


def sealed(folder: Path, decision: Any) -> tuple[ReceiptStore, str]:
    """A store whose root is the configuration of a directory with this decision."""
    store = ReceiptStore(folder)
    files = {"snapshot_id": "ab" * 32, "files": 1}
    tree, blob = store.add("source_tree", files, [grow(store, "file")]), store.put_value({})
    said = store.add("provenance", {"statement_blob": blob}, [tree])
    facts = {"text_sha256": None, "decision_blob": store.put_value(decision)}
    licence = store.add("licence", facts, [tree])
    acquisition = store.add("acquisition", acquired(store), [tree, said, licence])
    blob = store.put_value({"verdict": "accept"})
    conflict = store.add("conflict", {"findings": 0, "receipt_blob": blob}, [tree])
    framework = {"framework": "transformers", "values_blob": blob}
    defaults = store.add("source_defaults", framework, [tree])
    facts = {"config_id": "ab" * 32, "config_blob": blob}
    config = store.add("effective_config", facts, [acquisition, conflict, defaults])
    (folder / RECEIPT_FILE).write_text(receipt_text(config))
    return store, config


@pytest.mark.parametrize("decision", [UNDECIDED, {"decision": "local use only"}, None])
def test_nothing_undecided_is_attested(tmp_path: Path, decision: Any) -> None:
    sealed(tmp_path, decision)
    with pytest.raises(LicenceUndecidedError, match="dir:a"):
        attest(tmp_path)
    assert not (tmp_path / ATTESTATIONS).exists()
    sealed(tmp_path, ACCEPTED)
    assert len(attest(tmp_path)) == 1


@pytest.mark.parametrize("licences", [0, 1, 2])
def test_a_forged_acquisition_is_not_attested(tmp_path: Path, licences: int) -> None:
    store = ReceiptStore(tmp_path)
    children = [grow(store, "source_tree"), grow(store, "provenance")]
    children += [put_loose(store, "licence", {"text_sha256": str(n)}) for n in range(licences)]
    root = put_loose(store, "acquisition", acquired(store), children)
    (tmp_path / RECEIPT_FILE).write_text(receipt_text(root))
    with pytest.raises(NoReceiptError, match="not of its form"):
        attest(tmp_path)
    assert not (tmp_path / ATTESTATIONS).exists()


@pytest.mark.parametrize(("decision", "decided"), [(UNDECIDED, False), (ACCEPTED, True)])
def test_nothing_undecided_is_promoted(tmp_path: Path, decision: Any, decided: bool) -> None:
    store, config = sealed(tmp_path, decision)
    scan = grow(store, "secret_scan", findings_blob=store.put_value([]))
    graph = EvidenceGraph(store)
    rows = claims_of(graph, [config, scan], RunPlan())
    published = [r for r in rows if r.level == "C14 promotion"]
    assert published[0].outcome is Outcome.MATCH
    assert [(r.engine, r.outcome, r.evidence) for r in published[1:]] == (
        [] if decided else [("source", Outcome.NOT_SUPPORTED, config)]
    )
    assert holds(graph, rows, [])
