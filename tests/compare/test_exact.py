"""Digests of engines side by side."""

import numpy as np
import pytest

from trlm_lab.base import canon
from trlm_lab.base.records import (
    ArrayDigest,
    CaseTrace,
    EngineIdentity,
    Observation,
    Outcome,
    TraceRecord,
)
from trlm_lab.compare import exact_equality
from trlm_lab.errors import NothingToCompareError

NAMES = (
    "token_ids",
    "embedding",
    "layers.2.q_rope",
    "layers.10.input",
    "logits",
    "logits.topk_ids",
)


def record(*cases: str, **changes: float) -> TraceRecord:
    """A run whose array `name` is all ones, or holds the value given (`layers_2_q_rope=2`)."""
    traces = []
    for case in cases:
        digests = []
        for name in NAMES:
            value = changes.get(name.replace(".", "_"), 1)
            if value is not None:
                kind = np.int64 if name.endswith("ids") else np.float32
                digests.append(ArrayDigest.of(Observation(name, np.full(3, value, kind))))
        traces.append(CaseTrace(case, "0" * 64, tuple(digests)))
    return TraceRecord(EngineIdentity("e", "1", "scalar-f32-v1", "0" * 64), {}, tuple(traces))


def test_equal_engines_match_in_every_array():
    table = exact_equality({"a": record("x", "y"), "b": record("x", "y"), "c": record("x", "y")})
    assert table.outcome is Outcome.MATCH
    assert len(table.rows) == 12
    assert table.partings() == []
    assert [row["equal"] for row in table.counts()] == [12, 12, 12]


def test_the_first_parting_is_first_on_the_ladder_with_both_hashes():
    other = record("x", layers_10_input=2, layers_2_q_rope=3, logits=4)
    table = exact_equality({"a": record("x"), "b": record("x"), "c": other})
    assert table.outcome is Outcome.WRONG
    (parting,) = table.partings()
    assert (parting.name, parting.engines) == ("layers.2.q_rope", ("a", "c"))
    assert parting.hashes == (
        record("x").case("x")["layers.2.q_rope"].sha256,
        other.case("x")["layers.2.q_rope"].sha256,
    )
    assert [row["equal"] for row in table.counts()] == [6, 6, 3]
    assert canon.encode(table.to_map())


def test_shape_is_part_of_the_claim():
    ours, theirs = record("x"), record("x")
    digests = list(theirs.cases[0].arrays)
    digests[1] = ArrayDigest(digests[1].name, "float32", (1, 3), digests[1].sha256)
    theirs = TraceRecord(theirs.engine, {}, (CaseTrace("x", "0" * 64, tuple(digests)),))
    assert exact_equality({"a": ours, "b": theirs}).outcome is Outcome.WRONG


@pytest.mark.parametrize("lacking", [{"layers_2_q_rope": None}, None])
def test_a_missing_array_or_case_is_no_match(lacking):
    theirs = record("x", "y", **lacking) if lacking else record("x")
    table = exact_equality({"a": record("x", "y"), "b": theirs})
    assert table.outcome is Outcome.NOT_SUPPORTED
    assert table.partings()[0].hashes[1] == "missing"


def test_inputs_come_before_the_ladder_and_top_k_after_it():
    table = exact_equality({"a": record("x"), "b": record("x")})
    assert [row.name for row in table.rows] == list(NAMES)


@pytest.mark.parametrize("engines", [{}, {"a": record("x")}, {"a": record(), "b": record()}])
def test_NOTHING_TO_COMPARE(engines):
    with pytest.raises(NothingToCompareError):
        exact_equality(engines)
