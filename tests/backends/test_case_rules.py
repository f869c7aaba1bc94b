"""One rule for cases: every engine, the oracle and the files refuse with one code and place."""

from collections.abc import Callable
from pathlib import Path

import pytest

from trlm_lab.backends.native import NativeRunner
from trlm_lab.backends.reference import ReferenceRunner
from trlm_lab.backends.wasm_wasmtime import WasmtimeRunner
from trlm_lab.base.case_rules import check_case
from trlm_lab.base.interfaces import Runner, Subject
from trlm_lab.base.records import Case, CaseSuite
from trlm_lab.cases import require_fit
from trlm_lab.errors import (
    AllKeysMaskedError,
    ContextLengthError,
    MaskValueError,
    PositionRangeError,
    Refused,
    TokenRangeError,
)
from trlm_lab.flows.acquisition import Described, Source
from trlm_lab.flows.packing import Packed
from trlm_lab.oracle import TorchRunner

BAD = [
    (Case("b", (1, 512)), TokenRangeError, "case b: token_ids[1]"),
    (Case("b", (1,) * 257), ContextLengthError, "case b"),
    (Case("b", (1, 2), position_ids=(0, 256)), PositionRangeError, "case b: position_ids[1]"),
    (Case("b", (1,), position_ids=(2**31 - 1,)), PositionRangeError, "case b: position_ids[0]"),
    (Case("b", (1,), position_ids=(-1,)), PositionRangeError, "case b: position_ids[0]"),
    (Case("b", (1, 2), attention_mask=(1, 7)), MaskValueError, "case b: attention_mask[1]"),
    (Case("b", (1, 2), attention_mask=(0, 1)), AllKeysMaskedError, "case b: attention_mask[0]"),
]
ENGINES = {
    "reference": ReferenceRunner,
    "reference-f64": lambda: ReferenceRunner("f64-reference"),
    "native": NativeRunner,
    "wasmtime": WasmtimeRunner,
    "torch": TorchRunner,
}


@pytest.mark.parametrize("name", ENGINES)
def test_every_engine_refuses_alike(
    name: str,
    small_source: Source,
    small_artifacts: dict[str, Packed],
    require: Callable[[Runner], None],
) -> None:
    runner = ENGINES[name]()
    require(runner)
    subject = Subject(small_artifacts["f32"].artifact.path, small_source.root, {})
    with runner.open(subject) as session:
        for case, error, where in BAD:
            with pytest.raises(error) as refusal:
                list(session.run(case))
            assert refusal.value.where == where
        assert list(session.run(Case("edge", (1, 511), position_ids=(0, 255))))


def test_a_suite_is_refused_as_the_engines_refuse_it(small_described: Described) -> None:
    good = Case("good", (1, 2, 3))
    require_fit(CaseSuite("s", (good,)), small_described.config)
    for case, error, where in BAD:
        with pytest.raises(error) as refusal:
            require_fit(CaseSuite("s", (good, case)), small_described.config)
        assert refusal.value.where == where
        assert isinstance(refusal.value, Refused)
        assert refusal.value.remedy


def test_positions_end_where_sines_are_pinned() -> None:
    check_case(Case("c", (1,), position_ids=(2**20 - 1,)), 2, None)
    with pytest.raises(PositionRangeError):
        check_case(Case("c", (1,), position_ids=(2**20,)), 2, 2**24)


def test_the_runtime_itself_keeps_the_rule(tmp_path: Path, small_artifacts: dict[str, Packed],
                                           require: Callable[[Runner], None]) -> None:  # fmt: skip
    """A caller of the ABI without this package's checks is refused as well (403)."""
    runner = WasmtimeRunner()
    require(runner)
    with runner.open(Subject(artifact=small_artifacts["f32"].artifact.path)) as session:
        host = session.host
        words = host.call("trlm_alloc", 8)
        for position, answer in ((255, 0), (256, 403)):
            host.bytes_at(words, 8)[:] = [1, 0, 0, 0, *position.to_bytes(4, "little")]
            host.call("trlm_case_begin", session.model, words, 1, words + 4, 0, 0)
            assert host.call("trlm_last_error_code") == answer
        host.call("trlm_free", words, 8)
