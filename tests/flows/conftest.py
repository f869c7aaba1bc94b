"""What the tests of flows share: a whole run on the small model, a forger of it, `trlm op`."""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.flows.forging import Forger, copy_of
from tests.flows.operator_calls import Array, Serve
from trlm_lab.flows import verification
from trlm_lab.flows.acquisition import Source
from trlm_lab.flows.conformance import Conformance, conform
from trlm_lab.flows.engines import EXACT_ENGINES
from trlm_lab.flows.operators import run_operator_file
from trlm_lab.flows.plan import RunPlan
from trlm_lab.flows.planning import run_plan
from trlm_lab.flows.progress import Board
from trlm_lab.flows.verification_dossier import Dossier
from trlm_lab.traces import TraceStore


@dataclass(frozen=True)
class SmallRun:
    """A finished run: its plan, its directory and its outcome."""

    plan: RunPlan
    out: Path
    done: Conformance


@pytest.fixture(scope="session")
def small_run(tmp_path_factory: pytest.TempPathFactory) -> SmallRun:
    """Every engine of one exact profile found here, both artifacts, all notebooks."""
    out = tmp_path_factory.mktemp("small-run")
    plan = run_plan("synthetic:llama-small", "all", "", "", "f32,q8_r128", "rope_pairing@2")
    plan = replace(plan, exact=tuple(name for name in plan.exact if name in EXACT_ENGINES))
    return SmallRun(plan, out, conform(plan, out, Board(quiet=True)))


@pytest.fixture(scope="session")
def published_files(small_source: Source) -> dict[str, bytes]:
    """What a publisher would upload of the small model, by name."""
    names = ("config.json", "generation_config.json", "model.safetensors")
    return {name: (small_source.root / name).read_bytes() for name in names} | {"LICENSE": b"text"}


@pytest.fixture
def raw_model(
    published_files: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """A directory of these files, beside a cache of the test's own."""
    monkeypatch.setenv("TRLM_HOME", str(tmp_path / "home"))
    root = tmp_path / "model"
    root.mkdir()
    for name, data in published_files.items():
        (root / name).write_bytes(data)
    return root


def _unread(dossier: Dossier) -> None:
    """The stored traces without hashing their arrays once more: no forger here touches them."""
    for path in sorted((dossier.directory / "traces").glob("*.zarr")):
        store = TraceStore(path)
        dossier.traces[store.trace_id] = store


@pytest.fixture
def forger(small_run: SmallRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Forger:
    """A forger over a copy of the sound run."""
    monkeypatch.setattr(verification, "check_stored_traces", _unread)
    return Forger(copy_of(small_run.out, tmp_path / "run"))


@pytest.fixture
def serve(tmp_path: Path) -> Serve:
    """Run an operator over files: `serve(name, profile=..., engine=..., **operands)`."""

    def call(
        name: str, profile: str = "f64-reference", engine: str = "reference", **operands: Any
    ) -> dict[str, Array]:
        given, answer = tmp_path / "in.npz", tmp_path / "out.npz"
        np.savez(given, **operands)
        run_operator_file(name, given, answer, profile, engine)
        with np.load(answer, allow_pickle=False) as out:
            return {key: out[key] for key in out.files}

    return call


@pytest.fixture
def unmatched(tmp_path: Path) -> Path:
    """A resolution that settles nothing of any source."""
    row = {
        "schema": "trlm.resolution.v1",
        "conflict_id": "ab" * 32,
        "code": "EOS_CONFLICT",
        "field": "eos_token_id",
        "kind": "normative_choice",
        "value": [2],
        "reviewer": "A. Reviewer",
        "deviation": "Nothing here is in need of it.",
    }
    path = tmp_path / "resolution.json"
    path.write_text(json.dumps(row))
    return path
