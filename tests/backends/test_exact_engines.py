"""exp off by one unit in the last place: the equality table shows which engine is off, and where.

Every engine has a sound and a nudged form, so every pair of engines is compared both ways.
"""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.skips import lacking
from trlm_lab.backends import build_native, build_wasm
from trlm_lab.backends.native import NativeRunner
from trlm_lab.backends.reference import ReferenceRunner
from trlm_lab.backends.wasm_wasmtime import WasmtimeRunner
from trlm_lab.base.interfaces import Runner, Subject
from trlm_lab.base.records import Case, Outcome
from trlm_lab.compare import exact_equality, first_element
from trlm_lab.ops import elementary
from trlm_lab.traces import MemoryTrace

# Both wrong builds are made once, by one worker.
pytestmark = pytest.mark.xdist_group("wrong-exp")

CASES = (Case("a", (3, 9, 27, 14, 42)), Case("b", (7, 7)))
WRONG = "exp_ulp_off"
#: The wrong builds are for these tests alone and wait for no optimizer; the last option counts.
QUICK = ("-C", "opt-level=0", "-C", "lto=off", "-C", "codegen-units=16")
ENGINES = ("reference", "native-scalar", "wasm-scalar@wasmtime")


def one_up(y: np.ndarray) -> np.ndarray:
    """Finite, nonzero results one unit in the last place up, as the wrong build has them."""
    inside = (y > 0) & (y < np.finfo(np.float32).max)
    return np.where(inside, np.nextafter(y, np.float32(np.inf)), y)


def traced(runner: Runner, artifact: Path) -> MemoryTrace:
    with runner.open(Subject(artifact=artifact)) as session:
        trace = MemoryTrace(session.identity, {})
        for case in CASES:
            trace.write_case(case, session.run(case))
    return trace


@pytest.fixture(scope="session")
def sound(
    tiny_file: Callable[..., Path], require: Callable[[Runner], None]
) -> dict[str, MemoryTrace]:
    runners = (ReferenceRunner(), NativeRunner(), WasmtimeRunner())
    for runner in runners:
        require(runner)
    return {runner.name: traced(runner, tiny_file()) for runner in runners}


@pytest.fixture(scope="session")
def nudged(
    tiny_file: Callable[..., Path],
    tmp_path_factory: pytest.TempPathFactory,
    sound: dict[str, MemoryTrace],
) -> dict[str, MemoryTrace]:
    """The engines with the wrong exp; without the module's compiler, all but WebAssembly."""
    with pytest.MonkeyPatch.context() as patch:
        exp = elementary.exp
        patch.setattr(elementary, "exp", lambda x: one_up(exp(x)))
        found = {"reference": traced(ReferenceRunner(), tiny_file())}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRLM_HOME", str(tmp_path_factory.mktemp("home")))
        patch.setattr(build_native, "COMMON_FLAGS", (*build_native.COMMON_FLAGS, *QUICK))
        patch.setattr(build_wasm, "FLAGS", (*build_wasm.FLAGS, *QUICK))
        found["native-scalar"] = traced(NativeRunner(features=(WRONG,)), tiny_file())
        if build_wasm.why_not_comparable() is None:
            module = wrong_module(tmp_path_factory.mktemp("wasm") / "wrong.wasm")
            found["wasm-scalar@wasmtime"] = traced(WasmtimeRunner(module=module), tiny_file())
    return found


def wrong_module(path: Path) -> Path:
    """The WebAssembly module built with the wrong exp, and its record beside it."""
    data, record = build_wasm.build((WRONG,))
    path.write_bytes(data)
    path.with_suffix(".json").write_text(json.dumps(record.to_map()))
    return path


def needed(nudged: dict[str, MemoryTrace], name: str) -> MemoryTrace:
    if name not in nudged:
        lacking("wasm-rebuild", str(build_wasm.why_not_comparable()))
    return nudged[name]


def table_of(**traces: MemoryTrace):
    return exact_equality({name: trace.record() for name, trace in traces.items()})


def test_sound_engines_are_equal(sound: dict[str, MemoryTrace]) -> None:
    table = table_of(**sound)
    assert table.outcome is Outcome.MATCH
    assert table.partings() == []


def test_nudged_engines_are_equal_among_themselves(nudged: dict[str, MemoryTrace]) -> None:
    """The three hold the same wrong exp: one algorithm, one deviation, the same bits."""
    assert table_of(**nudged).outcome is Outcome.MATCH


@pytest.mark.parametrize("off", ENGINES)
def test_the_engine_that_is_off_is_named(
    off: str, sound: dict[str, MemoryTrace], nudged: dict[str, MemoryTrace]
) -> None:
    others = [name for name in ENGINES if name != off]
    traces = {**{name: sound[name] for name in others}, off: needed(nudged, off)}
    table = table_of(**traces)
    assert table.outcome is Outcome.WRONG
    equal = {row["engine"]: row["equal"] for row in table.counts()}
    assert equal[others[0]] == equal[others[1]] == len(table.rows)
    assert 0 < equal[off] < len(table.rows)
    assert {parting.engines for parting in table.partings()} == {(others[0], off)}
    assert table.first_parting(off) == "a layers.0.attn_probs"
    assert table.first_parting(others[1]) == ""


@pytest.mark.parametrize("first", ENGINES)
@pytest.mark.parametrize("other", ENGINES)
def test_every_pair_parts_at_the_first_checkpoint_that_uses_exp(
    first: str, other: str, sound: dict[str, MemoryTrace], nudged: dict[str, MemoryTrace]
) -> None:
    wrong = needed(nudged, other)
    table = table_of(sound=sound[first], nudged=wrong)
    assert [(p.case_id, p.name) for p in table.partings()] == [
        ("a", "layers.0.attn_probs"),
        ("b", "layers.0.attn_probs"),
    ]
    parting = table.partings()[0]
    found = first_element(parting, sound[first], wrong)
    ours = sound[first].read("a", parting.name)
    theirs = wrong.read("a", parting.name)
    assert found is not None
    # Row 0 sees one key, and x / x is 1 for a nudged x too.
    assert found.index[1] >= 1
    assert found.index == tuple(np.argwhere(ours != theirs)[0])
    assert found.bits[0] == f"{ours.view(np.uint32)[found.index]:08x}"
    assert found.bits[1] == f"{theirs.view(np.uint32)[found.index]:08x}"
    assert 0 < found.count < found.size


def test_no_element_where_an_array_is_missing(sound: dict[str, MemoryTrace]) -> None:
    trace = sound["reference"]
    empty = MemoryTrace(trace.identity, {})
    (parting, *_) = table_of(first=trace, other=empty).partings()
    assert first_element(parting, trace, empty) is None
