"""Verdicts held against what was expected of them."""

import pytest

from trlm_lab.base.records import Mismatch, Outcome
from trlm_lab.bisection import Expectation, Standing, scoreboard
from trlm_lab.errors import ExpectationError

ROPE = Expectation("rope_pairing", "layers.{layer}.q_rope", 2)
SOUND = Expectation("native-scalar", None)


def wrong(boundary, after, verdict=Outcome.WRONG):
    return Mismatch(verdict, boundary=boundary, after=after)


@pytest.mark.parametrize(
    ("expectation", "found", "standing"),
    [
        (ROPE, wrong("layers.2.q_rope", "layers.2.v_proj"), Standing.NAMED),
        (ROPE, wrong("layers.2.attn_scores", "layers.2.v_proj"), Standing.INTERVAL),
        (ROPE, wrong("layers.2.attn_scores", "prompt_ids"), Standing.INTERVAL),
        (ROPE, wrong("layers.2.attn_scores", "layers.2.k_rope"), Standing.MISNAMED),
        (ROPE, wrong("layers.2.attn_scores", "layers.2.q_rope"), Standing.MISNAMED),
        (ROPE, wrong("layers.2.q_proj", "layers.2.attn_norm"), Standing.MISNAMED),
        (ROPE, wrong("layers.1.q_rope", "layers.1.v_proj"), Standing.MISNAMED),
        (ROPE, wrong("prompt_ids", None), Standing.MISNAMED),
        (ROPE, Mismatch(Outcome.DRIFT), Standing.BELOW_LIMIT),
        (ROPE, Mismatch(Outcome.INFRA), Standing.MISSED),
        (ROPE, Mismatch(Outcome.UNSTABLE_ORACLE), Standing.MISSED),
        (SOUND, Mismatch(Outcome.MATCH), Standing.QUIET),
        (SOUND, Mismatch(Outcome.TIE), Standing.QUIET),
        (SOUND, wrong("logits", "final_norm"), Standing.FALSE_ALARM),
        (SOUND, Mismatch(Outcome.NOT_SUPPORTED), Standing.UNJUDGED),
    ],
)
def test_standings(expectation, found, standing):
    board = scoreboard([(expectation, found)])
    assert board.trials[0].standing is standing
    assert board.counts()[standing.value] == 1
    assert sum(board.counts().values()) == 1
    assert board.having(standing) == list(board.trials)
    assert board.rows()[0]["standing"] == standing.value


def test_another_verdict_at_the_right_boundary_is_misnamed():
    planted = Expectation("nan", "layers.{layer}.k_proj", 0, Outcome.NONFINITE)
    found = wrong("layers.0.k_proj", "layers.0.q_proj")
    assert scoreboard([(planted, found)]).trials[0].standing is Standing.MISNAMED
    found = wrong("layers.0.k_proj", "layers.0.q_proj", Outcome.NONFINITE)
    assert scoreboard([(planted, found)]).trials[0].standing is Standing.NAMED


def test_boundaries_outside_the_layers_need_no_layer():
    planted = Expectation("final_norm_skipped", "final_norm")
    found = wrong("final_norm", "layers.29.output")
    assert scoreboard([(planted, found)]).trials[0].standing is Standing.NAMED


@pytest.mark.parametrize("boundary", ["layers.{layer}.q_rope", "layers.{0}.x", "{", "nowhere"])
def test_EXPECTATION(boundary):
    with pytest.raises(ExpectationError):
        scoreboard([(Expectation("f", boundary), Mismatch(Outcome.MATCH))])
