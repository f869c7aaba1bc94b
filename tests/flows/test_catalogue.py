"""The scoreboard on the small model: every fault named, no sound engine flagged."""

from collections.abc import Callable
from typing import cast

import pytest

from trlm_lab.backends.faults import CATALOGUE, refusal
from trlm_lab.base.interfaces import Runner
from trlm_lab.bisection.scoreboard import Standing
from trlm_lab.errors import CaptureError, CaseNotSupportedError, TrlmError
from trlm_lab.flows import catalogue
from trlm_lab.flows.acquisition import Described
from trlm_lab.flows.catalogue import (
    SOUND_ENGINES,
    Bench,
    Scored,
    catalogue_rows,
    judge_sound,
    run_catalogue,
)
from trlm_lab.flows.catalogue_view import planting_rows
from trlm_lab.flows.engines import runner
from trlm_lab.flows.progress import Board
from trlm_lab.traces import MemoryTrace

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("catalogue")]

#: Kinds of fault that a catalogue over the ladder must have, whatever their names.
KINDS = ("rope", "eps", "gqa", "mask", "scale", "gelu", "gate_up", "residual", "head", "codes",
         "row_shifted", "bf16", "nan", "slot", "final_norm")  # fmt: skip


@pytest.fixture(scope="module")
def scored() -> Scored:
    """The whole catalogue on both artifacts."""
    return run_catalogue("synthetic:llama-small", ["f32", "q8_r128"], [], Board(quiet=True))


def whole(scored: Scored) -> list[dict[str, object]]:
    """Rows of faults judged with every checkpoint exposed: the first of each four."""
    rows: list[dict[str, object]] = []
    for artifact in ("f32", "q8_r128"):
        planted = [
            r for r in scored.rows if r["artifact"] == artifact and r["expected"] is not None
        ]
        rows += planted[::4]
    return rows


def test_the_catalogue_covers_the_ladder() -> None:
    assert len(list(CATALOGUE)) >= 16
    names = " ".join(CATALOGUE)
    for kind in KINDS:
        assert kind in names, kind
    assert all(row["what"] for row in catalogue_rows())


def test_every_fault_of_a_llama_is_named_at_its_boundary_in_every_layer(
    scored: Scored, small_described: Described
) -> None:
    rows = whole(scored)
    assert [r for r in rows if r["standing"] != Standing.NAMED.value] == []
    for name in CATALOGUE:
        layers = {r["layer"] for r in rows if r["fault"] == name and r["artifact"] == "q8_r128"}
        absent = refusal(CATALOGUE[name], small_described.config, "q8_r128") is not None
        assert layers in (({0, 2, 3}, {None}) if not absent else (set(),)), name


def test_hidden_checkpoints_give_an_interval_that_holds_the_fault(scored: Scored) -> None:
    bad = (Standing.MISSED.value, Standing.MISNAMED.value)
    assert [r for r in scored.rows if r["standing"] in bad] == []
    assert any(r["standing"] == Standing.INTERVAL.value for r in scored.rows)


@pytest.mark.parametrize("name", SOUND_ENGINES)
def test_no_sound_engine_is_flagged(
    scored: Scored, require: Callable[[Runner], None], name: str
) -> None:
    require(runner(name))
    rows = [r for r in scored.rows if r["expected"] is None and r["fault"] == name]
    assert [r["artifact"] for r in rows] == ["f32", "q8_r128"]
    assert {r["standing"] for r in rows} == {Standing.QUIET.value}


def test_the_board_is_sound(scored: Scored) -> None:
    assert scored.sound


def test_people_get_one_line_a_planting(scored: Scored) -> None:
    lines = planting_rows(scored.rows)
    planted = [line for line in lines if line["expected"] is not None]
    assert len(planted) == len(whole(scored))
    assert len({(line["artifact"], line["planted"]) for line in lines}) == len(lines)
    assert [line["named at"] for line in planted] == [row["boundary"] for row in whole(scored)]
    hidden = [line["with thirds hidden"].split(", ") for line in planted]
    seen = [standing for three in hidden for standing in three]
    assert {len(three) for three in hidden} == {3}
    assert seen.count("interval") == scored.counts["interval"]


class Refusing:
    """A bench on which every engine ends in one error."""

    def __init__(self, error: TrlmError) -> None:
        self.error = error

    def run(self, engine: str) -> MemoryTrace:
        raise self.error


def test_an_engine_that_lacks_the_family_is_left_out_by_name(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(catalogue, "SOUND_ENGINES", ("reference",))
    lacking = Refusing(CaseNotSupportedError(where="case a", detail="knows the family llama"))
    assert list(judge_sound(cast(Bench, lacking), Board())) == []
    assert "reference left out" in capsys.readouterr().err
    broken = Refusing(CaptureError(where="case a", detail="it fell over"))
    with pytest.raises(CaptureError, match="it fell over"):
        list(judge_sound(cast(Bench, broken), Board(quiet=True)))
