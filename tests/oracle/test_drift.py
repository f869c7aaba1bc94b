"""The oracle's own drift: measured by checkpoint, nothing where nothing may be, and not silent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from trlm_lab.base import canon
from trlm_lab.base.model_parts import ladder_of
from trlm_lab.base.records import Case
from trlm_lab.errors import CaptureError, OracleUnsteadyError, RecordError
from trlm_lab.oracle import effective_config, source_defaults
from trlm_lab.oracle.drift import CONDITIONS, Condition, OracleDrift, measure_drift
from trlm_lab.oracle.drift import measure as measure_module
from trlm_lab.oracle.drift.record import spread_of
from trlm_lab.oracle.drift.running import run_apart, run_here

CASES = [Case("a", tuple(range(5, 17))), Case("b", tuple(range(20, 60)))]
BY_NAME = {condition.name: condition for condition in CONDITIONS}
IN_PROCESS = [condition for condition in CONDITIONS if not condition.needs_process]


@pytest.fixture(scope="module")
def path(tiny_models: Callable[[str], Path]) -> Path:
    return tiny_models("gemma2")


@pytest.fixture(scope="module")
def drift(path: Path) -> OracleDrift:
    return measure_drift(path, CASES, IN_PROCESS)


def test_every_checkpoint_has_its_spread(drift: OracleDrift, path: Path) -> None:
    ladder = ladder_of(effective_config(source_defaults(path)))
    for standing in drift.standings:
        expected = [*ladder, "logits.topk_values"] if standing.measured else []
        assert [row.checkpoint for row in standing.spread] == expected
    assert drift.cases == tuple(case.digest for case in CASES)
    assert canon.content_id(drift.to_map()) == drift.record_id
    assert set(drift.floor()) == {*ladder, "logits.topk_values"}


def test_the_same_run_gives_the_same_bits(drift: OracleDrift) -> None:
    assert drift.repeats
    again = next(s for s in drift.standings if s.name == "again")
    moved = replace(again.spread[3], differing=1, max_ulp=1)
    wrong = replace(again, spread=(*again.spread[:3], moved, *again.spread[4:]))
    other = replace(drift, standings=(wrong,))
    assert not other.repeats
    drift.require_steady()
    with pytest.raises(OracleUnsteadyError, match="1 elements differ"):
        other.require_steady()


def test_the_record_reads_back(drift: OracleDrift) -> None:
    assert OracleDrift.from_map(drift.to_map()) == drift
    assert drift.moved()["logits"] == max(
        row.max_abs for s in drift.standings for row in s.spread if row.checkpoint == "logits"
    )
    for broken in ({}, {**drift.to_map(), "conditions": [{"name": "x"}]}):
        with pytest.raises(RecordError):
            OracleDrift.from_map(broken)


def test_a_condition_that_the_source_refuses_is_listed_with_its_reason(drift: OracleDrift) -> None:
    sdpa = next(s for s in drift.standings if s.name == "sdpa")
    assert (sdpa.measured, sdpa.worst) == (False, None)
    assert "no sdpa attention" in sdpa.reason


def test_a_batch_hides_what_it_pads(drift: OracleDrift, path: Path) -> None:
    """The longer neighbour reaches no checkpoint: the masked set and the embedding stay."""
    batched = {s.name: s for s in drift.standings}["batched"]
    rows = {row.checkpoint: row for row in batched.spread}
    assert rows["embedding"].differing == 0
    # The furthest that a float32 sum of these widths may move, and far from another token's row.
    assert max(row.relative for row in rows.values()) < 2**-10
    (alone,) = run_here(path, CASES[1:], BY_NAME["again"])
    (beside,) = run_here(path, CASES[1:], BY_NAME["batched"])
    lowest = np.finfo(np.float32).min
    for name in (name for name in alone if name.endswith("attn_masked")):
        assert np.array_equal(alone[name] == lowest, beside[name] == lowest)


def test_another_attention_moves_the_logits_only(tiny_models: Callable[[str], Path]) -> None:
    found = measure_drift(tiny_models("llama"), CASES[:1], [BY_NAME["again"], BY_NAME["sdpa"]])
    sdpa = found.standings[1]
    assert [row.checkpoint for row in sdpa.spread] == ["logits"]
    assert 0 < sdpa.spread[0].relative < 2**-10


def test_instructions_beyond_the_machine_are_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "AVX2")
    unavailable = measure_module._unavailable
    assert unavailable(BY_NAME["capability-avx512"]) == "this machine's kernels end at avx2"
    assert unavailable(BY_NAME["capability-avx2"]) == unavailable(BY_NAME["again"]) == ""
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "SVE256")
    assert unavailable(BY_NAME["capability-avx2"]) == "this machine's kernels are sve256"


@pytest.mark.slow
def test_a_capability_is_one_of_a_process_of_its_own(path: Path, tmp_path: Path) -> None:
    """Without vectors sums come in another order; asked for the impossible, the process says so."""
    default = BY_NAME["capability-default"]
    (moved,) = run_apart(path, CASES[:1], default, tmp_path)
    (before,) = run_here(path, CASES[:1], BY_NAME["again"])
    spread = [spread_of(name, before[name], moved[name]) for name in before]
    assert 0 < max(row.relative for row in spread) < 2**-10
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(CaptureError, match="no-such was asked for"):
        list(run_apart(path, CASES[:1], Condition("x", "", capability="no-such"), tmp_path))


def test_a_spread_counts_bits_and_joins() -> None:
    a = np.array([1.0, -0.0, 2.0], dtype=np.float32)
    b = np.array([1.0, 0.0, np.nextafter(np.float32(2), np.float32(3))], dtype=np.float32)
    row = spread_of("logits", a, b)
    assert (row.elements, row.differing, row.max_ulp) == (3, 2, 1)
    assert row.max_abs == 2.0**-22
    both = row.joined(spread_of("logits", a, a))
    assert (both.elements, both.differing, both.relative) == (6, 2, row.relative)


def test_a_mask_does_not_count_as_magnitude() -> None:
    lowest = np.finfo(np.float32).min
    a = np.array([[[3.0, lowest], [3.0, 3.0]]], dtype=np.float32)
    row = spread_of("layers.0.attn_masked", a, np.where(a == 3, np.float32(3.75), a))
    assert (row.differing, row.max_abs, row.relative) == (3, 0.75, 0.25)
