"""A comparison with a row for a wrong top k is one that `trlm verify` accepts as the judge's."""

import numpy as np
import pytest

from trlm_lab.base.records import Case, EngineIdentity, Observation, Outcome
from trlm_lab.compare import compare_traces
from trlm_lab.flows.verification_coverage import coverage_problem
from trlm_lab.traces import MemoryTrace

CASE = Case("c", (1, 2))


def traced(*, swapped: bool) -> MemoryTrace:
    logits = np.array([[0, 3, 1, 2], [4, 1, 2, 3]], np.float32)
    ids = np.argsort(-logits, axis=-1)[:, :3].astype(np.int64)
    if swapped:
        ids = ids[:, [1, 0, 2]]
    trace = MemoryTrace(EngineIdentity("e", "1", "p", "0" * 64), {})
    shown = {"token_ids": np.array(CASE.token_ids), "logits": logits, "logits.topk_ids": ids}
    trace.write_case(CASE, (Observation(name, values) for name, values in shown.items()))
    return trace


@pytest.mark.parametrize("swapped", [False, True])
def test_the_rows_are_those_of_the_traces(swapped: bool) -> None:
    ours, theirs = traced(swapped=False), traced(swapped=swapped)
    compared = compare_traces(ours, theirs, None)
    assert compared.outcome is (Outcome.WRONG if swapped else Outcome.MATCH)
    (case,) = compared.cases
    names = [row.checkpoint for row in case.checkpoints]
    assert names == ["logits", "logits.topk_ids"][: 1 + swapped]
    assert coverage_problem(case, ours.record(), theirs.record()) == ""
