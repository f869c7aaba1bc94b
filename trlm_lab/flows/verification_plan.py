"""The evidence of a promotion against the plan: all that was asked for, and nothing besides."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from trlm_lab.base.records import EngineIdentity
from trlm_lab.flows.engines import EXACT_PROFILES
from trlm_lab.flows.plan import RunPlan
from trlm_lab.flows.verification_dossier import Dossier
from trlm_lab.flows.verification_faults import check_fault
from trlm_lab.flows.verification_reviewed import check_reviewed
from trlm_lab.flows.verification_traces import check_suite


def speaks_for(asked: str, identity: EngineIdentity) -> bool:
    """Whether an engine's identity may be that of the name in the plan; processes name themselves,
    and names with options have the identity of their engine."""
    kind, _, option = asked.partition(":")
    if kind == "process":
        return identity.name.startswith("process:")
    return identity.name == (kind if option else asked)


class Planned:
    """What the plan asked for, against what the promotion rests on."""

    def __init__(self, dossier: Dossier, node_id: str, plan: RunPlan) -> None:
        self.dossier, self.node_id, self.plan = dossier, node_id, plan
        self.graph = dossier.graph
        children = self.graph.children(node_id, "comparison")
        self.bounded = [c for c in children if "comparison_blob" in self.graph.node(c).metadata]
        self.exact = [c for c in children if c not in self.bounded]
        self.failed = self._failed()
        self.oracles = [self.graph.child(n, "oracle_run") for n in self.bounded]
        self.judged = self.graph.suite(self.oracles[0]) if self.oracles else ()

    def _failed(self) -> dict[tuple[str, str], str]:
        """Observations of engines that ended in an error, by (engine, artifact)."""
        nodes = self.graph.children(self.node_id, "observation")
        return {
            (self.graph.value(n, "failure_blob")["engine"], self.graph.label(n)): n for n in nodes
        }

    def check(self) -> None:
        """Everything that was planned is there, and nothing else."""
        self._source()
        check_reviewed(self.dossier, self.node_id, self.plan)
        self._count([self.graph.label(i) for i in self._of("inspection")], self.plan.artifacts)
        self._engines()
        for node_id in self.exact:
            self._exact(node_id)
        for node_id in self.bounded:
            self._bounded(node_id)
        self._oracles()
        self._faults()

    def _of(self, node_type: str) -> list[str]:
        return self.graph.children(self.node_id, node_type)

    def _watched(self) -> list[str]:
        """The oracle runs behind probes of hooks."""
        probes = self._of("probe")
        return [run for probe in probes for run in self.graph.children(probe, "oracle_run")]

    def _fail(self, code: str, detail: str) -> None:
        self.dossier.fail(code, self.node_id, detail)

    def _source(self) -> None:
        for node_type in ("source_tree", "effective_config"):
            self._count([node_type] * len(self._of(node_type)), [node_type])
        self._count(["probe"] * len(self._watched()), ["probe"])
        config = self.graph.child(self.node_id, "effective_config")
        acquisition = self.graph.child(config, "acquisition")
        if self.graph.child(acquisition, "source_tree") != self.graph.child(
            self.node_id, "source_tree"
        ):
            self._fail("EVIDENCE_FOREIGN", "configuration and claims have two source trees")
        pin = self.graph.node(acquisition).metadata["pin"]
        planned = self.plan.shown().source
        # A Hub's branch is planned, and the commit that it meant acquired.
        if not planned.startswith("hf:") and pin != planned:
            self._fail("EVIDENCE_FOREIGN", f"acquired {pin!r}, planned {planned!r}")

    def _count(self, found: Sequence[Any], wanted: Sequence[Any]) -> None:
        """Each wanted thing once, and nothing besides."""
        missing, extra = Counter(wanted) - Counter(found), Counter(found) - Counter(wanted)
        for name in missing:
            self._fail("EVIDENCE_LEFT_OUT", f"the plan asks for {name}, and nothing shows it")
        for name in extra:
            self._fail("EVIDENCE_FOREIGN", f"{name} was not planned, or is there twice")

    def _engines(self) -> None:
        """Every planned engine on every artifact was judged, or is known to have failed."""
        exact, bounded = [], []
        for label in self.plan.artifacts:
            for group in self.plan.exact_groups.values():
                done = [e for e in group if (e, label) not in self.failed]
                exact += [(label, *done)] if len(done) > 1 else []
            bounded += [(e, label) for e in self.plan.stored if (e, label) not in self.failed]
        facts = [self.graph.node(n).metadata for n in self.exact]
        self._count([(f["artifact"], *f["engines"]) for f in facts], exact)
        self._count([self._asked(n) for n in self.bounded], bounded)
        asked = {
            (e, a) for e in (*self.plan.exact, *self.plan.bounded) for a in self.plan.artifacts
        }
        for engine, label in self.failed.keys() - asked:
            self._fail("EVIDENCE_FOREIGN", f"{engine} on {label} failed and was never planned")

    def _asked(self, node_id: str) -> tuple[str, str]:
        return (
            self.graph.value(node_id, "engine_blob"),
            self.graph.node(node_id).metadata["artifact"],
        )

    def _is(self, node_id: str, run: str, engine: str, label: str) -> None:
        """A trace is of the engine and artifact that the comparison names, on the judged suite."""
        identity = self.graph.trace(run).engine
        if not speaks_for(engine, identity):
            detail = f"the trace is of {identity.name}, the comparison names {engine}"
            self.dossier.fail("ENGINE", node_id, detail)
        if self.graph.label(run) != label:
            detail = f"the trace is of the artifact {self.graph.label(run)}, not {label}"
            self.dossier.fail("ENGINE", node_id, detail)
        if self.graph.suite(run) != self.judged:
            self.dossier.fail("SUITE", node_id, f"{engine} was given other cases than the oracle")

    def _exact(self, node_id: str) -> None:
        facts = self.graph.node(node_id)
        for engine, run in zip(facts.metadata["engines"], facts.children, strict=True):
            self._is(node_id, run, engine, facts.metadata["artifact"])
            profile, wanted = self.graph.trace(run).engine.profile, EXACT_PROFILES.get(engine)
            if profile != wanted:
                detail = f"{engine} ran the profile {profile}, the claim is about {wanted}"
                self.dossier.fail("ENGINE", node_id, detail)

    def _bounded(self, node_id: str) -> None:
        engine, label = self._asked(node_id)
        oracle = self.graph.child(node_id, "oracle_run")
        policy = self.graph.child(node_id, "tolerance_policy")
        self._is(node_id, self.graph.candidate(node_id), engine, label)
        self._is(node_id, oracle, "torch", label)
        if self.graph.label(self.graph.child(policy, "oracle_run")) != label:
            detail = f"the policy was calibrated on another artifact than {label}"
            self.dossier.fail("COMPARISON_POLICY", node_id, detail)
        calibrated = {c.digest for c in self.graph.suite(self.graph.child(policy, "oracle_run"))}
        if calibrated & {c.digest for c in self.graph.suite(oracle)}:
            self.dossier.fail("COMPARISON_POLICY", node_id, "a judged case was calibrated on")

    def _oracles(self) -> None:
        """Policies rest on the planned calibration suite; the probe on an oracle judged here."""
        policies = [self.graph.child(n, "tolerance_policy") for n in self.bounded]
        for policy in dict.fromkeys(policies):
            run = self.graph.child(policy, "oracle_run")
            check_suite(self.dossier, run, self.plan.calibration, self.plan.calibration_digest)
        for run in dict.fromkeys(self.oracles):
            check_suite(self.dossier, run, self.plan.judged, self.plan.judged_digest)
        for run in self._watched():
            if self.oracles and run not in self.oracles:
                self._fail("EVIDENCE_FOREIGN", "the probe is of an oracle that judged nothing")

    def _faults(self) -> None:
        runs = self._of("fault_run")
        planned = [self.plan.fault] if self.plan.fault else []
        self._count([self.graph.node(r).metadata["fault"] for r in runs], planned)
        config = self.graph.child(self.node_id, "effective_config")
        for run in runs:
            check_fault(self.dossier, run, config, self.plan.artifacts[0])
