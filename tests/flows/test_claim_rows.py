"""Claims of engines that did not run, from their evidence alone."""

from pathlib import Path

import pytest

from trlm_lab.base.records import Outcome
from trlm_lab.errors import EvidenceMissingError
from trlm_lab.flows.claim_rows import claims_of, holds
from trlm_lab.flows.evidence_graph import EvidenceGraph
from trlm_lab.flows.plan import RunPlan
from trlm_lab.receipts import ReceiptStore


def failed(store: ReceiptStore, outcome: str) -> str:
    """The observation of an engine that ended in an error."""
    profile = store.add("quant_profile", {"name": "f32"}, [])
    artifact = store.add("artifact", {"size": 1}, [profile])
    said = {"engine": "llama.cpp", "code": outcome, "text": f"{outcome} at llama.cpp: gone"}
    facts = {"outcome": outcome, "failure_blob": store.put_value(said)}
    return store.add("observation", facts, [artifact])


@pytest.mark.parametrize(("outcome", "holding"), [("INFRA", False), ("NOT_SUPPORTED", True)])
def test_an_engine_that_failed_makes_a_claim(tmp_path: Path, outcome: str, holding: bool) -> None:
    store = ReceiptStore(tmp_path)
    graph, node = EvidenceGraph(store), failed(store, outcome)
    (claim,) = claims_of(graph, [node], RunPlan())
    assert (claim.engine, claim.artifact, claim.outcome) == ("llama.cpp", "f32", Outcome(outcome))
    assert claim.evidence == node
    assert holds(graph, [claim], [node]) is holding


def test_an_engine_that_was_not_found_is_not_silent(tmp_path: Path) -> None:
    store = ReceiptStore(tmp_path)
    blob = store.put_value({"verdict": "accept"})
    conflict = store.add("conflict", {"receipt_blob": blob}, [])
    defaults = store.add("source_defaults", {"framework": "transformers"}, [])
    config = store.add("effective_config", {}, [conflict, defaults])
    plan = RunPlan(absent=("llama.cpp: not installed; make peers",))
    rows = claims_of(EvidenceGraph(store), [config], plan)
    assert [(r.engine, r.outcome, r.detail) for r in rows] == [
        ("source", Outcome.MATCH, "transformers"),
        ("llama.cpp", Outcome.NOT_SUPPORTED, "not installed; make peers"),
    ]


def test_evidence_missing(tmp_path: Path) -> None:
    store = ReceiptStore(tmp_path)
    node = store.add("inspection", {}, [])
    with pytest.raises(EvidenceMissingError):
        EvidenceGraph(store).child(node, "artifact")
