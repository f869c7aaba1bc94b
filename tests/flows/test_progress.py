"""Time left is said when enough is known, and not before."""

import pytest

from trlm_lab.errors import RunInterruptedError
from trlm_lab.flows.progress import Board, Meter, duration


class Clock:
    """Seconds that pass when told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def meter_of(total: float) -> tuple[Clock, Meter]:
    clock = Clock()
    return clock, Meter(Board(quiet=True, clock=clock), "work", total, "cases")


def step(clock: Clock, meter: Meter, seconds: float, units: float) -> None:
    clock.now += seconds
    meter.advance(units)


def test_nothing_is_foretold_from_a_slow_start() -> None:
    clock, meter = meter_of(100)
    assert meter.outlook == "estimating"
    # A minute of opening the model would make two hours of the rest.
    step(clock, meter, 60, 1)
    assert meter.outlook == "estimating"
    step(clock, meter, 1, 1)
    assert meter.outlook == "estimating"
    step(clock, meter, 1, 1)
    assert meter.outlook == "1 min 37 s left"


def test_reused_work_says_nothing_of_the_rest() -> None:
    clock, meter = meter_of(100)
    for _ in range(50):
        step(clock, meter, 0, 1)
    for _ in range(24):
        step(clock, meter, 10, 1)
    assert meter.left == pytest.approx(260)


def test_a_burst_is_no_rate_until_some_seconds_have_passed() -> None:
    clock, meter = meter_of(1000)
    for _ in range(5):
        step(clock, meter, 0.01, 1)
    assert meter.left is None


def test_time_passes_between_reports() -> None:
    clock, meter = meter_of(6)
    for _ in range(3):
        step(clock, meter, 10, 1)
    assert meter.left == 30
    clock.now += 12
    assert meter.left == 18
    clock.now += 100
    assert meter.left == 0


def test_no_progress_is_no_estimate() -> None:
    clock, meter = meter_of(6)
    for _ in range(4):
        step(clock, meter, 5, 0)
    assert meter.outlook == "estimating"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.4, "0 s"), (59.4, "59 s"), (185, "3 min 05 s"), (7800, "2 h 10 min")],
)
def test_durations(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_lines_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    with Board(clock=clock) as board:
        for done in range(5):
            board.report("hash", done, 4)
            clock.now += 11
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "  hash: 1/4, estimating"
    assert said[1] == "  hash: 2/4, 22 s left"
    assert said[-1].startswith("  hash: 44.0 s")


def test_an_interrupted_run_stops_its_workers() -> None:
    board = Board(quiet=True)
    board.cancelled.set()
    with pytest.raises(RunInterruptedError), board.meter("work", 2, "cases") as meter:
        meter.advance()
