"""Claims of engines that did not run, from their evidence alone."""

from pathlib import Path

import pytest

from tests.receipts.nodes import grow, put_loose
from trlm_lab.base.records import Outcome
from trlm_lab.errors import EvidenceMissingError
from trlm_lab.flows.claim_rows import claims_of, holds
from trlm_lab.flows.evidence_graph import EvidenceGraph
from trlm_lab.flows.plan import RunPlan
from trlm_lab.receipts import ReceiptStore


def failed(store: ReceiptStore, outcome: str) -> str:
    """The observation of an engine that ended in an error."""
    artifact = grow(store, "artifact", salt=1)
    said = {"engine": "llama.cpp", "code": outcome, "text": f"{outcome} at llama.cpp: gone"}
    facts = {"outcome": outcome, "failure_blob": store.put_value(said)}
    return store.add("observation", facts, [artifact])


@pytest.mark.parametrize(("outcome", "holding"), [("INFRA", False), ("NOT_SUPPORTED", True)])
def test_an_engine_that_failed_makes_a_claim(tmp_path: Path, outcome: str, holding: bool) -> None:
    store = ReceiptStore(tmp_path)
    graph, node = EvidenceGraph(store), failed(store, outcome)
    (claim,) = claims_of(graph, [node], RunPlan())
    assert (claim.engine, claim.artifact, claim.outcome) == (
        "llama.cpp",
        "text 1",
        Outcome(outcome),
    )
    assert claim.evidence == node
    assert holds(graph, [claim], [node]) is holding


def test_an_engine_that_was_not_found_is_not_silent(tmp_path: Path) -> None:
    store = ReceiptStore(tmp_path)
    blob = store.put_value({"verdict": "accept"})
    tree = grow(store, "source_tree")
    conflict = store.add("conflict", {"findings": 0, "receipt_blob": blob}, [tree])
    facts = {"framework": "transformers", "values_blob": blob}
    defaults = store.add("source_defaults", facts, [tree])
    config = store.add(
        "effective_config",
        {"config_id": "ab" * 32, "config_blob": blob},
        [grow(store, "acquisition"), conflict, defaults],
    )
    plan = RunPlan(absent=("llama.cpp: not installed; make peers",))
    rows = claims_of(EvidenceGraph(store), [config], plan)
    assert [(r.engine, r.outcome, r.detail) for r in rows] == [
        ("source", Outcome.MATCH, "transformers"),
        ("llama.cpp", Outcome.NOT_SUPPORTED, "not installed; make peers"),
    ]


def test_evidence_missing(tmp_path: Path) -> None:
    store = ReceiptStore(tmp_path)
    node = put_loose(store, "inspection", {})
    with pytest.raises(EvidenceMissingError):
        EvidenceGraph(store).child(node, "artifact")
