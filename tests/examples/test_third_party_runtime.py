"""The worked example of a runtime on trial: sound it passes, and each of its bugs is named."""

import sys
from pathlib import Path

import pytest

from trlm_lab.backends.process import ProcessRunner
from trlm_lab.backends.process_command import ProcessCommand
from trlm_lab.base.interfaces import Subject, TraceView
from trlm_lab.base.records import FAULTS, SOUND, Case, CaseSuite, Mismatch, TolerancePolicy
from trlm_lab.bisection import find_first_mismatch
from trlm_lab.errors import CaseNotSupportedError
from trlm_lab.flows.acquisition import Described, Source
from trlm_lab.flows.packing import Packed
from trlm_lab.flows.progress import Board
from trlm_lab.flows.trial import oracle_and_policy, record
from trlm_lab.flows.workspace import Workspace

SCRIPT = Path(__file__).parents[2] / "examples" / "third_party_runtime" / "run.py"
SUITE = CaseSuite("judged", (Case("one", (7,)), Case("nine", (12, 500, 77, 3, 3, 250, 401, 9, 64))))
EXPECTED = {
    "rope": "layers.0.q_rope",
    "eps": "layers.0.attn_norm",
    "gqa": "layers.0.attn_scores",
    "scale": "layers.0.attn_scores",
    "mask": "layers.0.attn_masked",
    "act": "layers.0.mlp_act",
    "swap": "layers.0.gate_proj",
    "residual": "layers.3.output",
    "norm": "final_norm",
    "head": "logits",
}


def runtime(*arguments: str, **options: tuple[str, ...]) -> ProcessRunner:
    return ProcessRunner(ProcessCommand((sys.executable, str(SCRIPT), *arguments)), **options)


@pytest.fixture(scope="module")
def judge(
    workspace: Workspace,
    small_source: Source,
    small_described: Described,
    small_artifacts: dict[str, Packed],
) -> tuple[Source, TraceView, TolerancePolicy]:
    artifact = small_artifacts["f32"].artifact.path
    oracle, policy = oracle_and_policy(
        workspace, small_source.root, artifact, small_described.config, SUITE
    )
    return small_source, oracle, policy


def verdict(judge: tuple[Source, TraceView, TolerancePolicy], runner: ProcessRunner) -> Mismatch:
    source, oracle, policy = judge
    subject = Subject(model_dir=source.root, ids={})
    candidate = record(runner, subject, SUITE, Board(quiet=True))
    return find_first_mismatch(oracle, candidate, policy)


def test_sound_it_is_not_flagged(judge: tuple[Source, TraceView, TolerancePolicy]) -> None:
    assert verdict(judge, runtime()).verdict in SOUND


@pytest.mark.parametrize("bug", EXPECTED)
def test_each_bug_is_named(judge: tuple[Source, TraceView, TolerancePolicy], bug: str) -> None:
    found = verdict(judge, runtime("--bug", bug))
    assert found.verdict in FAULTS
    assert found.boundary == EXPECTED[bug]


def test_with_logits_alone_the_answer_is_an_interval(
    judge: tuple[Source, TraceView, TolerancePolicy],
) -> None:
    found = verdict(judge, runtime("--bug", "rope", checkpoints=("logits",)))
    assert (found.after, found.boundary) == ("prompt_ids", "logits")


def test_what_it_cannot_do_it_says(small_source: Source) -> None:
    masked = Case("masked", (1, 2), attention_mask=(1, 0))
    with runtime().open(Subject(model_dir=small_source.root)) as session:
        session.prepare([masked, *SUITE.cases])
        with pytest.raises(CaseNotSupportedError):
            list(session.run(masked))
        assert "logits" in [seen.name for seen in session.run(SUITE.cases[0])]
