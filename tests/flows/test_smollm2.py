"""The real model: engines of an exact profile, their artifacts, every case and checkpoint."""

from collections.abc import Callable

import pytest

from trlm_lab.base.interfaces import Runner, Subject
from trlm_lab.base.records import TraceRecord
from trlm_lab.cases import load_suite
from trlm_lab.compare import exact_equality
from trlm_lab.flows.engines import EXACT_ENGINES, runner
from trlm_lab.flows.packing import Packed
from trlm_lab.traces import hash_only, trace_record

pytestmark = [pytest.mark.slow, pytest.mark.model, pytest.mark.xdist_group("smollm2")]

#: 30 layers of 19 checkpoints, embedding, final norm, logits; token_ids and the two of the top k.
ARRAYS = 30 * 19 + 3 + 3


@pytest.fixture(scope="session")
def reference(smollm2_artifacts: dict[str, Packed]) -> dict[str, TraceRecord]:
    """Digests of the reference on all judged cases, computed once for each artifact."""
    return {quant: digests("reference", packed) for quant, packed in smollm2_artifacts.items()}


@pytest.fixture(scope="session")
def lanes(smollm2_artifacts: dict[str, Packed]) -> TraceRecord:
    """The same of `lanes16-f32-v1`, on the quantized artifact."""
    return digests("reference:lanes16-f32-v1", smollm2_artifacts["q8_r128"])


def digests(engine: str, packed: Packed) -> TraceRecord:
    """Digests of every array of every judged case."""
    suite = load_suite("demo-judged")
    with runner(engine).open(Subject(artifact=packed.artifact.path, ids={})) as session:
        traces = [hash_only(case, session.run(case)) for case in suite.cases]
        return trace_record(session.identity, {}, traces)


@pytest.mark.parametrize("name", EXACT_ENGINES[1:])
@pytest.mark.parametrize("quant", ["f32", "q8_r128"])
def test_every_engine_has_the_bits_of_the_reference_at_every_checkpoint(
    smollm2_artifacts: dict[str, Packed],
    reference: dict[str, TraceRecord],
    require: Callable[[Runner], None],
    quant: str,
    name: str,
) -> None:
    require(runner(name))
    records = {"reference": reference[quant], name: digests(name, smollm2_artifacts[quant])}
    table = exact_equality(records)
    assert table.partings() == []
    assert [row["equal"] for row in table.counts()] == [ARRAYS * 8] * 2


@pytest.mark.parametrize("name", ["native-simd", "wasm-simd@wasmtime"])
def test_so_have_those_of_the_lanes(
    smollm2_artifacts: dict[str, Packed],
    lanes: TraceRecord,
    require: Callable[[Runner], None],
    name: str,
) -> None:
    require(runner(name))
    table = exact_equality({"reference": lanes, name: digests(name, smollm2_artifacts["q8_r128"])})
    assert table.partings() == []
    assert [row["equal"] for row in table.counts()] == [ARRAYS * 8] * 2
