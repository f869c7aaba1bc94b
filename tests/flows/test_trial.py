"""Runtimes on trial: errors of some cases hide no fault of others."""

import sys
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from numpy.typing import NDArray

from trlm_lab.base.records import Case, CaseSuite, Outcome
from trlm_lab.bisection.probe import Probe
from trlm_lab.flows.acquisition import Source
from trlm_lab.flows.progress import Board
from trlm_lab.flows.trial import bisect_model
from trlm_lab.metrics import Judgement
from trlm_lab.traces import TraceStore

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = f"process:{sys.executable} {ROOT / 'examples/third_party_runtime/run.py'}"
PLAIN = Case("plain", (1, 5, 9, 2, 7, 4))
MASKED = Case("masked", (1, 5, 9, 2), attention_mask=(1, 1, 1, 0))

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("trial")]


@pytest.mark.parametrize(
    ("bug", "cases", "verdict", "boundary"),
    [
        ("", (PLAIN,), None, None),
        ("--bug rope", (PLAIN,), Outcome.WRONG, "layers.0.q_rope"),
        ("--bug rope", (PLAIN, MASKED), Outcome.WRONG, "layers.0.q_rope"),
        ("", (PLAIN, MASKED), Outcome.NOT_SUPPORTED, None),
        ("", (MASKED,), Outcome.NOT_SUPPORTED, None),
    ],
)
def test_the_example_runtime(
    small_source: Source,
    tmp_path: Path,
    bug: str,
    cases: tuple[Case, ...],
    verdict: Outcome | None,
    boundary: str | None,
) -> None:
    trial = bisect_model(
        f"{EXAMPLE} {bug}".strip(),
        str(small_source.root),
        CaseSuite("trial", cases),
        tmp_path,
        Board(quiet=True),
    )
    sound = (Outcome.MATCH, Outcome.DRIFT)
    assert trial.mismatch.verdict in (sound if verdict is None else (verdict,))
    assert trial.mismatch.boundary == boundary


def test_a_program_that_does_not_start_is_infrastructure(
    small_source: Source, tmp_path: Path
) -> None:
    trial = bisect_model(
        f"process:{sys.executable} -c 'raise SystemExit(3)'",
        str(small_source.root),
        CaseSuite("trial", (PLAIN,)),
        tmp_path,
        Board(quiet=True),
    )
    assert trial.mismatch.verdict is Outcome.INFRA


#: One array of scores of this case has 6 x 192 x 192 float32, 0.88 MB; a trace of it has 31 MB.
LONG = Case("long", tuple((29 * i * i + 7 * i + 3) % 512 for i in range(192)))


def test_what_is_on_trial_is_not_held_in_memory(
    small_source: Source, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is held between two judgements: less than one layer of the case, in all traces."""
    held: list[int] = []
    judge = Probe.judge

    def watched(probe: Probe, name: str) -> Judgement:
        # What was allocated and is still there, before the arrays of this checkpoint are read.
        held.append(tracemalloc.get_traced_memory()[0])
        return judge(probe, name)

    monkeypatch.setattr(Probe, "judge", watched)
    tracemalloc.start()
    try:
        trial = bisect_model(
            "native-scalar",
            str(small_source.root),
            CaseSuite("trial", (LONG,)),
            tmp_path,
            Board(quiet=True),
        )
    finally:
        tracemalloc.stop()
    assert trial.mismatch.verdict in (Outcome.MATCH, Outcome.DRIFT)
    layer = sum(a.nbytes for a in _layer(tmp_path / "trial" / "oracle"))
    assert layer > 3 * 6 * 192 * 192 * 4
    assert len(held) > 70
    assert max(held) - min(held) < layer
    assert min(held) < layer


def _layer(trace: Path) -> list[NDArray[Any]]:
    store = TraceStore(trace)
    names = [name for name in store.names("long") if name.startswith("layers.1.")]
    return [store.read("long", name) for name in names]
