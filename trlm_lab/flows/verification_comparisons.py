"""Comparisons: what they compare, under which policy, every row, and the arrays behind them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from trlm_lab.base.records import ArrayDigest, Comparison, TolerancePolicy, TraceRecord
from trlm_lab.flows.verification_arrays import check_arrays
from trlm_lab.flows.verification_coverage import coverage_problem
from trlm_lab.flows.verification_dossier import Dossier
from trlm_lab.flows.verification_golden import check_judgement, is_judgement
from trlm_lab.flows.verification_rows import RowFacts, row_problem

#: One comparison reports at most this many rows; a forged one may hold thousands.
SHOWN = 8


def check_comparison(dossier: Dossier, node_id: str, *, recompute: bool) -> None:
    """A comparison of digests, one by golden containers, or one under a frozen policy."""
    facts = dossier.graph.node(node_id).metadata
    if is_judgement(facts):
        check_judgement(dossier, node_id)
        return
    if "comparison_blob" not in facts:
        _check_exact(dossier, node_id)
        return
    bounded = Bounded(dossier, node_id)
    if bounded.joined():
        bounded.check_rows()
        check_arrays(dossier, node_id, bounded.policy, bounded.noise, everything=recompute)


def _check_exact(dossier: Dossier, node_id: str) -> None:
    table, facts = dossier.graph.exact_table(node_id), dossier.graph.node(node_id).metadata
    derived = {
        "outcome": table.outcome.value,
        "equal": {row["engine"]: row["equal"] for row in table.counts()},
        "total": len(table.rows),
        "engines": list(table.engines),
    }
    for name, value in derived.items():
        if facts[name] != value:
            dossier.fail("EXACTNESS", node_id, f"the digests give {value!r:.120}", name)
    if dossier.graph.value(node_id, "exactness_blob") != table.to_map():
        dossier.fail("EXACTNESS", node_id, "is not the table of its digests", "exactness_blob")


@dataclass
class Bounded:
    """One comparison under a policy, with the records that it rests on."""

    dossier: Dossier
    node_id: str

    @cached_property
    def comparison(self) -> Comparison:
        """The record."""
        return self.dossier.graph.comparison(self.node_id)

    @cached_property
    def policy_node(self) -> str:
        """The policy that the node rests on."""
        return self.dossier.graph.child(self.node_id, "tolerance_policy")

    @cached_property
    def policy(self) -> TolerancePolicy:
        """The limits."""
        return self.dossier.graph.policy(self.policy_node)

    @cached_property
    def reference(self) -> TraceRecord:
        """The oracle's record."""
        graph = self.dossier.graph
        return graph.trace(graph.child(self.node_id, "oracle_run"))

    @cached_property
    def candidate(self) -> TraceRecord:
        """The record on trial."""
        graph = self.dossier.graph
        return graph.trace(graph.candidate(self.node_id))

    @cached_property
    def noise(self) -> dict[str, dict[str, float]]:
        """The third run's noise by case and checkpoint; empty where there was none."""
        if "noise_blob" not in self.dossier.graph.node(self.node_id).metadata:
            return {}
        found: dict[str, dict[str, float]] = self.dossier.graph.value(self.node_id, "noise_blob")
        return found

    def joined(self) -> bool:
        """Whether the record compares the traces and uses the policy that the node rests on."""
        made, fail = self.comparison, self.dossier.fail
        before = len(self.dossier.report.findings)
        if made.policy_id != self.policy.policy_id:
            fail("COMPARISON_POLICY", self.node_id, "judged under another policy than its child")
        graph = self.dossier.graph
        runs = (graph.child(self.node_id, "oracle_run"), graph.candidate(self.node_id))
        traces = tuple(graph.node(run).metadata["trace_id"] for run in runs)
        if (made.reference_id, made.candidate_id) != traces:
            fail("COMPARISON_TRACES", self.node_id, "compares other traces than its children")
        cases = [case.case_id for case in made.cases]
        if cases != [case.case_id for case in self.reference.cases]:
            detail = "its cases are not those of the oracle run"
            fail("COMPARISON_COVERAGE", self.node_id, detail)
        return len(self.dossier.report.findings) == before

    def check_rows(self) -> None:
        """Every row against its figures, its digests and the policy; and no row left out."""
        facts = self.dossier.graph.node(self.node_id).metadata
        if self.comparison.outcome.value != facts["outcome"]:
            detail = f"the worst checkpoint is {self.comparison.outcome.value}"
            self.dossier.fail("COMPARISON_OUTCOME", self.node_id, detail)
        problems = self._row_problems()
        for code, place, detail in problems[:SHOWN]:
            self.dossier.fail(code, self.node_id, detail, place)
        if len(problems) > SHOWN:
            detail = f"{len(problems) - SHOWN} more findings of this kind"
            self.dossier.fail("COMPARISON_ROW", self.node_id, detail)

    def _row_problems(self) -> list[tuple[str, str, str]]:
        """(code, place, detail) of every row and case that breaks a rule."""
        found = []
        ours, theirs = _digests(self.reference), _digests(self.candidate)
        for case in self.comparison.cases:
            problem = coverage_problem(case, self.reference, self.candidate)
            if problem:
                found.append(("COMPARISON_COVERAGE", case.case_id, problem))
            for row in case.checkpoints:
                key = (case.case_id, row.checkpoint)
                noise = self.noise.get(case.case_id, {}).get(row.checkpoint)
                entry = self.policy.entry(row.checkpoint)
                facts = RowFacts(entry, self.policy.factor, ours.get(key), theirs.get(key), noise)
                problem = row_problem(row, facts)
                if problem:
                    excuse = row.outcome.value in ("UNSTABLE_ORACLE", "NOT_SUPPORTED", "TIE")
                    code = "COMPARISON_EXCUSE" if excuse else "COMPARISON_ROW"
                    found.append((code, " ".join(key), problem))
        return found


def _digests(record: TraceRecord) -> dict[tuple[str, str], ArrayDigest]:
    return {(case.case_id, a.name): a for case in record.cases for a in case.arrays}
