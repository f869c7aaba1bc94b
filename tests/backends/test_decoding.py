"""Greedy steps behind a prefill: the cache changes nothing, and every shipped engine agrees."""

from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pytest

from tests.ladders import llama_ladder
from trlm_lab.backends.native import NativeRunner
from trlm_lab.backends.reference import ReferenceRunner
from trlm_lab.backends.wasm_wasmtime import WasmtimeRunner
from trlm_lab.base.interfaces import DecodingSession, Runner, Subject
from trlm_lab.base.names import is_checkpoint, parse_checkpoint
from trlm_lab.base.records import (
    FAULTS,
    SOUND,
    Case,
    CaseSuite,
    Observation,
    TolerancePolicy,
)
from trlm_lab.errors import ContextLengthError, PositionRangeError
from trlm_lab.flows.acquisition import Described, Source
from trlm_lab.flows.packing import Packed
from trlm_lab.flows.progress import Board
from trlm_lab.flows.trial import oracle_and_policy
from trlm_lab.flows.workspace import Workspace
from trlm_lab.metrics import judge
from trlm_lab.oracle import TorchRunner

CASE = Case("d", (5, 77, 301, 12, 9))
HOLES = Case("h", (5, 77, 301, 12), position_ids=(0, 3, 4, 9), attention_mask=(1, 0, 1, 1))
STEPS = 3
EXACT = {"reference": ReferenceRunner, "native": NativeRunner, "wasmtime": WasmtimeRunner}
ENGINES = {**EXACT, "torch": TorchRunner}
Arrays = dict[str, np.ndarray]


def arrays(stream: Iterable[Observation]) -> Arrays:
    return {seen.name: seen.values for seen in stream}


def whole(case: Case, generated: list[int]) -> Case:
    """The case with the generated tokens behind it, as one prefill."""
    last = (case.position_ids or range(len(case.token_ids)))[-1]
    places = case.position_ids or tuple(range(len(case.token_ids)))
    mask = case.attention_mask or (1,) * len(case.token_ids)
    steps = len(generated)
    return Case(
        "whole",
        (*case.token_ids, *generated),
        position_ids=(*places, *range(last + 1, last + 1 + steps)),
        attention_mask=(*mask, *(1,) * steps),
    )


def row_of(name: str, values: np.ndarray, place: int) -> np.ndarray:
    """What a decode step at `place` shows of a prefill's array: its query, the keys so far."""
    if parse_checkpoint(name).axes == ("H", "T", "S"):
        return values[:, place : place + 1, : place + 1]
    return values[place : place + 1]


@pytest.fixture(params=ENGINES)
def session(
    request: pytest.FixtureRequest,
    small_source: Source,
    small_artifacts: dict[str, Packed],
    require: Callable[[Runner], None],
) -> Iterable[DecodingSession]:
    runner = ENGINES[request.param]()
    require(runner)
    subject = Subject(small_artifacts["f32"].artifact.path, small_source.root, {})
    with runner.open(subject) as opened:
        assert isinstance(opened, DecodingSession)
        yield opened


@pytest.fixture(scope="module")
def policy(
    tmp_path_factory: pytest.TempPathFactory,
    small_source: Source,
    small_described: Described,
    small_artifacts: dict[str, Packed],
) -> TolerancePolicy:
    """Limits for the oracle, whose products of one row are summed in another order."""
    ws = Workspace(tmp_path_factory.mktemp("decoding"), Board(quiet=True))
    suite, path = CaseSuite("decoding", (CASE, HOLES)), small_artifacts["f32"].artifact.path
    return oracle_and_policy(ws, small_source.root, path, small_described.config, suite)[1]


@pytest.mark.parametrize("case", [CASE, HOLES], ids=lambda case: case.case_id)
def test_steps_with_a_cache_are_the_rows_of_one_prefill(
    session: DecodingSession, case: Case, policy: TolerancePolicy
) -> None:
    found = arrays(session.steps(case, STEPS))
    prefill = arrays(session.run(whole(case, found["generated"].tolist())))
    exact = session.identity.profile == "scalar-f32-v1"
    for step in range(STEPS):
        place = len(case.token_ids) + step
        for name in llama_ladder(4):
            want, got = row_of(name, prefill[name], place), found[f"step{step}.{name}"]
            entry = None if exact else policy.entry(name)
            judged = judge(name, want, got, entry, exact=exact)
            assert judged.outcome in SOUND, (step, name, judged)
        # The judge would see another row: the rotation knows its position.
        name = "layers.0.k_rope"
        other, got = row_of(name, prefill[name], place - 1), found[f"step{step}.{name}"]
        entry = None if exact else policy.entry(name)
        assert judge(name, other, got, entry, exact=exact).outcome in FAULTS


def test_the_stream_is_in_order_and_greedy(session: DecodingSession) -> None:
    stream = list(session.steps(CASE, STEPS))
    names = [seen.name for seen in stream]
    plain = [seen.name for seen in session.run(CASE)]
    assert names[: len(plain)] == plain
    assert names[-1] == "generated"
    inner = [n.partition(".")[2] for n in names if n.startswith("step1.")]
    assert [n for n in inner if is_checkpoint(n)] == llama_ladder(4)
    found = arrays(stream)
    logits = [found["logits"][-1], *(found[f"step{s}.logits"][0] for s in range(STEPS - 1))]
    assert found["generated"].tolist() == [int(np.argmax(row)) for row in logits]


def test_steps_end_with_the_context(session: DecodingSession) -> None:
    full = Case("full", (1,) * 254)
    assert len(arrays(session.steps(full, 2))["generated"]) == 2
    with pytest.raises(ContextLengthError):
        list(session.steps(full, 3))
    with pytest.raises(PositionRangeError):
        list(session.steps(Case("far", (1,), position_ids=(254,)), 2))


def test_no_steps_are_a_run(session: DecodingSession) -> None:
    run, none = arrays(session.run(CASE)), arrays(session.steps(CASE, 0))
    assert none.pop("generated").size == 0
    assert list(run) == list(none)
    assert all(run[name].tobytes() == none[name].tobytes() for name in run)


def test_exact_engines_agree_in_every_bit_of_every_step(
    small_artifacts: dict[str, Packed], require: Callable[[Runner], None]
) -> None:
    shown = []
    for make in EXACT.values():
        runner = make()
        require(runner)
        path: Path = small_artifacts["q8_r128"].artifact.path
        with runner.open(Subject(artifact=path)) as opened:
            assert isinstance(opened, DecodingSession)
            shown.append(arrays(opened.steps(HOLES, STEPS)))
    for other in shown[1:]:
        assert list(other) == list(shown[0])
        assert all(other[n].tobytes() == shown[0][n].tobytes() for n in other)
