"""The scoreboard: every planted fault on a model, judged against the torch oracle.

Each fault runs in the first, a middle and the last layer; its trace is judged whole, and three
times more with every third checkpoint hidden, where the interval must hold the fault. Sound
engines run too, and none may be flagged.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trlm_lab.backends.faults import CATALOGUE, Planting, expected_boundaries, plantings
from trlm_lab.base.interfaces import Subject, TraceView
from trlm_lab.base.model_parts import ladder_of
from trlm_lab.base.records import (
    CaseSuite,
    EffectiveConfig,
    Mismatch,
    Outcome,
    TolerancePolicy,
)
from trlm_lab.base.records.outcome import outcome_of_error
from trlm_lab.bisection.scoreboard import Expectation, Scoreboard, Standing, scoreboard
from trlm_lab.cases import random_cases
from trlm_lab.errors import TrlmError, UnknownNameError
from trlm_lab.flows.acquisition import admit_source
from trlm_lab.flows.conditioning import Conditioning
from trlm_lab.flows.engines import needs_model_dir, runner
from trlm_lab.flows.packing import oracle_model_dir, pack_artifact
from trlm_lab.flows.progress import Board
from trlm_lab.flows.recording import record
from trlm_lab.flows.reviewed_files import NOTHING, Reviewed
from trlm_lab.flows.reviewed_source import reviewed_workspace
from trlm_lab.flows.trial import oracle_and_policy
from trlm_lab.flows.workspace import Workspace

#: Engines that must not be flagged.
SOUND_ENGINES = (
    "reference",
    "reference:lanes16-f32-v1",
    "native-scalar",
    "torch",
    "torch:1-thread",
    "llama.cpp",
)
CASE_SEED = 7
CASE_LENGTHS = (12,)
Result = tuple[Expectation, Mismatch]


@dataclass(frozen=True)
class Scored:
    """The scoreboard of a catalogue run over all artifacts."""

    boards: dict[str, Scoreboard]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One row a trial."""
        return [{"artifact": a, **row} for a, b in self.boards.items() for row in b.rows()]

    @property
    def counts(self) -> dict[str, int]:
        """Trials by standing, over all artifacts."""
        totals: dict[str, int] = {}
        for board in self.boards.values():
            for standing, count in board.counts().items():
                totals[standing] = totals.get(standing, 0) + count
        return totals

    @property
    def sound(self) -> bool:
        """No fault missed or misnamed, and no sound engine flagged."""
        bad = (Standing.MISSED, Standing.MISNAMED, Standing.FALSE_ALARM, Standing.UNJUDGED)
        return not any(board.having(*bad) for board in self.boards.values())


@dataclass(frozen=True)
class Bench:
    """What one artifact's trials share."""

    subjects: dict[bool, Subject]
    config: EffectiveConfig
    suite: CaseSuite
    third: Conditioning
    policy: TolerancePolicy

    def judge(self, trace: TraceView, hidden: Callable[[str], bool] | None = None) -> Mismatch:
        """Judge a trace of the suite."""
        return self.third.bisect(trace, self.policy, hidden=hidden)

    def run(self, engine: str) -> TraceView:
        """The trace of an engine on the suite."""
        subject = self.subjects[needs_model_dir(engine)]
        return record(runner(engine), subject, self.suite, Board(quiet=True))


def catalogue_rows() -> list[dict[str, Any]]:
    """Every fault with its description and the boundary expected of it."""
    expected = expected_boundaries()
    return [
        {
            "fault": name,
            "boundary": expected[name].boundary,
            "verdict": expected[name].verdict.value,
            "what": CATALOGUE[name].description,
        }
        for name in CATALOGUE
    ]


def run_catalogue(
    source: str, quants: list[str], only: list[str], board: Board, reviewed: Reviewed = NOTHING
) -> Scored:
    """Run the catalogue on a source's artifacts; `only` limits it to some fault names."""
    for name in only:
        if name not in CATALOGUE:
            known = ", ".join(CATALOGUE)
            raise UnknownNameError(where="--only", kind="fault", name=name, known=known)
    boards = {}
    with tempfile.TemporaryDirectory() as scratch:
        ws = reviewed_workspace(Path(scratch), board, reviewed)
        for quant in quants:
            bench = prepare_bench(ws, source, quant)
            chosen = [p for p in plantings(bench.config, quant) if not only or p.fault.name in only]
            with board.meter(f"faults on {quant}", len(chosen), "planted") as meter:
                results: list[Result] = []
                for planting in chosen:
                    results += list(judge_planting(bench, planting))
                    meter.advance()
            if not only:
                results += list(judge_sound(bench, board))
            boards[quant] = scoreboard(results)
    return Scored(boards)


def prepare_bench(ws: Workspace, spec: str, quant: str) -> Bench:
    """Artifact, oracle on its weights, and the policy frozen from calibration cases."""
    source, described = admit_source(ws, spec)
    packed = pack_artifact(ws, source, described, quant)
    model_dir = oracle_model_dir(ws, source, packed)
    suite = random_cases(described.config.vocab_size, CASE_LENGTHS, CASE_SEED)
    oracle, policy = oracle_and_policy(ws, model_dir, packed.artifact.path, described.config, suite)
    ids = {"artifact": packed.artifact.file_sha256}
    subjects = {
        True: Subject(model_dir=model_dir, ids=ids),
        False: Subject(artifact=packed.artifact.path, ids=ids),
    }
    third = Conditioning(ws, quant, oracle, subjects[False], suite)
    return Bench(subjects, described.config, suite, third, policy)


def judge_sound(bench: Bench, board: Board) -> Iterator[Result]:
    """Every sound engine that is here and runs this model; the board is told of one that cannot."""
    for engine in SOUND_ENGINES:
        if not runner(engine).availability().available:
            continue
        try:
            trace = bench.run(engine)
        except TrlmError as error:
            if outcome_of_error(error.code) is not Outcome.NOT_SUPPORTED:
                raise
            board.say(f"  {engine} left out: {error.detail}")
            continue
        yield Expectation(engine, None), bench.judge(trace)


def judge_planting(bench: Bench, planting: Planting) -> Iterator[Result]:
    """One run of the faulty engine, judged whole and with each third of the ladder hidden."""
    trace = bench.run(f"faulty:{planting.spec}")
    expectation = Expectation(
        planting.fault.name, planting.boundary, planting.layer, planting.verdict
    )
    yield expectation, bench.judge(trace)
    ladder = ladder_of(bench.config)
    for turn in range(3):
        third = frozenset(ladder[turn::3])
        yield expectation, bench.judge(trace, hidden=third.__contains__)
