"""Ids beside other records, files beside other nodes, and records of no form."""

import shutil
from pathlib import Path

import pytest

from tests.flows.forging import (
    Forger,
    errors,
    with_children,
    with_facts,
    write_anew,
)
from trlm_lab.flows.verification import check_dossier, verify_directory
from trlm_lab.flows.verification_dossier import Dossier
from trlm_lab.receipts import VerifyReport, silent

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("flows")]


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
