"""Traces compared: each outcome as a row, nothing passes unseen, errors of input are named."""

import numpy as np
import pytest

from trlm_lab.base import canon
from trlm_lab.base.records import Comparison, Outcome
from trlm_lab.compare import compare_traces
from trlm_lab.errors import InfrastructureError, NothingToCompareError, UnknownNameError

ALL = {
    "embedding": (0.0, 0.0),
    "layers__0__input": (0.0, 0.0),
    "layers__0__output": (0.25, 1.0),
    "logits": (0.25, 1.0),
}


def changed(case, name, values):
    return {"c": {**case, name: values}}


def row(comparison, name):
    return next(r for r in comparison.cases[0].checkpoints if r.checkpoint == name)


def test_an_equal_trace_matches_without_a_policy(trace, sound_case):
    copy = {name: values.copy() for name, values in sound_case.items()}
    found = compare_traces(trace({"c": sound_case}), trace({"c": copy}), None)
    assert found.outcome is Outcome.MATCH
    assert [r.checkpoint for r in found.cases[0].checkpoints] == [
        "embedding",
        "layers.0.input",
        "layers.0.output",
        "logits",
    ]
    assert found.policy_id is None


@pytest.mark.parametrize(
    ("error", "outcome"),
    [(0.125, Outcome.MATCH), (0.5, Outcome.DRIFT), (2.0, Outcome.WRONG), (np.nan, "NONFINITE")],
)
def test_outcomes_under_a_policy(trace, policy, sound_case, error, outcome):
    reference = {**sound_case, "layers.0.output": np.trunc(sound_case["layers.0.output"])}
    candidate = reference["layers.0.output"].copy()
    candidate[1, 2] += np.float32(error)
    limits = policy(**ALL)
    found = compare_traces(
        trace({"c": reference}), trace(changed(reference, "layers.0.output", candidate)), limits
    )
    assert found.outcome is Outcome(outcome)
    line = row(found, "layers.0.output")
    assert (line.floor, line.limit) == (0.25, 1.0)
    assert line.index == ((1, 2) if found.outcome in (Outcome.WRONG, Outcome.NONFINITE) else None)
    assert found.policy_id == limits.policy_id


def test_metrics_stand_beside_the_outcome(trace, policy, sound_case):
    candidate = sound_case["layers.0.output"].copy()
    candidate[0, 1] += 8
    candidate[1, 3] += 4
    found = compare_traces(
        trace({"c": sound_case}),
        trace(changed(sound_case, "layers.0.output", candidate)),
        policy(**ALL),
    )
    metrics = row(found, "layers.0.output").metrics
    assert (metrics.failing, metrics.first_failing, metrics.elements) == (2, 1, 8)
    assert metrics.max_abs == pytest.approx(8)
    assert metrics.quantiles[-1] == metrics.max_abs


def test_a_tie_is_an_outcome_of_the_logits(trace, policy, sound_case):
    logits = np.zeros((2, 8), np.float32)
    logits[:, 3] = 1
    other = logits.copy()
    other[1, 5] = 1.5
    reference, candidate = {**sound_case, "logits": logits}, {**sound_case, "logits": other}
    limits = {**ALL, "logits": (0.25, 1.5)}
    found = compare_traces(trace({"c": reference}), trace({"c": candidate}), policy(**limits))
    assert found.outcome is Outcome.TIE
    line = row(found, "logits")
    assert line.logits.top1_equal == 1
    assert line.logits.rank_max == 1
    assert line.index == (1, 5)


def test_a_checkpoint_without_entry_is_not_supported(trace, policy, sound_case):
    moved = sound_case["embedding"] + np.float32(1)
    found = compare_traces(
        trace({"c": sound_case}), trace(changed(sound_case, "embedding", moved)), policy()
    )
    assert row(found, "embedding").outcome is Outcome.NOT_SUPPORTED
    assert row(found, "logits").outcome is Outcome.MATCH
    assert found.outcome is Outcome.NOT_SUPPORTED


def test_an_unstable_oracle(trace, policy, sound_case):
    moved = sound_case["embedding"] + np.float32(1)
    found = compare_traces(
        trace({"c": sound_case}),
        trace(changed(sound_case, "embedding", moved)),
        policy(embedding=(2.0, 1.0)),
    )
    assert found.outcome is Outcome.UNSTABLE_ORACLE


@pytest.mark.parametrize(
    "values",
    [
        np.zeros((2, 4), np.float64),
        np.zeros((2, 5), np.float32),
        np.zeros((4, 2), np.float32),
        InfrastructureError(detail="the file ends early"),
    ],
)
def test_wrong_dtype_shape_and_unreadable_arrays_are_infra(trace, policy, sound_case, values):
    found = compare_traces(
        trace({"c": sound_case}), trace(changed(sound_case, "embedding", values)), policy(**ALL)
    )
    line = row(found, "embedding")
    assert line.outcome is Outcome.INFRA
    assert line.note
    assert found.outcome is Outcome.INFRA


def test_errors_of_the_reference_are_raised(trace, sound_case):
    broken = changed(sound_case, "embedding", InfrastructureError(detail="gone"))
    with pytest.raises(InfrastructureError):
        compare_traces(trace(broken), trace({"c": sound_case}), None)


def test_absent_checkpoints_leave_no_row(trace, policy, sound_case):
    candidate = {"token_ids": sound_case["token_ids"], "logits": sound_case["logits"]}
    found = compare_traces(trace({"c": sound_case}), trace({"c": candidate}), policy(**ALL))
    assert [r.checkpoint for r in found.cases[0].checkpoints] == ["logits"]
    assert found.outcome is Outcome.MATCH


@pytest.mark.parametrize("arrays", [{}, {"c": {}}, {"c": {"strange": np.zeros(1, np.float32)}}])
def test_a_candidate_that_shows_nothing_does_not_pass(trace, policy, sound_case, arrays):
    found = compare_traces(trace({"c": sound_case}), trace(arrays), policy(**ALL))
    assert found.outcome is Outcome.NOT_SUPPORTED


def test_nan_in_a_checkpoint_that_the_reference_lacks_is_found(trace, policy, sound_case):
    extra = np.full((2, 4), np.inf, np.float32)
    found = compare_traces(
        trace({"c": sound_case}), trace(changed(sound_case, "layers.0.o_proj", extra)), policy()
    )
    assert row(found, "layers.0.o_proj").outcome is Outcome.NONFINITE
    extra = np.zeros((2, 4), np.float32)
    found = compare_traces(
        trace({"c": sound_case}), trace(changed(sound_case, "layers.0.o_proj", extra)), policy()
    )
    assert found.outcome is Outcome.MATCH


@pytest.mark.parametrize("name", ["token_ids", "position_ids", "attention_mask"])
def test_other_inputs_end_the_case_at_prompt_ids(trace, policy, sound_case, name):
    ours = {**sound_case, name: np.array([0, 1], np.int64)}
    theirs = {**sound_case, name: np.array([0, 2], np.int64)}
    found = compare_traces(trace({"c": ours}), trace({"c": theirs}), policy(**ALL))
    (line,) = found.cases[0].checkpoints
    assert (line.checkpoint, line.outcome, line.index) == ("prompt_ids", Outcome.WRONG, (1,))
    assert (line.reference_bits, line.candidate_bits) == ("0" * 15 + "1", "0" * 15 + "2")


@pytest.mark.parametrize(
    ("name", "default", "lie"),
    [("position_ids", [0, 1], [0, 2]), ("attention_mask", [1, 1], [1, 0])],
)
def test_defaults_that_the_reference_leaves_out_are_judged(trace, sound_case, name, default, lie):
    ours = trace({"c": sound_case})
    honest = changed(sound_case, name, np.array(default, np.int64))
    assert compare_traces(ours, trace(honest), None).outcome is Outcome.MATCH
    found = compare_traces(ours, trace(changed(sound_case, name, np.array(lie, np.int64))), None)
    (line,) = found.cases[0].checkpoints
    assert (line.checkpoint, line.outcome, line.index) == ("prompt_ids", Outcome.WRONG, (1,))
    assert name in line.note


def top_3(logits):
    ids = np.argsort(-logits, axis=-1, kind="stable")[:, :3].astype(np.int64)
    return {"logits.topk_ids": ids, "logits.topk_values": np.take_along_axis(logits, ids, -1)}


def test_a_top_k_beside_logits_is_that_of_the_logits(trace, policy, sound_case):
    own = {**sound_case, "logits": sound_case["logits"] + np.float32(0.25)}
    sound = {**own, **top_3(own["logits"])}
    ours = trace({"c": sound_case})
    assert compare_traces(ours, trace({"c": sound}), policy(**ALL)).outcome is Outcome.MATCH
    for name in ("logits.topk_ids", "logits.topk_values"):
        wrong = {**sound, name: sound[name][:, [1, 0, 2]]}
        found = compare_traces(ours, trace({"c": wrong}), policy(**ALL))
        line = row(found, name)
        assert (line.outcome, line.index) == (Outcome.WRONG, (0, 0))
        assert line.reference_bits != line.candidate_bits
        assert row(found, "logits").outcome is Outcome.MATCH
    for values in (sound["logits.topk_ids"].astype(np.int32), sound["logits.topk_ids"][:1]):
        found = compare_traces(
            ours, trace({"c": {**sound, "logits.topk_ids": values}}), policy(**ALL)
        )
        assert row(found, "logits.topk_ids").outcome is Outcome.INFRA


def test_half_a_top_k_without_logits_is_infra(trace, policy, sound_case):
    half = {"logits.topk_ids": top_3(sound_case["logits"])["logits.topk_ids"],
            "logits.topk_values": InfrastructureError(detail="not there")}  # fmt: skip
    found = compare_traces(trace({"c": sound_case}), trace({"c": half}), policy(**ALL))
    assert row(found, "logits").outcome is Outcome.INFRA


def test_equal_values_are_listed_by_ascending_id(trace, policy, sound_case):
    logits = np.zeros((2, 8), np.float32)
    ours, bounded = {**sound_case, "logits": logits}, top_3(logits)
    same = trace({"c": {**sound_case, "logits": logits, **bounded}})
    assert compare_traces(trace({"c": ours}), same, policy(**ALL)).outcome is Outcome.MATCH
    bounded["logits.topk_ids"] = bounded["logits.topk_ids"][:, ::-1].copy()
    found = compare_traces(trace({"c": ours}), trace({"c": bounded}), policy(**ALL))
    assert row(found, "logits").outcome is Outcome.WRONG


def test_inputs_of_another_length_or_dtype(trace, sound_case):
    for values, outcome in (
        (np.array([3], np.int64), Outcome.WRONG),
        (np.array([3, 1], np.int32), Outcome.INFRA),
        (InfrastructureError(detail="gone"), Outcome.INFRA),
    ):
        other = changed(sound_case, "token_ids", values)
        found = compare_traces(trace({"c": sound_case}), trace(other), None)
        assert found.cases[0].checkpoints[0].outcome is outcome


def test_chunked_logits_are_the_logits(trace, policy, sound_case):
    whole = sound_case["logits"]
    candidate = {k: v for k, v in sound_case.items() if k != "logits"}
    candidate |= {"logits.chunk0": whole[:, :5], "logits.chunk1": whole[:, 5:]}
    found = compare_traces(trace({"c": sound_case}), trace({"c": candidate}), None)
    assert row(found, "logits").outcome is Outcome.MATCH
    del candidate["logits.chunk0"]
    found = compare_traces(trace({"c": sound_case}), trace({"c": candidate}), policy(**ALL))
    assert "logits" not in [r.checkpoint for r in found.cases[0].checkpoints]
    candidate["logits.chunk0"] = whole[:1, :5]
    found = compare_traces(trace({"c": sound_case}), trace({"c": candidate}), policy(**ALL))
    assert row(found, "logits").outcome is Outcome.INFRA


def test_top_k_logits_are_judged(trace, policy, sound_case):
    whole = sound_case["logits"]
    ids = np.argsort(-whole, axis=-1, kind="stable")[:, :3].astype(np.int64)
    values = np.take_along_axis(whole, ids, axis=-1)
    candidate = {"logits.topk_ids": ids, "logits.topk_values": values + np.float32(0.5)}
    found = compare_traces(trace({"c": sound_case}), trace({"c": candidate}), policy(**ALL))
    line = row(found, "logits")
    assert line.outcome is Outcome.DRIFT
    assert line.metrics.elements == 6
    assert line.logits is None
    # A reference that is itself bounded cannot judge.
    found = compare_traces(trace({"c": candidate}), trace({"c": sound_case}), policy(**ALL))
    assert found.outcome is Outcome.NOT_SUPPORTED


def test_masked_metrics_leave_the_marks_out(trace, policy):
    lowest = np.finfo(np.float32).min
    ours = np.array([[[1, lowest], [2, 3]]], np.float32)
    theirs = np.array([[[1, -np.inf], [2, 3.5]]], np.float32)
    name = "layers.0.attn_masked"
    found = compare_traces(
        trace({"c": {name: ours}}),
        trace({"c": {name: theirs}}),
        policy(layers__0__attn_masked=(0.0, 1.0)),
    )
    line = row(found, name)
    assert line.outcome is Outcome.DRIFT
    assert (line.metrics.elements, line.metrics.max_abs) == (3, 0.5)


def test_one_bad_case_decides_the_run(trace, policy, sound_case):
    bad = {**sound_case, "embedding": sound_case["embedding"] + np.float32(1)}
    found = compare_traces(
        trace({"a": sound_case, "b": sound_case}),
        trace({"a": sound_case, "b": bad}),
        policy(**ALL),
    )
    assert [c.outcome for c in found.cases] == [Outcome.MATCH, Outcome.WRONG]
    assert found.outcome is Outcome.WRONG
    chosen = compare_traces(
        trace({"a": sound_case, "b": sound_case}),
        trace({"a": sound_case, "b": bad}),
        policy(**ALL),
        cases=["a"],
    )
    assert chosen.outcome is Outcome.MATCH


def test_the_comparison_has_a_canonical_identity(trace, policy, sound_case):
    bad = {
        k: np.full_like(v, np.nan) if v.dtype == np.float32 else v for k, v in sound_case.items()
    }
    for candidate in (sound_case, bad):
        found = compare_traces(trace({"c": sound_case}), trace({"c": candidate}), policy(**ALL))
        assert Comparison.from_map(canon.decode(canon.encode(found.to_map()))) == found


def test_NOTHING_TO_COMPARE(trace, sound_case):
    with pytest.raises(NothingToCompareError):
        compare_traces(trace({}), trace({"c": sound_case}), None)
    with pytest.raises(NothingToCompareError):
        compare_traces(trace({"c": sound_case}), trace({"c": sound_case}), None, cases=[])


def test_UNKNOWN_NAME_of_a_case(trace, sound_case):
    with pytest.raises(UnknownNameError, match="'d'"):
        compare_traces(trace({"c": sound_case}), trace({"c": sound_case}), None, cases=["d"])
