"""Forged rows of comparisons and forged limits, and what gives them away."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.flows.forging import (
    Forger,
    changed,
    errors,
    row_of,
    with_comparison,
    with_facts,
    with_policy,
)
from trlm_lab.base.records import Node, TolerancePolicy
from trlm_lab.calibrate import freeze
from trlm_lab.receipts import ReceiptStore

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("flows")]


# --- the rows of a comparison ----------------------------------------------------------------


def test_a_fault_called_an_unstable_oracle(forger: Forger) -> None:
    forger.forge({forger.bounded(): changed("layers.1.output", outcome="UNSTABLE_ORACLE")})
    assert "COMPARISON_EXCUSE" in errors(forger.directory)


def test_an_invented_third_run_is_judged_again(forger: Forger) -> None:
    """Noise that would cover the error excuses nothing that is within its limit."""

    def edit(store: ReceiptStore, node: Node) -> Node:
        noise: dict[str, dict[str, float]] = {}

        def change(record: dict[str, Any]) -> None:
            row = row_of(record, "layers.1.output")
            row["metrics"]["max_abs"] = row["limit"] * 2
            row["outcome"] = "UNSTABLE_ORACLE"
            noise[record["cases"][0]["case_id"]] = {"layers.1.output": row["limit"]}

        made = with_comparison(change)(store, node)
        return replace(made, metadata={**made.metadata, "noise_blob": store.put_value(noise)})

    forger.forge({forger.bounded(): edit})
    assert errors(forger.directory) == {"COMPARISON_RECOMPUTED"}


def test_a_fault_called_not_supported(forger: Forger) -> None:
    forger.forge({forger.bounded(): changed("layers.1.output", outcome="NOT_SUPPORTED")})
    assert "COMPARISON_EXCUSE" in errors(forger.directory)


def test_a_fault_called_a_tie(forger: Forger) -> None:
    tie = changed("logits", outcome="TIE", index=[0, 1])
    forger.forge({forger.bounded(): tie})
    assert "COMPARISON_EXCUSE" in errors(forger.directory)


def test_a_row_without_figures(forger: Forger) -> None:
    forger.forge({forger.bounded(): changed("layers.1.output", metrics=None)})
    assert errors(forger.directory) == {"COMPARISON_ROW"}


def test_bits_called_equal(forger: Forger) -> None:
    def change(record: dict[str, Any]) -> None:
        row = row_of(record, "layers.1.output")
        zeros = {"max_abs": 0.0, "max_rel": 0.0, "rms": 0.0, "max_ulp": 0}
        row["metrics"].update(zeros, quantiles=[0.0] * 4, bit_equal=True)
        row["outcome"] = "MATCH"

    forger.forge({forger.bounded(): with_comparison(change)})
    assert errors(forger.directory) == {"COMPARISON_ROW"}


def test_a_row_left_out(forger: Forger) -> None:
    def change(record: dict[str, Any]) -> None:
        rows = record["cases"][0]["checkpoints"]
        rows.remove(row_of(record, "layers.1.output"))

    forger.forge({forger.bounded(): with_comparison(change)})
    assert errors(forger.directory) == {"COMPARISON_COVERAGE"}


def test_a_case_left_out_of_the_comparison(forger: Forger) -> None:
    forger.forge({forger.bounded(): with_comparison(lambda record: record["cases"].pop())})
    assert errors(forger.directory) == {"COMPARISON_COVERAGE"}


def test_a_whole_case_called_not_supported(forger: Forger) -> None:
    def change(record: dict[str, Any]) -> None:
        row = dict(row_of(record, "embedding"), checkpoint="prompt_ids", outcome="NOT_SUPPORTED")
        row.update(metrics=None, limit=None, floor=None, logits=None)
        record["cases"][0]["checkpoints"] = [row]

    forger.forge({forger.bounded(): with_comparison(change)})
    assert "COMPARISON_COVERAGE" in errors(forger.directory)


def test_a_smaller_error_is_seen_when_it_is_recomputed(forger: Forger) -> None:
    """Figures that agree with one another pass by default; the arrays do not agree with them."""

    def change(record: dict[str, Any]) -> None:
        row = row_of(record, "layers.1.output")
        row["metrics"]["max_ulp"] += 1

    forger.forge({forger.bounded(): with_comparison(change)})
    assert errors(forger.directory) == set()
    assert errors(forger.directory, recompute=True) == {"COMPARISON_RECOMPUTED"}


def test_counts_of_equal_arrays(forger: Forger) -> None:
    equal = dict(forger.store.get(forger.exact()).metadata["equal"], reference=0)
    forger.forge({forger.exact(): with_facts(equal=equal)})
    assert errors(forger.directory) == {"EXACTNESS"}


# --- policies --------------------------------------------------------------------------------


def loosened(forger: Forger, change: Callable[[TolerancePolicy], TolerancePolicy]) -> None:
    """Another policy in the graph, on disk and in every row judged under it."""
    old = forger.bounded()
    children = forger.store.get(old).children
    node_id = next(c for c in children if forger.store.get(c).type == "tolerance_policy")
    held = forger.store.get(node_id).metadata["policy_blob"]
    policy = change(TolerancePolicy.from_map(forger.store.get_value(held)))

    def rejudge(record: dict[str, Any]) -> None:
        record["policy_id"] = policy.policy_id
        for row in (r for case in record["cases"] for r in case["checkpoints"]):
            entry = policy.entry(row["checkpoint"])
            row["limit"], row["floor"] = entry.limit, entry.floor

    for path in (forger.directory / "policies").glob("f32.*"):
        path.unlink()
    freeze(policy, forger.directory / "policies" / "f32.cbor")
    forger.forge({node_id: with_policy(lambda _: policy), old: with_comparison(rejudge)})


def test_a_factor_above_the_declared_one(forger: Forger) -> None:
    def change(policy: TolerancePolicy) -> TolerancePolicy:
        entries = tuple(replace(e, limit=e.limit * 2) for e in policy.entries)
        return replace(policy, factor=8.0, entries=entries)

    loosened(forger, change)
    # The planted fault's answer rests on the old limit, and says so too.
    assert errors(forger.directory) == {"POLICY_FACTOR", "FAULT_RUN"}


def test_a_limit_above_its_noise(forger: Forger) -> None:
    def change(policy: TolerancePolicy) -> TolerancePolicy:
        last = policy.entries[-1]
        return replace(policy, entries=(*policy.entries[:-1], replace(last, limit=1e9)))

    loosened(forger, change)
    assert errors(forger.directory) == {"POLICY_LIMIT"}


def test_another_calibration(forger: Forger) -> None:
    loosened(forger, lambda policy: replace(policy, calibration_suite="11" * 32))
    assert errors(forger.directory) == {"POLICY_GROUNDS"}


def test_a_policy_file_that_no_receipt_rests_on(forger: Forger) -> None:
    node = forger.store.get(forger.nodes("tolerance_policy")[0])
    policy = TolerancePolicy.from_map(forger.store.get_value(node.metadata["policy_blob"]))
    freeze(replace(policy, version=9), forger.directory / "policies" / "other.cbor")
    forger.forge({})
    assert errors(forger.directory) == {"POLICY_UNSPOKEN"}
