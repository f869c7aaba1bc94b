"""The real model: every engine of the exact profile, both artifacts, every checkpoint."""

from collections.abc import Callable

import pytest

from trlm_lab.base.interfaces import Runner, Subject
from trlm_lab.cases import load_suite
from trlm_lab.compare import exact_equality
from trlm_lab.flows.engines import EXACT_ENGINES, runner
from trlm_lab.flows.packing import Packed
from trlm_lab.traces import hash_only, trace_record

pytestmark = [pytest.mark.slow, pytest.mark.model, pytest.mark.xdist_group("smollm2")]

#: 30 layers of 19 checkpoints, embedding, final norm, logits; token_ids and the two of the top k.
ARRAYS = 30 * 19 + 3 + 3


@pytest.mark.parametrize("quant", ["f32", "q8_r128"])
def test_every_engine_has_the_same_bits_at_every_checkpoint(
    smollm2_artifacts: dict[str, Packed], require: Callable[[Runner], None], quant: str
) -> None:
    subject = Subject(artifact=smollm2_artifacts[quant].artifact.path, ids={})
    suite = load_suite("smoke")
    records = {}
    for name in EXACT_ENGINES:
        engine = runner(name)
        require(engine)
        with engine.open(subject) as session:
            traces = [hash_only(case, session.run(case)) for case in suite.cases]
            records[name] = trace_record(session.identity, {}, traces)
    table = exact_equality(records)
    assert table.partings() == []
    assert {row["equal"] for row in table.counts()} == {ARRAYS * len(suite.cases)}
