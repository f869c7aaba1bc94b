"""Runtimes on trial: errors of some cases hide no fault of others."""

import sys
from pathlib import Path

import pytest

from trlm_lab.base.records import Case, CaseSuite, Outcome
from trlm_lab.flows.acquisition import Source
from trlm_lab.flows.progress import Board
from trlm_lab.flows.trial import bisect_model

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
