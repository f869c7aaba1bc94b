"""The main job: every stage of one run, each computed once, reused where nothing changed.

Stages are properties; asking for one computes what it rests on. `trusted` skips hashing stored
arrays again: the notebooks of a run open it so, right after the run itself verified them.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

from trlm_lab.base.interfaces import TraceView
from trlm_lab.base.records import CaseSuite, Comparison, Mismatch, TolerancePolicy
from trlm_lab.flows.calibration import Calibrated, calibrate_limits
from trlm_lab.flows.conditioning import Conditioning
from trlm_lab.flows.engines import runner
from trlm_lab.flows.execution import Failed, Ran, Task, run_task, run_tasks
from trlm_lab.flows.identity import package_sha256
from trlm_lab.flows.judgement import Exactness, Judged, exactness, judge
from trlm_lab.flows.own_drift import MeasuredDrift, measured_drift
from trlm_lab.flows.plan import RunPlan
from trlm_lab.flows.planted import Planted, plant
from trlm_lab.flows.progress import Board
from trlm_lab.flows.run_inputs import RunInputs
from trlm_lab.flows.views import register as show_records
from trlm_lab.flows.workspace import Workspace


class Run(RunInputs):
    """One run in one directory: what the engines make of its inputs, and what is judged of that."""

    @classmethod
    def open(cls, out: str | Path) -> Run:
        """Reopen a run that has been made here, without hashing its arrays again.

        Raises:
            NoRunError: no run here.
        """
        directory = Path(out)
        plan = RunPlan.load(directory)
        show_records()
        return cls(plan, Workspace(directory, Board(quiet=True), trusted=True))

    # --- stages -------------------------------------------------------------------------------

    def _oracle_task(self, label: str, suite: CaseSuite) -> Task:
        from trlm_lab.oracle import TorchRunner

        environment = self.environment
        node = self.ws.store.add(
            "environment", {"environment_blob": self.ws.store.put_value(environment)}, []
        )
        parents = (self.source.nodes["source_tree"], self.described.nodes["effective_config"], node)
        return Task(
            "torch",
            label,
            TorchRunner(threads=self.plan.threads),
            self.subject("torch", label),
            suite,
            keep=True,
            parents=(*parents, self.packed[label].nodes["artifact"]),
            tokenizer=self.tokenizer_node,
            template=self.template_node,
            node_type="oracle_run",
        )

    @cached_property
    def calibration_runs(self) -> dict[str, Ran]:
        """The torch oracle on the calibration cases, by artifact."""
        return {
            label: run_task(self.ws, self._oracle_task(label, self.calibration_suite))
            for label in self.plan.artifacts
        }

    @cached_property
    def drift(self) -> dict[str, MeasuredDrift]:
        """How far the oracle moves by itself, by artifact.

        Raises:
            OracleUnsteadyError: the same run gave other bits; then nothing can be judged by it.
        """
        return {
            label: measured_drift(
                self.ws, label, oracle, self.model_dirs[label], self.calibration_suite
            )
            for label, oracle in self.calibration_runs.items()
        }

    @cached_property
    def limits(self) -> dict[str, Calibrated]:
        """The frozen policy of each artifact, made from the calibration cases alone."""
        made = {}
        for label, oracle in self.calibration_runs.items():
            made[label] = calibrate_limits(
                self.ws,
                label,
                oracle,
                self.subject("reference", label),
                self.calibration_suite,
                self.judged_suite,
                self.drift[label],
            )
        return made

    @cached_property
    def oracle(self) -> dict[str, Ran]:
        """The torch oracle on the judged cases; the limits are frozen before it runs."""
        frozen = self.limits
        return {
            label: run_task(self.ws, self._oracle_task(label, self.judged_suite))
            for label in frozen
        }

    @cached_property
    def hooks_node(self) -> str:
        """Proof that watching changes nothing: logits with and without hooks, bit for bit.

        Raises:
            CaptureUnfaithfulError: they differ; then no capture is worth anything.
        """
        case = min(self.calibration_suite.cases, key=lambda c: len(c.token_ids))
        label = self.plan.artifacts[0]
        inputs: dict[str, Any] = {"case": case.digest, "weights": self.weights[label]}
        inputs["package"] = package_sha256()
        inputs["threads"] = self.plan.threads
        row = self.ws.recall("hooks", inputs)
        if row is None:
            from trlm_lab.oracle import capture_is_faithful

            self.ws.board.say("oracle: logits with hooks against logits without")
            found = capture_is_faithful(self.model_dirs[label], case, self.plan.threads)
            found.require()
            row = self.ws.remember("hooks", inputs, vars(found))
        return self.ws.store.add("probe", {"probe": "hooks", **row}, [self.oracle[label].node])

    @cached_property
    def attempts(self) -> list[Ran | Failed]:
        """Every engine on every artifact, finished or failed."""
        _ = self.limits  # frozen before any judged case runs
        # One engine's arrays are stored and compared, those of the others of its profile are held
        # to the same digests. Slow engines start first, so that the last to end is a short one.
        tasks = [
            Task(
                engine,
                label,
                runner(engine),
                self.subject(engine, label),
                self.judged_suite,
                keep=engine in self.plan.stored,
                parents=(self.packed[label].nodes["artifact"],),
                tokenizer=self.tokenizer_node,
                template=self.template_node,
            )
            for engine in reversed(self.plan.exact + self.plan.bounded)
            for label in self.plan.artifacts
        ]
        return run_tasks(self.ws, tasks)

    @cached_property
    def engines(self) -> dict[tuple[str, str], Ran]:
        """Finished engines by (engine, label)."""
        return {a.key: a for a in self.attempts if isinstance(a, Ran)}

    @cached_property
    def failures(self) -> list[Failed]:
        """Engines that ended in an error."""
        return [a for a in self.attempts if isinstance(a, Failed)]

    @property
    def stored_engine(self) -> str:
        """The first exact engine, whose arrays are stored."""
        return self.plan.exact[0]

    @cached_property
    def exactness(self) -> dict[str, Exactness]:
        """Same bits or first parting, by artifact, and by profile where it is not that of the
        first engine; needs two finished engines of the profile."""
        made = {}
        for label in self.plan.artifacts:
            for number, (profile, group) in enumerate(self.plan.exact_groups.items()):
                done = [self.engines[e, label] for e in group if (e, label) in self.engines]
                if len(done) > 1:
                    key = f"{label}, {profile}" if number else label
                    made[key] = exactness(self.ws, label, done)
        return made

    @cached_property
    def conditioning(self) -> dict[str, Conditioning]:
        """The third run of each artifact: float32's own noise on judged cases, on demand."""
        return {
            label: Conditioning(
                self.ws,
                label,
                ran.stored_view,
                self.subject("reference", label),
                self.judged_suite,
            )
            for label, ran in self.oracle.items()
        }

    @cached_property
    def judged(self) -> dict[tuple[str, str], Judged]:
        """Every engine with stored arrays against the oracle, by (engine, label)."""
        rows = {}
        for label in self.plan.artifacts:
            for engine in self.plan.stored:
                candidate = self.engines.get((engine, label))
                if candidate is not None:
                    rows[engine, label] = judge(
                        self.ws,
                        self.oracle[label],
                        candidate,
                        self.limits[label],
                        self.conditioning[label],
                    )
        return rows

    @cached_property
    def quantization(self) -> dict[str, Comparison]:
        """What quantization itself costs: the oracle on the artifact's weights against f32."""
        from trlm_lab.compare import compare_traces

        base = self.oracle[self.plan.artifacts[0]]
        rows: dict[str, Comparison] = {}
        for label in self.plan.artifacts[1:]:
            other = self.oracle[label]
            inputs = {"ids": [base.record.trace_id, other.record.trace_id]}
            row = self.ws.recall(f"quantization-{label}", inputs) if self.ws.trusted else None
            if row is None:
                made = compare_traces(base.stored_view, other.stored_view, None).to_map()
                row = self.ws.remember(f"quantization-{label}", inputs, made)
            rows[label] = Comparison.from_map(row)
        return rows

    @cached_property
    def planted(self) -> Planted | None:
        """One fault planted in the running engine, and where the judge finds it."""
        if not self.plan.fault:
            return None
        label = self.plan.artifacts[0]
        return plant(
            self.ws,
            self.plan.fault,
            self.subject("faulty", label),
            self.oracle[label],
            self.limits[label],
            self.conditioning[label],
            self.described.config,
        )

    # --- views for notebooks --------------------------------------------------------------------

    def trace(self, engine: str, label: str) -> TraceView:
        """The stored arrays of an engine or of the oracle (`torch`)."""
        ran = self.oracle[label] if engine == "torch" else self.engines[engine, label]
        return ran.stored_view

    def policy(self, label: str) -> TolerancePolicy:
        """The frozen policy of an artifact."""
        return self.limits[label].policy

    def mismatch(self) -> Mismatch | None:
        """The answer to the planted fault."""
        return None if self.planted is None else self.planted.mismatch

    def summary(self) -> list[dict[str, Any]]:
        """The table of verdicts: claim, engine, artifact, verdict, evidence."""
        from trlm_lab.flows.promotion import claims

        return [claim.row() for claim in claims(self)]
