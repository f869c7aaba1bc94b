"""Figures of the next token against closed forms, and the bootstrap's interval."""

from __future__ import annotations

import math

import numpy as np

from trlm_lab.metrics.bootstrap import paired_interval
from trlm_lab.metrics.next_token import next_token


def test_closed_forms() -> None:
    reference = np.log(np.array([[0.5, 0.5], [0.9, 0.1]]))
    candidate = np.log(np.array([[0.25, 0.75], [0.9, 0.1]])) + 5
    found = next_token(reference, candidate, np.array([0, 1]))
    assert np.allclose(found.kl, [0.5 * math.log(2) + 0.5 * math.log(2 / 3), 0.0], atol=1e-12)
    assert found.top1_equal.tolist() == [False, True]
    assert np.allclose(found.nll, [-math.log(0.25), -math.log(0.1)])


def test_the_same_logits_differ_by_nothing() -> None:
    logits = np.random.default_rng(1).standard_normal((130, 30)).astype(np.float32)
    found = next_token(logits, logits, np.zeros(130, np.int64))
    assert found.kl.tolist() == [0.0] * 130
    assert found.top1_equal.all()


def test_interval_of_paired_windows() -> None:
    draw = np.random.default_rng(2)
    ours, noise = draw.standard_normal((50, 20)), 0.1 * draw.standard_normal((50, 20))
    low, high = paired_interval(ours, ours + noise + 0.5)
    assert low < -0.5 - noise.mean() < high
    assert high - low < 0.1  # unpaired it would be about 0.4
    assert paired_interval(ours, ours) == (0.0, 0.0)
    assert paired_interval(ours, noise) == paired_interval(ours, noise)
    low, high = paired_interval(ours, noise)
    other = paired_interval(noise, ours)
    assert (-high, -low) == other or np.allclose((-high, -low), other, atol=0.02)
