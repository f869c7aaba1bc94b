"""Forgeries whose every hash, id and list agrees, and what still gives them away."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.flows.conftest import SmallRun
from tests.flows.forging import (
    Edit,
    Forger,
    copy_of,
    with_children,
    with_comparison,
    with_facts,
    with_policy,
    write_anew,
)
from trlm_lab.base import canon
from trlm_lab.base.records import Node, TolerancePolicy
from trlm_lab.calibrate import freeze
from trlm_lab.flows import verification
from trlm_lab.flows.verification import check_dossier, verify_directory
from trlm_lab.flows.verification_dossier import Dossier
from trlm_lab.receipts import ReceiptStore, VerifyReport, silent
from trlm_lab.receipts.verify import RECEIPT_FILE, receipt_text
from trlm_lab.traces import TraceStore

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("flows")]


def _unread(dossier: Dossier) -> None:
    """The stored traces without hashing their arrays once more: no forger here touches them."""
    for path in sorted((dossier.directory / "traces").glob("*.zarr")):
        store = TraceStore(path)
        dossier.traces[store.trace_id] = store


@pytest.fixture
def forger(small_run: SmallRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Forger:
    """A forger over a copy of the sound run."""
    monkeypatch.setattr(verification, "check_stored_traces", _unread)
    return Forger(copy_of(small_run.out, tmp_path / "run"))


def errors(directory: Path, *, recompute: bool = False) -> set[str]:
    """Codes of the errors; every finding tells its place and fix."""
    report = verify_directory(directory, recompute=recompute)
    found = [f for f in report.findings if f.level == "error"]
    assert all(f.code and f.where and f.detail and f.fix for f in found), found
    return {f.code for f in found}


def row_of(record: dict[str, Any], checkpoint: str, case: int = 0) -> dict[str, Any]:
    """One row of a comparison's map."""
    rows = record["cases"][case]["checkpoints"]
    return next(row for row in rows if row["checkpoint"] == checkpoint)


def changed(checkpoint: str, **facts: Any) -> Edit:
    """A comparison with other facts in one row of its first case."""
    return with_comparison(lambda record: row_of(record, checkpoint).update(facts))


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
    root = store.add("acquisition", {"pin": "dir:a"}, [tree, said, licence])
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


def test_holds_is_derived(forger: Forger) -> None:
    """A fault that was not named, in a promotion that says it holds."""
    run = forger.nodes("fault_run")[0]
    forger.forge({run: with_facts(named="layers.1.q_rope")}, facts={"holds": True})
    assert errors(forger.directory) == {"PROMOTION", "FAULT_RUN"}


def test_an_expected_boundary_moved_to_where_the_judge_looked(forger: Forger) -> None:
    moved = with_facts(expected="layers.1.q_rope", named="layers.1.q_rope")
    forger.forge({forger.nodes("fault_run")[0]: moved})
    assert errors(forger.directory) == {"FAULT_RUN"}


# --- the rows of a comparison ----------------------------------------------------------------


def test_a_fault_called_an_unstable_oracle(forger: Forger) -> None:
    forger.forge({forger.bounded(): changed("layers.1.output", outcome="UNSTABLE_ORACLE")})
    assert "COMPARISON_EXCUSE" in errors(forger.directory)


def test_an_invented_third_run_is_judged_again(forger: Forger) -> None:
    """Noise that would cover the error excuses nothing that is within its limit."""

    def edit(store: ReceiptStore, node: Node) -> Node:
        noise: dict[str, dict[str, float]] = {}

        def change(record: dict[str, Any]) -> None:
            row = row_of(record, "layers.1.output")
            row["metrics"]["max_abs"] = row["limit"] * 2
            row["outcome"] = "UNSTABLE_ORACLE"
            noise[record["cases"][0]["case_id"]] = {"layers.1.output": row["limit"]}

        made = with_comparison(change)(store, node)
        return replace(made, metadata={**made.metadata, "noise_blob": store.put_value(noise)})

    forger.forge({forger.bounded(): edit})
    assert errors(forger.directory) == {"COMPARISON_RECOMPUTED"}


def test_a_fault_called_not_supported(forger: Forger) -> None:
    forger.forge({forger.bounded(): changed("layers.1.output", outcome="NOT_SUPPORTED")})
    assert "COMPARISON_EXCUSE" in errors(forger.directory)


def test_a_fault_called_a_tie(forger: Forger) -> None:
    tie = changed("logits", outcome="TIE", index=[0, 1])
    forger.forge({forger.bounded(): tie})
    assert "COMPARISON_EXCUSE" in errors(forger.directory)


def test_a_row_without_figures(forger: Forger) -> None:
    forger.forge({forger.bounded(): changed("layers.1.output", metrics=None)})
    assert errors(forger.directory) == {"COMPARISON_ROW"}


def test_bits_called_equal(forger: Forger) -> None:
    def change(record: dict[str, Any]) -> None:
        row = row_of(record, "layers.1.output")
        zeros = {"max_abs": 0.0, "max_rel": 0.0, "rms": 0.0, "max_ulp": 0}
        row["metrics"].update(zeros, quantiles=[0.0] * 4, bit_equal=True)
        row["outcome"] = "MATCH"

    forger.forge({forger.bounded(): with_comparison(change)})
    assert errors(forger.directory) == {"COMPARISON_ROW"}


def test_a_row_left_out(forger: Forger) -> None:
    def change(record: dict[str, Any]) -> None:
        rows = record["cases"][0]["checkpoints"]
        rows.remove(row_of(record, "layers.1.output"))

    forger.forge({forger.bounded(): with_comparison(change)})
    assert errors(forger.directory) == {"COMPARISON_COVERAGE"}


def test_a_case_left_out_of_the_comparison(forger: Forger) -> None:
    forger.forge({forger.bounded(): with_comparison(lambda record: record["cases"].pop())})
    assert errors(forger.directory) == {"COMPARISON_COVERAGE"}


def test_a_whole_case_called_not_supported(forger: Forger) -> None:
    def change(record: dict[str, Any]) -> None:
        row = dict(row_of(record, "embedding"), checkpoint="prompt_ids", outcome="NOT_SUPPORTED")
        row.update(metrics=None, limit=None, floor=None, logits=None)
        record["cases"][0]["checkpoints"] = [row]

    forger.forge({forger.bounded(): with_comparison(change)})
    assert "COMPARISON_COVERAGE" in errors(forger.directory)


def test_a_smaller_error_is_seen_when_it_is_recomputed(forger: Forger) -> None:
    """Figures that agree with one another pass by default; the arrays do not agree with them."""

    def change(record: dict[str, Any]) -> None:
        row = row_of(record, "layers.1.output")
        row["metrics"]["max_ulp"] += 1

    forger.forge({forger.bounded(): with_comparison(change)})
    assert errors(forger.directory) == set()
    assert errors(forger.directory, recompute=True) == {"COMPARISON_RECOMPUTED"}


def test_counts_of_equal_arrays(forger: Forger) -> None:
    equal = dict(forger.store.get(forger.exact()).metadata["equal"], reference=0)
    forger.forge({forger.exact(): with_facts(equal=equal)})
    assert errors(forger.directory) == {"EXACTNESS"}


# --- policies --------------------------------------------------------------------------------


def loosened(forger: Forger, change: Callable[[TolerancePolicy], TolerancePolicy]) -> None:
    """Another policy in the graph, on disk and in every row judged under it."""
    old = forger.bounded()
    children = forger.store.get(old).children
    node_id = next(c for c in children if forger.store.get(c).type == "tolerance_policy")
    held = forger.store.get(node_id).metadata["policy_blob"]
    policy = change(TolerancePolicy.from_map(forger.store.get_value(held)))

    def rejudge(record: dict[str, Any]) -> None:
        record["policy_id"] = policy.policy_id
        for row in (r for case in record["cases"] for r in case["checkpoints"]):
            entry = policy.entry(row["checkpoint"])
            row["limit"], row["floor"] = entry.limit, entry.floor

    for path in (forger.directory / "policies").glob("f32.*"):
        path.unlink()
    freeze(policy, forger.directory / "policies" / "f32.cbor")
    forger.forge({node_id: with_policy(lambda _: policy), old: with_comparison(rejudge)})


def test_a_factor_above_the_declared_one(forger: Forger) -> None:
    def change(policy: TolerancePolicy) -> TolerancePolicy:
        entries = tuple(replace(e, limit=e.limit * 2) for e in policy.entries)
        return replace(policy, factor=8.0, entries=entries)

    loosened(forger, change)
    # The planted fault's answer rests on the old limit, and says so too.
    assert errors(forger.directory) == {"POLICY_FACTOR", "FAULT_RUN"}


def test_a_limit_above_its_noise(forger: Forger) -> None:
    def change(policy: TolerancePolicy) -> TolerancePolicy:
        last = policy.entries[-1]
        return replace(policy, entries=(*policy.entries[:-1], replace(last, limit=1e9)))

    loosened(forger, change)
    assert errors(forger.directory) == {"POLICY_LIMIT"}


def test_another_calibration(forger: Forger) -> None:
    loosened(forger, lambda policy: replace(policy, calibration_suite="11" * 32))
    assert errors(forger.directory) == {"POLICY_GROUNDS"}


def test_a_policy_file_that_no_receipt_rests_on(forger: Forger) -> None:
    node = forger.store.get(forger.nodes("tolerance_policy")[0])
    policy = TolerancePolicy.from_map(forger.store.get_value(node.metadata["policy_blob"]))
    freeze(replace(policy, version=9), forger.directory / "policies" / "other.cbor")
    forger.forge({})
    assert errors(forger.directory) == {"POLICY_UNSPOKEN"}


# --- ids beside their records ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("node_type", "key"),
    [
        ("ledger", "ledger_id"),
        ("effective_config", "config_id"),
        ("source_tree", "snapshot_id"),
        ("licence", "text_sha256"),
        ("inspection", "file_sha256"),
        ("conflict", "findings"),
    ],
)
def test_an_id_beside_its_record(forger: Forger, node_type: str, key: str) -> None:
    other = 11 if key == "findings" else "11" * 32
    forger.forge({forger.nodes(node_type)[0]: with_facts(**{key: other})})
    assert "RECORD_ID" in errors(forger.directory)


def test_an_artifact_that_nothing_inspected(forger: Forger) -> None:
    forger.forge({forger.nodes("artifact")[0]: with_facts(file_sha256="11" * 32)})
    assert errors(forger.directory) == {"RECORD_ID", "SUBJECT"}


def test_a_probe_of_other_logits(forger: Forger) -> None:
    same = with_facts(plain="11" * 32, watched="11" * 32)
    forger.forge({forger.nodes("probe")[0]: same})
    assert errors(forger.directory) == {"RECORD_ID"}


def test_outputs_of_a_notebook(forger: Forger) -> None:
    value = {"holds": "everything"}
    blob = forger.store.put_value(value)
    forged = with_facts(outputs_blob=blob)
    forger.forge({forger.nodes("notebook")[0]: forged})
    assert errors(forger.directory) == {"SIBLING"}


def test_a_notebook_on_disk(forger: Forger) -> None:
    path = forger.directory / "notebooks" / "05_judge.ipynb"
    write_anew(path, path.read_bytes().replace(b"DRIFT", b"MATCH"))
    forger.forge({})
    assert errors(forger.directory) == {"SIBLING"}


def test_a_page_of_other_claims(forger: Forger) -> None:
    forger.forge({}, page=lambda data: data.replace(b" claims: ", b" claims hold: "))
    assert errors(forger.directory) == {"REPORT_TEXT"}


def test_a_page_beside_its_blob(forger: Forger) -> None:
    sound = forger.store.get(forger.root).metadata["report_blob"]
    write_anew(forger.directory / "report.html", b"<p>all well</p>")
    forger.seal(report_blob=sound)
    assert errors(forger.directory) == {"SIBLING"}


def test_an_artifact_file_of_another_hash(forger: Forger) -> None:
    (forger.directory / "model.slm").write_bytes(b"SLM2")
    forger.forge({})
    assert errors(forger.directory) == {"SIBLING"}


def test_a_case_with_other_ids(forger: Forger) -> None:
    case = forger.nodes("case")[0]
    ids = forger.store.get(case).metadata["token_ids"]
    forger.forge({case: with_facts(token_ids=[*ids[:-1], ids[-1] ^ 1])})
    assert "TRACE_CASES" in errors(forger.directory)


def test_a_case_left_out_everywhere(forger: Forger) -> None:
    """Without the case in any node; the suite that the plan names still has it."""
    runs = [*forger.nodes("trace"), *forger.nodes("oracle_run")]
    case = next(c for c in forger.store.get(runs[0]).children if forger.store.get(c).type == "case")
    edit = with_children(lambda children: tuple(c for c in children if c != case))
    forger.forge(dict.fromkeys(runs, edit))
    assert "SUITE" in errors(forger.directory)


def test_stored_arrays_left_out(forger: Forger) -> None:
    shutil.rmtree(next((forger.directory / "traces").glob("torch-f32-*judged.zarr")))
    forger.forge({})
    assert errors(forger.directory) == {"TRACE_LOST"}


# --- malformed records in a sound store ------------------------------------------------------


@pytest.mark.parametrize(
    ("node_type", "key"),
    [("comparison", "comparison_blob"), ("tolerance_policy", "policy_blob"),
     ("oracle_run", "trace_blob"), ("promotion", "claims_blob"), ("notebook", "outputs_blob")],
)  # fmt: skip
def test_a_record_of_another_form_is_a_finding(forger: Forger, node_type: str, key: str) -> None:
    node_id = forger.nodes(node_type, key)[0]
    for value in (None, 7, [[["x"]]], {"schema": "trlm.comparison.v1", "cases": [{}]}):
        root = forger.again().forge(
            {node_id: with_facts(**{key: forger.store.put_value(value)})}, derive=False
        )
        report = VerifyReport(root=root, hashes=forger.hashes())
        check_dossier(Dossier.open(forger.directory, report, root, silent), recompute=False)
        assert not report.sound, value


def test_a_report_that_verifies_nothing_says_so(tmp_path: Path) -> None:
    report = verify_directory(tmp_path)
    assert not report.sound
    assert "not whole" in report.proves
