"""The planted fault: what was expected of it, and what the judge answered."""

from __future__ import annotations

from trlm_lab.backends.faulty import FaultyRunner
from trlm_lab.base.records import FAULTS, Mismatch
from trlm_lab.flows.verification_dossier import Dossier


def check_fault(dossier: Dossier, run: str, config: str, label: str) -> None:
    """The expected boundary is the catalogue's, the named one that of the judge's answer."""
    graph = dossier.graph
    facts = graph.node(run).metadata
    expected = FaultyRunner(facts["fault"]).planting(graph.config(config)).boundary
    if facts["expected"] != expected:
        detail = f"expects {facts['expected']}, the catalogue {expected}"
        dossier.fail("FAULT_RUN", run, detail)
    answer = Mismatch.from_map(graph.value(graph.child(run, "mismatch"), "answer_blob"))
    if facts["named"] != answer.boundary:
        detail = f"names {facts['named']}, the judge's answer {answer.boundary}"
        dossier.fail("FAULT_RUN", run, detail)
    if graph.label(graph.child(run, "oracle_run")) != label:
        dossier.fail("FAULT_RUN", run, "it was judged on another artifact")
    if answer.boundary is not None:
        _check_answer(dossier, run, answer)


def _check_answer(dossier: Dossier, run: str, answer: Mismatch) -> None:
    """A named boundary is a fault in a judged case, under the policy's limit."""
    graph = dossier.graph
    policy = graph.policy(graph.child(run, "tolerance_policy"))
    entry = policy.entry(answer.checkpoint or "")
    if answer.verdict not in FAULTS:
        dossier.fail("FAULT_RUN", run, "a boundary is named without a fault")
    if entry is not None and answer.limit not in (None, entry.limit):
        dossier.fail("FAULT_RUN", run, "the answer's limit is not the policy's")
    if answer.case_id not in {c.case_id for c in graph.suite(graph.child(run, "oracle_run"))}:
        dossier.fail("FAULT_RUN", run, "the answer is about no case of the oracle run")
