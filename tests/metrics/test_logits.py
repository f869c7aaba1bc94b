"""Figures of logits, and the margin rule at its edge."""

import math

import numpy as np
import pytest

from trlm_lab.base.records import Outcome
from trlm_lab.metrics import (
    gravest_change,
    greedy_changes,
    logit_metrics,
    position_figures,
    top_ids,
    top_margins,
)


def f32(*rows: list[float]) -> np.ndarray:
    return np.array(rows, dtype=np.float32)


def test_divergence_of_two_known_distributions() -> None:
    # softmax of logarithms is the distribution itself
    reference = f32([math.log(0.5), math.log(0.5)])
    candidate = f32([math.log(0.25), math.log(0.75)])
    found = position_figures(reference, candidate)
    forward = 0.5 * math.log(0.5 / 0.25) + 0.5 * math.log(0.5 / 0.75)
    reverse = 0.25 * math.log(0.25 / 0.5) + 0.75 * math.log(0.75 / 0.5)
    assert found.kl_forward[0] == pytest.approx(forward, rel=1e-6)
    assert found.kl_reverse[0] == pytest.approx(reverse, rel=1e-6)


def test_equal_rows_have_no_divergence() -> None:
    logits = np.random.default_rng(1).standard_normal((3, 100)).astype(np.float32)
    found = logit_metrics(logits, logits.copy())
    assert (found.kl_forward_max, found.kl_reverse_max) == (0.0, 0.0)
    assert (found.top_k_agreement_min, found.top1_equal, found.rank_max) == (1.0, 3, 0)


def test_top_ids_break_ties_by_id() -> None:
    row = np.array([1, 3, 3, 0, 3], np.float32)
    assert top_ids(row, 2).tolist() == [1, 2]
    assert top_ids(row, 4).tolist() == [1, 2, 4, 0]
    assert top_ids(row, 99).tolist() == [1, 2, 4, 0, 3]


def test_rank_and_agreement_see_a_swapped_order() -> None:
    reference, candidate = f32([9, 8, 1, 0]), f32([1, 8, 9, 0])
    found = position_figures(reference, candidate, k=2)
    assert found.rank[0] == 2
    assert found.top_k_agreement[0] == 0.5
    assert not found.top1_equal[0]


def test_equal_logits_rank_by_id() -> None:
    found = position_figures(f32([0, 9, 8]), f32([5, 5, 7]))
    assert found.rank[0] == 2


def test_a_small_mean_does_not_hide_one_bad_position() -> None:
    reference = np.zeros((50, 4), np.float32)
    reference[:, 0] = 5
    candidate = reference.copy()
    candidate[7] = [0, 5, 0, 0]
    found = logit_metrics(reference, candidate)
    assert found.kl_forward_mean < found.kl_forward_max / 10
    assert found.rank_max == 1
    assert found.top1_equal == 49


def test_margin_is_the_gap_of_the_two_highest() -> None:
    assert top_margins(f32([1, 4, 3.5], [2, 2, 0])).tolist() == [0.5, 0.0]


def test_margin_rule_at_its_edge() -> None:
    reference = f32([1.0, 0.5])
    (tie,) = greedy_changes(reference, np.array([1]), 0.25)
    assert (tie.margin, tie.outcome) == (0.5, Outcome.TIE)
    (wrong,) = greedy_changes(reference, np.array([1]), math.nextafter(0.25, 0))
    assert wrong.outcome is Outcome.WRONG


def test_a_contradiction_outranks_an_earlier_tie() -> None:
    reference = f32([1.0, 0.9], [9.0, 0.0], [1.0, 0.9])
    changes = greedy_changes(reference, np.array([1, 1, 1]), 0.1)
    gravest = gravest_change(changes)
    assert gravest is not None
    assert (gravest.position, gravest.outcome) == (1, Outcome.WRONG)
    assert gravest_change([]) is None
