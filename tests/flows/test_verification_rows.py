"""Every rule that a row of a comparison must satisfy, each broken once."""

from dataclasses import replace

import pytest

from trlm_lab.base.records import (
    ArrayDigest,
    CheckpointComparison,
    LogitMetrics,
    Metrics,
    Outcome,
    PolicyEntry,
)
from trlm_lab.flows.verification_rows import RowFacts, row_problem

ENTRY = PolicyEntry("layers.0.output", 1.0, 4.0, "measured", 0.5)
LEFT = ArrayDigest("layers.0.output", "float32", (2, 3), "11" * 32)
RIGHT = replace(LEFT, sha256="22" * 32)
FIGURES = Metrics(6, 2.0, 0.5, 1.0, 3.0, 7, (1.0, 1.5, 2.0, 2.0), 0, None, False)
EQUAL = Metrics(6, 0.0, 0.0, 0.0, 3.0, 0, (0.0, 0.0, 0.0, 0.0), 0, None, True)
DRIFT = CheckpointComparison("layers.0.output", Outcome.DRIFT, FIGURES, 4.0, 1.0)
FACTS = RowFacts(ENTRY, 4.0, LEFT, RIGHT, None)
LOGITS = LogitMetrics(2, 3, 0.1, 0.1, 0.1, 0.1, 1.0, 1.0, 1, 0.5, 1)
TIE = replace(DRIFT, checkpoint="logits", outcome=Outcome.TIE, index=(0, 1), logits=LOGITS)
UNSTABLE = replace(DRIFT, outcome=Outcome.UNSTABLE_ORACLE, metrics=replace(FIGURES, max_abs=9.0))


def figures(**changed: object) -> CheckpointComparison:
    """The drifting row with other figures."""
    return replace(DRIFT, metrics=replace(FIGURES, **changed))


@pytest.mark.parametrize(
    ("row", "facts"),
    [
        (DRIFT, FACTS),
        (replace(DRIFT, outcome=Outcome.MATCH, metrics=EQUAL), replace(FACTS, candidate=LEFT)),
        (TIE, FACTS),
        (UNSTABLE, replace(FACTS, noise=3.0)),
        (
            replace(UNSTABLE, floor=5.0, metrics=FIGURES),
            replace(FACTS, entry=replace(ENTRY, floor=5.0)),
        ),
        (replace(DRIFT, outcome=Outcome.WRONG, metrics=replace(FIGURES, max_abs=9.0)), FACTS),
    ],
)
def test_what_the_judge_writes_has_no_problem(row: CheckpointComparison, facts: RowFacts) -> None:
    assert row_problem(row, facts) == ""


@pytest.mark.parametrize(
    ("row", "facts", "words"),
    [
        (replace(DRIFT, limit=40.0), FACTS, "not those of the policy"),
        (replace(DRIFT, floor=None), FACTS, "not those of the policy"),
        (replace(DRIFT, metrics=None), FACTS, "without figures"),
        (replace(DRIFT, outcome=Outcome.MATCH), FACTS, "with an error of"),
        (figures(max_abs=4.5), FACTS, "with an error of"),
        (figures(max_abs=0.9, quantiles=(0.1, 0.2, 0.3, 0.4)), FACTS, "with an error of"),
        (figures(bit_equal=True), FACTS, "beside figures that are not zero"),
        (replace(DRIFT, outcome=Outcome.MATCH, metrics=EQUAL), FACTS, "the digests are different"),
        (DRIFT, replace(FACTS, candidate=LEFT), "the digests are equal"),
        (replace(DRIFT, metrics=EQUAL), replace(FACTS, candidate=LEFT), "equal bits are MATCH"),
        (figures(elements=5), FACTS, "5 elements for the shape"),
        (figures(max_abs=-1.0), FACTS, "negative"),
        (figures(quantiles=(1.0, 0.5, 2.0, 2.0)), FACTS, "not in order"),
        (figures(failing=1, first_failing=0), FACTS, "beside failing elements"),
        (replace(DRIFT, index=(0, 0)), FACTS, "failing index"),
        (
            replace(DRIFT, limit=None, floor=None),
            replace(FACTS, entry=None),
            "the policy has no limit",
        ),
        (replace(TIE, outcome=Outcome.DRIFT, index=None), FACTS, "another greedy token"),
        (replace(TIE, checkpoint="layers.0.output"), FACTS, "only logits tie"),
        (replace(TIE, index=None), FACTS, "only logits tie"),
        (replace(TIE, metrics=replace(FIGURES, max_abs=9.0)), FACTS, "beyond the limit"),
        (replace(TIE, logits=replace(LOGITS, margin_min=8.5)), FACTS, "inside the margin"),
        (replace(TIE, logits=replace(LOGITS, top1_equal=2)), FACTS, "inside the margin"),
        (UNSTABLE, FACTS, "without a third run"),
        (UNSTABLE, replace(FACTS, noise=1.0), "within what calibration saw"),
        (UNSTABLE, replace(FACTS, noise=2.0), "does not cover"),
        (replace(UNSTABLE, metrics=FIGURES), replace(FACTS, noise=3.0), "does not cover"),
        (
            replace(UNSTABLE, metrics=None),
            replace(FACTS, candidate=None),
            "not in both traces",
        ),
        (
            replace(UNSTABLE, limit=None, floor=None),
            replace(FACTS, entry=None),
            "without a policy entry",
        ),
        (replace(DRIFT, outcome=Outcome.NOT_SUPPORTED), FACTS, "under a limit"),
        (
            replace(DRIFT, outcome=Outcome.NOT_SUPPORTED, metrics=EQUAL, limit=None, floor=None),
            replace(FACTS, entry=None, candidate=LEFT),
            "beside equal bits",
        ),
    ],
)
def test_each_rule_is_seen_broken(row: CheckpointComparison, facts: RowFacts, words: str) -> None:
    assert words in row_problem(row, facts)


def test_masked_entries_may_have_two_marks() -> None:
    row = replace(
        DRIFT, checkpoint="layers.0.attn_masked", outcome=Outcome.MATCH,
        metrics=replace(EQUAL, elements=3),
    )  # fmt: skip
    assert row_problem(row, FACTS) == ""
    differing = replace(row, outcome=Outcome.DRIFT, metrics=FIGURES)
    assert "equal digests" in row_problem(differing, replace(FACTS, candidate=LEFT))
