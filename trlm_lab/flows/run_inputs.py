"""What a run is about, before any engine: source, configuration, artifacts, cases, subjects."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

from trlm_lab.base.interfaces import Subject
from trlm_lab.base.records import CaseSuite
from trlm_lab.cases import check_text_cases, require_fit
from trlm_lab.flows.acquisition import (
    Described,
    Source,
    acquire_source,
    describe_source,
    weights_sha256,
)
from trlm_lab.flows.engines import needs_model_dir
from trlm_lab.flows.packing import Packed, oracle_model_dir, pack_artifact
from trlm_lab.flows.plan import RunPlan
from trlm_lab.flows.reviewed_source import Settled, kept_reviewed
from trlm_lab.flows.run_suites import remember_suite, run_suite
from trlm_lab.flows.template_nodes import template_node
from trlm_lab.flows.tokenizer_profiles import tokenizer_node
from trlm_lab.flows.workspace import Workspace


class RunInputs:
    """The inputs of one run in one directory; each is made once, when something rests on it."""

    def __init__(self, plan: RunPlan, ws: Workspace, reviewed: Settled | None = None) -> None:
        """Where `reviewed` is not given, the run's own copies of the files are read.

        Raises:
            NoRunError: one that the plan names is not there any more, or has changed.
        """
        self.plan = plan
        self.ws = ws
        self.reviewed = kept_reviewed(plan, ws.out) if reviewed is None else reviewed
        ws.resolutions, ws.rules = self.reviewed.resolutions, self.reviewed.rules

    @cached_property
    def source(self) -> Source:
        """The acquired snapshot."""
        return acquire_source(self.ws, self.plan.source)

    @cached_property
    def described(self) -> Described:
        """Defaults and effective configuration."""
        return describe_source(self.ws, self.source)

    @cached_property
    def packed(self) -> dict[str, Packed]:
        """Artifacts by quantization profile."""
        return {
            quant: pack_artifact(self.ws, self.source, self.described, quant)
            for quant in self.plan.artifacts
        }

    @cached_property
    def judged_suite(self) -> CaseSuite:
        """The cases that engines are judged on; ids of text cases are checked against the texts."""
        return self._suite(self.plan.judged, self.plan.judged_digest)

    @cached_property
    def calibration_suite(self) -> CaseSuite:
        """The cases that set the limits; disjoint from the judged ones."""
        return self._suite(self.plan.calibration, self.plan.calibration_digest)

    def _suite(self, name: str, digest: str) -> CaseSuite:
        suite = run_suite(self.ws, name, digest)
        require_fit(suite, self.described.config)
        tokenizer = self.source.root / "tokenizer.json"
        if tokenizer.exists():
            check_text_cases(suite, tokenizer)
        return suite

    def keep_suites(self) -> None:
        """Remember what the suites hold, for whoever reopens this run."""
        for suite in (self.judged_suite, self.calibration_suite):
            remember_suite(self.ws, suite)

    @cached_property
    def tokenizer_node(self) -> str:
        """The node of the source's tokenizer; empty where it has none."""
        file = self.source.snapshot.file("tokenizer.json")
        if file is None:
            return ""
        tree = self.source.nodes["source_tree"]
        return tokenizer_node(self.ws.store, self.source.root, file.sha256, tree)

    @cached_property
    def template_node(self) -> str:
        """The node of the source's chat template; empty where it has none."""
        tree = self.source.nodes["source_tree"]
        return template_node(self.ws.store, self.source.root, self.described.receipt, tree)

    @cached_property
    def model_dirs(self) -> dict[str, Path]:
        """The directory whose weights the oracle runs, by artifact."""
        return {
            label: oracle_model_dir(self.ws, self.source, packed)
            for label, packed in self.packed.items()
        }

    def subject(self, engine: str, label: str) -> Subject:
        """What an engine opens for an artifact, with the content ids that bind its trace."""
        packed = self.packed[label]
        ids = {
            "config": self.described.config.config_id,
            "snapshot": self.source.snapshot.snapshot_id,
        }
        if needs_model_dir(engine):
            model_dir = self.model_dirs[label]
            ids["weights"] = self.weights[label]
            return Subject(artifact=None, model_dir=model_dir, ids=ids)
        ids["artifact"] = packed.artifact.file_sha256
        return Subject(artifact=packed.artifact.path, model_dir=None, ids=ids)

    @cached_property
    def weights(self) -> dict[str, str]:
        """SHA-256 of the weights that the oracle runs, by artifact."""
        return {label: weights_sha256(path) for label, path in self.model_dirs.items()}

    @cached_property
    def environment(self) -> dict[str, Any]:
        """The oracle's environment, as its receipts bind it."""
        known = self.ws.recall("environment", {}) if self.ws.trusted else None
        if known is None:
            from trlm_lab.oracle import environment_record

            record = environment_record(threads=self.plan.threads)
            known = self.ws.remember("environment", {}, record)
        return dict(known)
