"""The third run measures the oracle and the profile alone, and excuses no planted fault."""

import pytest

from trlm_lab.backends.faults import plantings
from trlm_lab.backends.reference import NO_FAULT, ReferenceRunner
from trlm_lab.base.records import FAULTS, Outcome
from trlm_lab.bisection import find_first_mismatch
from trlm_lab.flows.catalogue import Bench, prepare_bench
from trlm_lab.flows.progress import Board
from trlm_lab.flows.workspace import Workspace
from trlm_lab.traces import MemoryTrace

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("third-run")]
LAYER = 2


@pytest.fixture(scope="module", params=["f32", "q8_r128"])
def bench(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Bench:
    room = tmp_path_factory.mktemp("third-run")
    return prepare_bench(Workspace(room, Board(quiet=True)), "synthetic:llama-small", request.param)


def cases(bench: Bench) -> set[str]:
    return {case.case_id for case in bench.suite.cases}


def test_no_faulty_engine_takes_part_in_the_measurement(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = bench.run(f"faulty:norm_weight_missing@{LAYER}")
    assert isinstance(trace, MemoryTrace)
    started: list[bool] = []
    start = ReferenceRunner.start

    def watched(runner: ReferenceRunner, model: object) -> object:
        started.append(runner.plant is NO_FAULT)
        return start(runner, model)  # type: ignore[arg-type]

    monkeypatch.setattr(ReferenceRunner, "start", watched)
    bench.third.known.clear()
    assert bench.judge(trace).verdict in FAULTS
    found = {case: dict(noise) for case, noise in bench.third.known.items()}
    assert started
    assert all(started)
    bench.third.known.clear()
    bench.third.measure(cases(bench))
    assert bench.third.known == found


def test_measured_noise_excuses_no_planted_fault(bench: Bench) -> None:
    bench.third.measure(cases(bench))
    quant = bench.third.label
    chosen = [p for p in plantings(bench.config, quant) if p.layer in (None, LAYER)]
    assert len(chosen) > 30
    for planting in chosen:
        trace = bench.run(f"faulty:{planting.spec}")
        strict, known = (
            find_first_mismatch(bench.third.oracle, trace, bench.policy, noise=noise)
            for noise in (None, bench.third.known)
        )
        assert (known.verdict, known.boundary) == (strict.verdict, strict.boundary), planting.spec


def test_noise_of_the_faulty_engine_itself_would_excuse_it(bench: Bench) -> None:
    """What the rule guards against: with the fault in the measurement nothing would be found."""
    trace = bench.run(f"faulty:row_shifted@{LAYER}")
    own = {case: dict.fromkeys(noise, 1e9) for case, noise in _known(bench).items()}
    found = find_first_mismatch(bench.third.oracle, trace, bench.policy, noise=own)
    assert found.verdict is Outcome.UNSTABLE_ORACLE


def _known(bench: Bench) -> dict[str, dict[str, float]]:
    bench.third.measure(cases(bench))
    return bench.third.known
