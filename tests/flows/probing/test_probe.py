"""Probes name what an engine does, and an engine that does otherwise than its profile says."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.receipts.nodes import grow
from trlm_lab.backends.reference import ReferenceRunner
from trlm_lab.base.interfaces import Subject
from trlm_lab.base.records import Availability, Case, CaseSuite, EngineIdentity, Observation
from trlm_lab.errors import ContextLengthError, ProbeAnswerError, ProbeDeviationError
from trlm_lab.flows.cli.app import app
from trlm_lab.flows.engines import ENGINES
from trlm_lab.flows.execution import Task, run_task
from trlm_lab.flows.probing import deviations, experiments, probe_engine, probed, sentence, shown
from trlm_lab.flows.probing.halves import NOT_SERVED, described, rounding_to_f16
from trlm_lab.flows.probing.model import write_probe_model
from trlm_lab.flows.probing.orders import candidates
from trlm_lab.flows.probing.reading import read_logits
from trlm_lab.flows.probing.record import CASES, WORDS
from trlm_lab.flows.progress import Board
from trlm_lab.flows.workspace import Workspace
from trlm_lab.traces import TraceStore

Change = Callable[[Any], Any]


class Planted:
    """The reference, its logits changed as an engine with another arithmetic would have them."""

    name = "planted"

    def __init__(self, change: Change | None = None, error: Exception | None = None) -> None:
        self.change, self.error, self.opened = change, error, 0

    def availability(self) -> Availability:
        return Availability(True, "1")

    def open(self, subject: Subject) -> "Planted":
        if self.error is not None:
            raise self.error
        self.opened += 1
        self.session = ReferenceRunner().open(subject)
        return self

    @property
    def identity(self) -> EngineIdentity:
        return replace(self.session.identity, name=self.name)

    def run(self, case: Case) -> Iterator[Observation]:
        for seen in self.session.run(case):
            if self.change is None:
                yield seen
            elif seen.name == "logits" and (values := self.change(seen.values)) is not None:
                yield Observation("logits", values)

    def __enter__(self) -> "Planted":
        return self

    def __exit__(self, *exc: object) -> None: ...


def flushing(logits: Any) -> Any:
    return np.where(np.abs(logits) < np.finfo(np.float32).tiny, np.float32(0), logits)


def changed(row: str, value: float) -> Change:
    """One experiment answered in another way."""

    def change(logits: Any) -> Any:
        found = logits.copy()
        found[:, experiments.ROWS.index(row)] = value
        return found

    return change


def computed(order: str, fused: bool) -> Any:
    """The logits of an engine with this order of sums."""
    with np.errstate(all="ignore"):
        return next(
            sums
            for name, is_fused, sums in candidates(experiments.operand(), experiments.weights())
            if (name, is_fused) == (order, fused)
        )


def test_the_reference_keeps_to_its_profile() -> None:
    record = probe_engine(ReferenceRunner())
    assert deviations(record) == []
    assert record["one_token"] == record["several_tokens"]
    assert record["one_token"]["order"] == "ascending"
    assert record["to_f16"] == "to nearest, ties to even, subnormals kept"


def test_lanes_are_seen() -> None:
    record = probe_engine(ReferenceRunner("lanes16-f32-v1"))
    assert deviations(record) == []
    assert record["one_token"]["order"] == "16 lanes, merged by halves"
    assert deviations({**record, "profile": "scalar-f32-v1"})


def test_an_engine_that_flushes_subnormals_is_named() -> None:
    record = probe_engine(Planted(flushing))
    assert record["one_token"]["subnormal_results"] == "flushed"
    assert record["one_token"]["subnormal_operands"] == "kept"
    assert deviations(record) == [
        f"planted, {case}: subnormal results flushed, scalar-f32-v1 demands kept"
        for case in ("one token", "several tokens")
    ]


@pytest.mark.parametrize(
    ("row", "value", "fact", "found"),
    [
        ("subnormal_operand", 0.0, "subnormal_operands", "flushed"),
        ("subnormal_weight", 0.0, "subnormal_weights", "flushed"),
        ("subnormal_weight", 1.0, "subnormal_weights", "unclear"),
        ("negative_zeros", -0.0, "sum_of_negative_zeros", "-0"),
        ("last_bit", 1.0, "operands", "10 bits of fraction"),
        ("invalid", float("-nan"), "nan", "ffc00000"),
        ("invalid", np.inf, "nan", "none"),
        ("overflow", np.finfo(np.float32).max, "overflow", "3.4028235e+38"),
    ],
)
def test_another_answer_is_another_fact(row: str, value: float, fact: str, found: str) -> None:
    record = probe_engine(Planted(changed(row, value)))
    assert record["one_token"][fact] == found
    assert any(WORDS[fact] in line for line in deviations(record))


def test_narrow_operands_are_seen() -> None:
    rows = experiments.weights().astype(np.float64)
    x = experiments.operand().astype(ml_dtypes.bfloat16).astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        assert read_logits((rows @ x).astype(np.float32))["operands"] == "fewer than 9 bits"


def test_every_order_gives_bits_of_its_own() -> None:
    rows = experiments.weights()[len(experiments.ROWS) :]
    found: dict[bytes, str] = {}
    for name, _, sums in candidates(experiments.operand(), rows):
        # Two and four lanes can be merged in fewer ways than there are names for it.
        same = found.setdefault(sums.tobytes(), name)
        assert same == name or name[:7] in ("2 lanes", "4 lanes")


@pytest.mark.parametrize(
    ("order", "fused", "contraction"),
    [
        ("ascending", True, "fused"),
        ("8 lanes, merged by halves", True, "fused"),
        ("pairwise", False, "separate"),
        ("descending", False, "separate"),
        ("32 lanes, merged by neighbours", False, "separate"),
        ("wider than float32, rounded once", False, "exact products"),
    ],
)
def test_order_and_contraction_are_read_off(order: str, fused: bool, contraction: str) -> None:
    facts = read_logits(computed(order, fused))
    assert (facts["order"], facts["contraction"]) == (order, contraction)
    assert facts["reassociated"] == ("no" if order == "ascending" else "yes")


def test_an_order_without_a_name_is_unclear() -> None:
    logits = computed("ascending", False)
    logits[-1] = np.nextafter(logits[-1], np.float32(np.inf))
    assert read_logits(logits)["order"] == "unclear"


def _toward_zero(x: Any) -> Any:
    return (x.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)


@pytest.mark.parametrize(
    ("convert", "words"),
    [
        (lambda x: x.astype(np.float16), "to nearest, ties to even, subnormals kept"),
        (_toward_zero, "toward zero, subnormals kept"),
        (
            lambda x: np.where(x < 2.0**-14, 0, x.astype(np.float16)),
            "to nearest, ties to even, subnormals flushed",
        ),
        (lambda x: x, "unclear, subnormals kept"),
    ],
)
def test_the_rule_of_a_conversion_is_named(convert: Change, words: str) -> None:
    assert described(convert, subnormals=True) == words


def test_an_engine_without_operators_is_not_asked() -> None:
    assert rounding_to_f16("llama.cpp") == NOT_SERVED


def test_an_engine_without_logits_is_refused() -> None:
    with pytest.raises(ProbeAnswerError, match="planted"):
        probe_engine(Planted(lambda _: None))


def test_a_refusal_stands_beside_the_trace_too() -> None:
    engine = Planted(error=ContextLengthError(where="case", tokens=8, limit=4))
    identity = EngineIdentity("planted", "refusing", "", "0" * 64)
    probe = probed(engine, identity).details["probe"]
    assert probe["refused"] == ContextLengthError.code
    assert ContextLengthError.code in sentence(probe)
    assert len(shown(probe)) == 1


def test_the_command_of_somebody_else_is_started_for_the_cases_alone() -> None:
    engine = Planted()
    engine.name = "process:theirs"
    probe = probed(engine, EngineIdentity("process:theirs", "1", "", "0" * 64)).details["probe"]
    assert (probe["refused"], engine.opened) == ("NOT_ASKED", 0)
    assert "not probed: NOT_ASKED" in sentence(probe)


def test_an_engine_is_asked_once() -> None:
    engine, identity = Planted(flushing), EngineIdentity("planted", "once", "", "0" * 64)
    first, again = probed(engine, identity), probed(engine, identity)
    assert engine.opened == 1
    assert first == again
    assert "subnormals partly flushed" in sentence(first.details["probe"])


def test_the_record_stands_beside_a_stored_trace(tmp_path: Path) -> None:
    model = write_probe_model(tmp_path)
    ws = Workspace(tmp_path / "run", Board(quiet=True))
    suite = CaseSuite("one", (Case("one", (1, 2)),))
    task = Task("planted", "f32", Planted(flushing), model.subject, suite, keep=True,
                parents=(grow(ws.store, "artifact"),))  # fmt: skip
    ran = run_task(ws, replace(task, runner=ReferenceRunner()))
    probe = TraceStore(ws.traces / f"{task.name}.zarr").record().engine.details["probe"]
    assert set(probe) == {"schema", *CASES, "to_f16"}
    assert ws.store.get(ran.node).metadata["engine"]["details"]["probe"] == probe
    kinds = {ws.store.get(c).type for c in ws.store.get(ran.node).children}
    assert {"runtime_build", "engine_profile"} <= kinds


def test_the_command_shows_and_judges(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert app(["probe", "reference", "--json"], standalone_mode=False) == 0
    assert '"schema": "trlm.probe.v1"' in capsys.readouterr().out
    monkeypatch.setitem(ENGINES._items, "planted", lambda: Planted(flushing))
    with pytest.raises(ProbeDeviationError, match="subnormal results flushed"):
        app(["probe", "planted"], standalone_mode=False)
    assert "flushed" in capsys.readouterr().out
