"""The named boundary is the first failing exposed checkpoint, and the interval holds the fault."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trlm_lab.base.names import boundary_rank
from trlm_lab.base.records import SOUND, Outcome, PolicyEntry, TolerancePolicy
from trlm_lab.bisection import find_first_mismatch
from trlm_lab.bisection.dataflow import depends
from trlm_lab.errors import NothingToCompareError, UnknownNameError


def shift(values):
    """A fault in the last row, which every mask lets through."""
    values = values.copy()
    values[..., -1, :] += np.linspace(1, 2, values.shape[-1], dtype=values.dtype)
    return values


def inside(found, planted):
    return boundary_rank(found.after) < boundary_rank(planted) <= boundary_rank(found.boundary)


def test_sound_candidates_are_not_flagged(lab):
    found = find_first_mismatch(lab.oracle, lab.run(), lab.policy)
    assert found.verdict in SOUND
    assert found.boundary is None
    assert "no boundary exceeds its limit" in found.note
    assert found.checkpoint in found.note
    assert 0 < found.max_abs <= found.limit
    assert found.verified == 2 * (1 + len(lab.names))


def test_equal_bits_match_without_a_policy(lab):
    found = find_first_mismatch(lab.oracle, lab.oracle, None)
    assert (found.verdict, found.note) == (Outcome.MATCH, "all compared bits are equal")


def test_every_checkpoint_of_the_ladder_is_named(lab):
    for planted in lab.names:
        found = find_first_mismatch(lab.oracle, lab.run({planted: shift}), lab.policy)
        assert (found.verdict, found.boundary) == (Outcome.WRONG, planted)
        place = lab.names.index(planted)
        assert found.after == (lab.names[place - 1] if place else "prompt_ids")
        assert found.layer == (int(planted.split(".")[1]) if planted.startswith("la") else None)
        assert found.max_abs > found.limit


def test_the_search_examines_few_and_the_sweep_all(lab):
    planted = "layers.2.mlp_act"
    found = find_first_mismatch(lab.oracle, lab.run({planted: shift}), lab.policy, cases=["one"])
    assert len(found.examined) <= 10
    assert found.examined[0] == "prompt_ids"
    assert planted in found.examined
    assert found.verified >= lab.names.index(planted) + 2


@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.data())
def test_with_a_random_third_hidden_the_interval_holds_the_fault(lab, data):
    planted = data.draw(st.sampled_from(lab.names))
    third = data.draw(st.sets(st.sampled_from(lab.names), max_size=len(lab.names) // 3))
    extra = data.draw(st.sampled_from([set(), {"logits"}, set(lab.names[1::2])]))
    hidden = third | extra
    candidate = lab.run({planted: shift})
    found = find_first_mismatch(lab.oracle, candidate, lab.policy, hidden=hidden.__contains__)
    exposed = [n for n in lab.names if n not in hidden]
    telling = [n for n in exposed if n == planted or depends(n, planted)]
    if not telling:
        assert found.verdict not in (Outcome.WRONG, Outcome.NONFINITE)
        return
    assert found.boundary == telling[0]
    assert inside(found, planted)
    assert found.after == "prompt_ids" or found.after in exposed


def test_a_hidden_query_beside_an_exposed_key(lab):
    planted = "layers.1.q_rope"
    found = find_first_mismatch(
        lab.oracle, lab.run({planted: shift}), lab.policy, hidden=planted.__eq__
    )
    assert found.boundary == "layers.1.attn_scores"
    assert found.after == "layers.1.k_norm"


def test_an_error_that_hides_again_is_found_by_the_sweep(lab):
    candidate = lab.run()
    name = "layers.1.up_proj"
    candidate.arrays["one"][name] = shift(candidate.arrays["one"][name])
    found = find_first_mismatch(lab.oracle, candidate, lab.policy)
    assert (found.boundary, found.case_id) == (name, "one")


def test_the_sweep_corrects_the_search(lab):
    candidate = lab.run({"layers.3.output": shift})
    name = "layers.0.q_norm"
    candidate.arrays["two"][name] = shift(candidate.arrays["two"][name])
    found = find_first_mismatch(lab.oracle, candidate, lab.policy)
    assert (found.boundary, found.case_id) == (name, "two")
    assert "sweep" in found.note
    assert name not in found.examined


def test_the_earliest_boundary_over_all_cases(lab):
    late, early = lab.run({"layers.3.o_proj": shift}), lab.run({"layers.1.o_proj": shift})
    late.arrays["two"] = early.arrays["two"]
    found = find_first_mismatch(lab.oracle, late, lab.policy)
    assert (found.boundary, found.case_id) == ("layers.1.o_proj", "two")
    found = find_first_mismatch(lab.oracle, late, lab.policy, cases=["one"])
    assert (found.boundary, found.case_id) == ("layers.3.o_proj", "one")


def test_the_first_failing_element_with_both_bit_patterns(lab):
    def bump(values):
        values = values.copy()
        values[2, 3] += 1
        values[4, 0] += 1
        return values

    name = "layers.2.attn_norm"
    found = find_first_mismatch(lab.oracle, lab.run({name: bump}, only="one"), lab.policy)
    assert (found.case_id, found.checkpoint, found.index) == ("one", name, (2, 3))
    expected = lab.oracle.read("one", name)[2, 3]
    assert found.reference_bits == f"{int(expected.view(np.uint32)):08x}"
    assert found.candidate_bits != found.reference_bits


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_non_finite_element_is_nonfinite_at_its_boundary(lab, value):
    def poison(values):
        values = values.copy()
        values[-1, 0] = value
        return values

    found = find_first_mismatch(lab.oracle, lab.run({"layers.2.v_proj": poison}), lab.policy)
    assert (found.verdict, found.boundary) == (Outcome.NONFINITE, "layers.2.v_proj")
    assert found.after == "layers.2.k_proj"


def test_nan_where_the_reference_shows_nothing(lab):
    candidate = lab.run()
    oracle = lab.run()
    for arrays in oracle.arrays.values():
        del arrays["layers.1.gate_proj"]
    candidate.arrays["one"]["layers.1.gate_proj"] = np.full((5, 12), np.nan, np.float32)
    found = find_first_mismatch(oracle, candidate, lab.policy)
    assert (found.verdict, found.boundary) == (Outcome.NONFINITE, "layers.1.gate_proj")
    assert found.reference_bits is None


def test_other_token_ids_fail_at_prompt_ids(lab):
    candidate = lab.run()
    candidate.arrays["two"]["token_ids"] = np.array([9, 2, 7], np.int64)
    found = find_first_mismatch(lab.oracle, candidate, lab.policy)
    assert (found.verdict, found.boundary, found.after) == (Outcome.WRONG, "prompt_ids", None)
    assert (found.case_id, found.index, found.layer) == ("two", (2,), None)


def test_a_fault_below_the_limit_is_said_to_be_below(lab):
    name = "layers.2.o_proj"
    room = lab.policy.entry(name).limit

    def nudge(values):
        values = values.copy()
        values[0, 0] += np.float32(room / 2)
        return values

    candidate = lab.run()
    candidate.arrays = {case: dict(arrays) for case, arrays in lab.oracle.arrays.items()}
    candidate.arrays["one"][name] = nudge(lab.oracle.read("one", name))
    found = find_first_mismatch(lab.oracle, candidate, lab.policy)
    assert found.verdict is Outcome.DRIFT
    assert (found.boundary, found.checkpoint, found.case_id) == (None, name, "one")
    assert found.max_abs / found.limit == pytest.approx(0.5, rel=0.2)
    assert "no boundary exceeds its limit" in found.note


@pytest.mark.parametrize("fault", ["dtype", "shape"])
def test_malformed_arrays_are_infra(lab, fault):
    candidate = lab.run()
    name = "layers.1.k_proj"
    values = candidate.arrays["one"][name]
    broken = values.astype(np.float64) if fault == "dtype" else values[:-1]
    candidate.arrays["one"][name] = broken
    found = find_first_mismatch(lab.oracle, candidate, lab.policy)
    assert (found.verdict, found.boundary, found.checkpoint) == (Outcome.INFRA, None, name)
    assert fault in found.note
    moved = lab.run({"layers.3.output": shift})
    moved.arrays["one"][name] = broken
    found = find_first_mismatch(lab.oracle, moved, lab.policy)
    assert (found.verdict, found.boundary) == (Outcome.WRONG, "layers.3.output")
    assert "1 malformed before it" in found.note


def test_a_candidate_that_shows_nothing_is_not_supported(lab):
    found = find_first_mismatch(lab.oracle, lab.run(), lab.policy, hidden=lambda name: True)
    assert found.verdict is Outcome.NOT_SUPPORTED
    candidate = lab.run()
    del candidate.arrays["two"]
    found = find_first_mismatch(lab.oracle, candidate, lab.policy)
    assert (found.verdict, found.case_id) == (Outcome.NOT_SUPPORTED, "two")


def changed_policy(policy, name, floor, limit):
    entries = [e for e in policy.entries if e.checkpoint != name]
    if limit is not None:
        entries.append(PolicyEntry(name, floor, limit, "test"))
    return TolerancePolicy(
        **{k: v for k, v in vars(policy).items() if k not in ("entries", "_cached_index")},
        entries=tuple(entries),
    )


def test_no_entry_and_unstable_oracle_are_neither_sound_nor_faults(lab):
    name = "layers.1.up_proj"
    candidate = lab.run({name: shift}, only="one")
    none = changed_policy(lab.policy, name, 0.0, None)
    unstable = changed_policy(lab.policy, name, 2.0, 1.0)
    for policy in (none, unstable):
        found = find_first_mismatch(lab.oracle, candidate, policy)
        assert (found.boundary, found.after) == ("layers.1.mlp_act", "layers.1.gate_proj")
    only = lambda n: n != name  # noqa: E731
    found = find_first_mismatch(lab.oracle, candidate, none, hidden=only)
    assert (found.verdict, found.checkpoint) == (Outcome.NOT_SUPPORTED, name)
    found = find_first_mismatch(lab.oracle, candidate, unstable, hidden=only)
    assert (found.verdict, found.checkpoint) == (Outcome.UNSTABLE_ORACLE, name)


def test_a_tie_is_sound_and_told(lab):
    policy = changed_policy(lab.policy, "logits", 0.0, 50.0)
    candidate = lab.run()
    logits = lab.oracle.read("one", "logits").copy()
    logits[0] = logits[0][::-1]
    candidate.arrays["one"]["logits"] = logits
    found = find_first_mismatch(lab.oracle, candidate, policy)
    assert (found.verdict, found.boundary) == (Outcome.TIE, None)
    assert "position 0" in found.note


def test_the_document_is_plain(lab):
    found = find_first_mismatch(lab.oracle, lab.run({"layers.0.o_proj": shift}), lab.policy)
    row = found.to_map()
    assert {"verdict", "boundary", "after", "layer", "checkpoint", "index"} <= set(row)
    assert isinstance(row["index"], list)


def test_UNKNOWN_NAME_and_NOTHING_TO_COMPARE(lab):
    with pytest.raises(UnknownNameError):
        find_first_mismatch(lab.oracle, lab.run(), lab.policy, cases=["three"])
    with pytest.raises(NothingToCompareError):
        find_first_mismatch(lab.oracle, lab.run(), lab.policy, cases=[])
