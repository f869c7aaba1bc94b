"""Secrets in evidence stop a promotion; in a page they leave a run unsealed."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.flows.conftest import SmallRun
from trlm_lab.base.records import Outcome
from trlm_lab.errors import SecretExceptionsError, SecretFoundError
from trlm_lab.flows.claim_rows import claims_of, holds
from trlm_lab.flows.evidence_graph import EvidenceGraph
from trlm_lab.flows.reviewed_files import Reviewed
from trlm_lab.flows.reviewed_source import read_reviewed
from trlm_lab.flows.run import Run
from trlm_lab.flows.secret_exceptions import load_secret_exceptions
from trlm_lab.flows.secrets import scan_evidence, scan_pages

pytestmark = pytest.mark.xdist_group("flows")

MAIL = "ada.lovelace@" + "analytical-engine.org"


@pytest.fixture
def run(small_run: SmallRun, tmp_path: Path) -> Run:
    """The finished run without its traces, open for more."""
    copy = tmp_path / "run"
    shutil.copytree(small_run.out, copy, ignore=shutil.ignore_patterns("traces"))
    return Run.open(copy)


def promotion(run: Run) -> str:
    (found,) = [i for i in run.ws.store if run.ws.store.get(i).type == "promotion"]
    return found


def test_a_clean_run_has_nothing(run: Run) -> None:
    node = run.ws.store.get(scan_pages(run, promotion(run)))
    assert node.metadata["findings"] == 0
    assert node.metadata["scope"] == "pages"


def test_a_secret_in_the_evidence_stops_the_promotion(run: Run) -> None:
    store = run.ws.store
    case = store.add("case", {"case_id": "x", "token_ids": [1], "text": f"mail {MAIL}"}, [])
    scan = scan_evidence(run, [case])
    assert store.get(scan).metadata["findings"] == 1
    graph = EvidenceGraph(store)
    rows = claims_of(graph, [scan], run.plan)
    assert [(r.level, r.outcome) for r in rows[:1]] == [("C14 promotion", Outcome.WRONG)]
    assert "E-mail Address in case" in rows[0].detail
    assert MAIL not in rows[0].detail
    assert not holds(graph, rows, [scan])


@pytest.mark.parametrize("page", ["report.html", "plan.json", "notebooks/05_judge.ipynb"])
def test_secret_found(run: Run, page: str) -> None:
    path = run.ws.out / page
    if page.endswith("html"):
        path.write_text(path.read_text() + f"<p>{MAIL}</p>")
    else:
        path.write_text(json.dumps(json.loads(path.read_text()) | {"more": MAIL}))
    with pytest.raises(SecretFoundError) as caught:
        scan_pages(run, promotion(run))
    assert page in caught.value.where
    assert MAIL not in str(caught.value)
    assert caught.value.exit_status == 1


def exceptions(**changes: Any) -> dict[str, Any]:
    row = {
        "rule": "E-mail Address",
        "where": "report.html*",
        "reason": "the author's own, on every page of the publisher",
        "reviewer": "Ada",
    }
    return {"schema": "trlm.secret_exceptions.v1", "exceptions": [row | changes]}


def test_a_reviewed_exception_lets_one_finding_pass(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "exceptions.json"
    file.write_text(json.dumps(exceptions()))
    run.reviewed = read_reviewed(Reviewed(secret_exceptions=file))
    run.plan = run.reviewed.named_in(run.plan)
    page = run.ws.out / "report.html"
    page.write_text(page.read_text() + f"<p>{MAIL}</p>")
    assert run.ws.store.get(scan_pages(run, promotion(run))).metadata["exceptions"]
    page.write_text(page.read_text() + "<p>/home/" + "ada/model</p>")
    with pytest.raises(SecretFoundError, match="Home Directory"):
        scan_pages(run, promotion(run))


@pytest.mark.parametrize(
    "row",
    [
        exceptions(rule="no such rule"),
        exceptions(reason=""),
        exceptions(where=3),
        exceptions(extra=1),
        {"schema": "v2", "exceptions": []},
        {"schema": "trlm.secret_exceptions.v1", "exceptions": {}},
        {**exceptions(), "exceptions": exceptions()["exceptions"] * 2},
        {},
        [],
    ],
)
def test_secret_exceptions(tmp_path: Path, row: Any) -> None:
    file = tmp_path / "exceptions.json"
    file.write_text(json.dumps(row))
    with pytest.raises(SecretExceptionsError):
        load_secret_exceptions(file)
