"""Every outcome of the judge, and the order in which its rules decide."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trlm_lab.base.records import Outcome, PolicyEntry
from trlm_lab.metrics import judge, judge_alone, judge_top_k
from trlm_lab.metrics.judge import FUTURE_NOTE

LOWEST = np.finfo(np.float32).min
NAME = "layers.0.q_proj"
MASKED = "layers.1.attn_masked"


def entry(floor: float, limit: float, name: str = NAME) -> PolicyEntry:
    return PolicyEntry(name, floor, limit, "test")


def pair(error: float) -> tuple[np.ndarray, np.ndarray]:
    reference = np.zeros((2, 3), np.float32)
    candidate = reference.copy()
    candidate[1, 2] = error
    return reference, candidate


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (0.0, Outcome.MATCH),
        (0.25, Outcome.MATCH),
        (0.5, Outcome.DRIFT),
        (1.0, Outcome.DRIFT),
        (1.25, Outcome.WRONG),
    ],
)
def test_floor_and_limit(error: float, outcome: Outcome) -> None:
    assert judge(NAME, *pair(error), entry(0.25, 1.0)).outcome is outcome


def test_wrong_names_the_first_element_with_both_bit_patterns() -> None:
    found = judge(NAME, *pair(2.0), entry(0.25, 1.0))
    assert (found.index, found.flat, found.failing) == ((1, 2), 5, 1)
    assert (found.reference_bits, found.candidate_bits) == ("00000000", "40000000")
    assert found.max_abs == 2.0


@given(st.integers(2, 200_000), st.data())
def test_no_average_passes_alone(size: int, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, size - 1))
    reference = np.zeros(size, np.float32)
    candidate = reference.copy()
    candidate[place] = 1.5
    found = judge(NAME, reference, candidate, entry(0.0, 1.0))
    assert found.outcome is Outcome.WRONG
    assert found.index == (place,)


def test_a_floor_above_the_limit_cannot_judge() -> None:
    assert judge(NAME, *pair(0.5), entry(2.0, 1.0)).outcome is Outcome.UNSTABLE_ORACLE
    assert judge(NAME, *pair(0.0), entry(2.0, 1.0)).outcome is Outcome.MATCH


def test_without_an_entry_only_equal_bits_pass() -> None:
    assert judge(NAME, *pair(0.0), None).outcome is Outcome.MATCH
    found = judge(NAME, *pair(1e-30), None)
    assert found.outcome is Outcome.NOT_SUPPORTED
    assert "no entry" in found.note


def test_exact_needs_equal_bits() -> None:
    reference = np.zeros(2, np.float32)
    negative = np.array([0.0, -0.0], np.float32)
    assert judge(NAME, reference, negative, entry(0.0, 0.0)).outcome is Outcome.MATCH
    found = judge(NAME, reference, negative, None, exact=True)
    assert (found.outcome, found.index) == (Outcome.WRONG, (1,))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_non_finite_is_located(value: float) -> None:
    found = judge(NAME, *pair(value), entry(9.0, 9.0))
    assert (found.outcome, found.index) == (Outcome.NONFINITE, (1, 2))


def test_two_equal_nan_are_no_match() -> None:
    _, candidate = pair(np.nan)
    assert judge(NAME, candidate, candidate.copy(), entry(1, 1)).outcome is Outcome.NONFINITE
    assert judge(NAME, candidate, candidate.copy(), None, exact=True).outcome is Outcome.NONFINITE


def test_a_non_finite_reference_is_no_bar() -> None:
    candidate, reference = pair(np.inf)
    found = judge(NAME, reference, candidate, entry(1, 1))
    assert found.outcome is Outcome.UNSTABLE_ORACLE
    assert found.index == (1, 2)


def test_another_dtype_is_infra() -> None:
    reference, candidate = pair(0.0)
    found = judge(NAME, reference, candidate.astype(np.float64), entry(1, 1))
    assert found.outcome is Outcome.INFRA
    assert "float64" in found.note


def test_another_shape_is_infra_and_not_reshaped() -> None:
    reference, candidate = pair(0.0)
    found = judge(NAME, reference, candidate.reshape(3, 2), entry(1, 1))
    assert found.outcome is Outcome.INFRA
    assert "[3, 2]" in found.note


def test_an_empty_array_proves_nothing() -> None:
    empty = np.zeros((0, 4), np.float32)
    assert judge(NAME, empty, empty, entry(1, 1)).outcome is Outcome.INFRA


def masked_pair() -> tuple[np.ndarray, np.ndarray]:
    reference = np.array([[[1.0, LOWEST], [2.0, 3.0]]], np.float32)
    return reference, reference.copy()


def test_both_marks_are_one_mark() -> None:
    reference, candidate = masked_pair()
    candidate[0, 0, 1] = -np.inf
    for kind in ({"entry": entry(0, 0, MASKED)}, {"entry": None, "exact": True}):
        assert judge(MASKED, reference, candidate, **kind).outcome is Outcome.MATCH


@pytest.mark.parametrize("value", [-1e4, 0.0, np.nextafter(LOWEST, np.float32(0))])
def test_a_masked_entry_with_another_value_is_a_mask_set_failure(value: float) -> None:
    reference, candidate = masked_pair()
    candidate[0, 0, 1] = value
    found = judge(MASKED, reference, candidate, entry(9, 9, MASKED))
    assert (found.outcome, found.index, found.failing) == (Outcome.WRONG, (0, 0, 1), 1)
    assert "mask set" in found.note


@pytest.mark.parametrize("mark", [LOWEST, -np.inf])
def test_a_mark_on_a_visible_entry_is_a_mask_set_failure(mark: float) -> None:
    reference, candidate = masked_pair()
    candidate[0, 1, 0] = mark
    found = judge(MASKED, reference, candidate, entry(9, 9, MASKED))
    assert (found.outcome, found.index) == (Outcome.WRONG, (0, 1, 0))


def test_a_mask_set_failure_beside_infinite_marks_counts_the_wrong_values_too() -> None:
    reference = np.array([[[1.0, -np.inf], [2.0, 3.0]]], np.float32)
    candidate = np.array([[[1.5, -np.inf], [-np.inf, 3.0]]], np.float32)
    found = judge(MASKED, reference, candidate, entry(0, 0.25, MASKED))
    assert (found.index, found.failing, found.max_abs) == ((0, 0, 0), 2, 0.5)


def test_the_mask_set_needs_no_policy_entry() -> None:
    reference, candidate = masked_pair()
    candidate[0, 1, 0] = LOWEST
    assert judge(MASKED, reference, candidate, None).outcome is Outcome.WRONG


def test_visible_entries_of_a_masked_array_have_bounds() -> None:
    reference, candidate = masked_pair()
    candidate[0, 1, 1] += 0.5
    assert judge(MASKED, reference, candidate, entry(0, 0.5, MASKED)).outcome is Outcome.DRIFT
    found = judge(MASKED, reference, candidate, entry(0, 0.25, MASKED))
    assert (found.outcome, found.index, found.max_abs) == (Outcome.WRONG, (0, 1, 1), 0.5)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_nan_in_a_masked_array_is_non_finite(value: float) -> None:
    reference, candidate = masked_pair()
    candidate[0, 0, 1] = value
    found = judge(MASKED, reference, candidate, entry(9, 9, MASKED))
    assert found.outcome is Outcome.NONFINITE


@pytest.mark.parametrize("value", [0.0, np.nan, -np.inf])
def test_undefined_future_scores_fail_with_advice(value: float) -> None:
    scores = np.arange(9, dtype=np.float32).reshape(1, 3, 3) + 1
    candidate = scores.copy()
    candidate[0][np.triu_indices(3, 1)] = value
    name = "layers.0.attn_scores"
    found = judge(name, scores, candidate, entry(0, 0.5, name))
    assert found.outcome in (Outcome.WRONG, Outcome.NONFINITE)
    assert found.note == FUTURE_NOTE


def test_a_wrong_past_score_gets_no_such_advice() -> None:
    scores = np.arange(9, dtype=np.float32).reshape(1, 3, 3) + 1
    candidate = scores.copy()
    candidate[0, 0, 1] = candidate[0, 2, 0] = -5
    name = "layers.0.attn_scores"
    assert judge(name, scores, candidate, entry(0, 0.5, name)).note == ""


def logits_pair(shift: float) -> tuple[np.ndarray, np.ndarray]:
    reference = np.array([[5.0, 0.0, 1.0], [1.0, 0.75, 0.0]], np.float32)
    candidate = reference.copy()
    candidate[1, 1] += shift
    return reference, candidate


def test_another_greedy_token_within_the_margin_is_a_tie() -> None:
    found = judge("logits", *logits_pair(0.5), entry(0.0, 0.5, "logits"))
    assert (found.outcome, found.index) == (Outcome.TIE, (1, 1))
    assert "margin 0.25" in found.note


def test_another_greedy_token_beyond_the_margin_is_wrong() -> None:
    found = judge("logits", *logits_pair(0.5), entry(0.0, 0.1, "logits"))
    assert found.outcome is Outcome.WRONG


def test_the_same_token_is_no_tie() -> None:
    found = judge("logits", *logits_pair(0.125), entry(0.0, 0.5, "logits"))
    assert found.outcome is Outcome.DRIFT


def test_an_array_that_the_reference_lacks_is_judged_for_non_finite_values_only() -> None:
    reference, candidate = pair(np.nan)
    assert judge_alone(NAME, reference).outcome is Outcome.NOT_SUPPORTED
    found = judge_alone(NAME, candidate)
    assert (found.outcome, found.index) == (Outcome.NONFINITE, (1, 2))
    assert found.reference_bits is None
    assert judge_alone(NAME, candidate.astype(np.float16)).outcome is Outcome.INFRA


def top2(logits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    ids = np.argsort(-logits, axis=-1, kind="stable")[:, :2].astype(np.int64)
    return ids, np.take_along_axis(logits, ids, axis=-1)


def test_top_k_outcomes() -> None:
    reference, candidate = logits_pair(0.5)
    ids, values = top2(candidate)
    limits = entry(0.0, 0.5, "logits")
    assert judge_top_k(reference, *top2(reference), limits).outcome is Outcome.MATCH
    assert judge_top_k(reference, *top2(reference), None, exact=True).outcome is Outcome.MATCH
    tie = judge_top_k(reference, ids, values, limits)
    assert (tie.outcome, tie.index) == (Outcome.TIE, (1, 1))
    wrong = judge_top_k(reference, ids, values, entry(0.0, 0.1, "logits"))
    assert (wrong.outcome, wrong.index) == (Outcome.WRONG, (1, 1))
    assert judge_top_k(reference, ids, values, None).outcome is Outcome.NOT_SUPPORTED
    unstable = judge_top_k(reference, ids, values, entry(1.0, 0.1, "logits"))
    assert unstable.outcome is Outcome.UNSTABLE_ORACLE


def test_top_k_cannot_leave_a_high_id_out() -> None:
    reference, _ = logits_pair(0.0)
    ids = np.array([[0, 1], [0, 1]], np.int64)
    values = np.take_along_axis(reference, ids, axis=-1)
    found = judge_top_k(reference, ids, values, entry(0.0, 0.5, "logits"))
    assert (found.outcome, found.index, found.candidate_bits) == (Outcome.WRONG, (0, 2), None)


def test_top_k_non_finite_and_malformed() -> None:
    reference, _ = logits_pair(0.0)
    ids, values = top2(reference)
    limits = entry(0.0, 0.5, "logits")
    broken = values.copy()
    broken[1, 0] = np.nan
    assert judge_top_k(reference, ids, broken, limits).outcome is Outcome.NONFINITE
    for bad_ids in (ids + 2, ids * 0, ids[:1], ids.astype(np.int32), ids - 1):
        bad_values = values[: len(bad_ids)]
        assert judge_top_k(reference, bad_ids, bad_values, limits).outcome is Outcome.INFRA
    reference[0, 0] = np.inf
    unstable = judge_top_k(reference, ids, values, limits)
    assert unstable.outcome is Outcome.UNSTABLE_ORACLE
