"""One whole run on the small model, shared by the tests of flows."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from trlm_lab.flows.conformance import Conformance, conform
from trlm_lab.flows.plan import RunPlan
from trlm_lab.flows.planning import run_plan
from trlm_lab.flows.progress import Board


@dataclass(frozen=True)
class SmallRun:
    """A finished run: its plan, its directory and its outcome."""

    plan: RunPlan
    out: Path
    done: Conformance


@pytest.fixture(scope="session")
def small_run(tmp_path_factory: pytest.TempPathFactory) -> SmallRun:
    """Every engine found here, both artifacts, all notebooks."""
    out = tmp_path_factory.mktemp("small-run")
    plan = run_plan("synthetic:llama-small", "all", "", "", "f32,q8_r128", "rope_pairing@2")
    return SmallRun(plan, out, conform(plan, out, Board(quiet=True)))
