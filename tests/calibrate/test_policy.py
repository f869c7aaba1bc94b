"""Policies: limits from floors, reasons, disjoint cases, and frozen files."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trlm_lab.base import canon
from trlm_lab.base.records import Case, PolicyEntry, TolerancePolicy
from trlm_lab.calibrate import (
    Floor,
    NoiseFloors,
    OwnDrift,
    calibration_key,
    check_disjoint,
    freeze,
    input_id,
    load_policy,
    make_policy,
)
from trlm_lab.errors import (
    CalibrationEmptyError,
    CalibrationOverlapError,
    PolicyFactorError,
    PolicyFileError,
    PolicyFrozenError,
    RecordError,
)

CASE = Case("a", (1, 2, 3))


def floors(*values: float) -> NoiseFloors:
    rows = tuple(Floor(f"layers.{i}.attn_probs", v, "a", 9) for i, v in enumerate(values))
    return NoiseFloors((CASE,), rows)


def made(*values: float, **kwargs: object) -> TolerancePolicy:
    return make_policy(floors(*values), name="p", oracle_id="o", reference_id="r", **kwargs)


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=5), st.floats(1, 100))
def test_the_limit_is_the_factor_times_the_floor(values, factor):
    policy = made(*values, factor=factor)
    for entry, value in zip(policy.entries, values, strict=True):
        assert entry.floor == value
        assert entry.limit == factor * value
        assert entry.limit >= entry.floor
        assert "calibration cases" in entry.reason


def test_the_identity_is_stable_and_binds_every_part():
    policy = made(0.25, 0.5)
    assert policy.policy_id == made(0.25, 0.5).policy_id
    assert TolerancePolicy.from_map(policy.to_map()).policy_id == policy.policy_id
    others = [made(0.25, math.nextafter(0.5, 1)), made(0.25, 0.5, factor=5), made(0.5, 0.25)]
    others += [made(0.25, 0.5, version=2), made(0.25)]
    assert len({p.policy_id for p in [policy, *others]}) == 6


def test_the_larger_of_oracle_noise_and_algorithm_error_sets_the_limit():
    rows = (
        Floor("layers.0.attn_probs", 0.5, "a", 9, 0.25, "b"),
        Floor("layers.1.attn_probs", 0.25, "a", 9, 0.5, "b"),
    )
    policy = make_policy(
        NoiseFloors((Case("a", (1,)),), rows), name="p", oracle_id="o", reference_id="r"
    )
    assert [e.limit for e in policy.entries] == [2.0, 2.0]
    assert [(e.floor, e.algorithm) for e in policy.entries] == [(0.5, 0.25), (0.25, 0.5)]
    assert "max|oracle" in policy.entries[0].reason
    assert "max|algorithm" in policy.entries[1].reason
    assert "largest in b" in policy.entries[1].reason


def test_the_identity_of_a_known_policy_never_moves():
    pinned = "45726a8a8aa637ec1096a25680571f22db1bcb66f56e779390b6ccb3a1802640"
    assert made(0.25).policy_id == pinned


def test_a_ceiling_holds_the_limit_by_name_or_operator():
    policy = made(1.0, 1.0, 1.0, ceilings={"attn_probs": 2.0, "layers.1.attn_probs": 0.5})
    assert [e.limit for e in policy.entries] == [2.0, 0.5, 2.0]
    assert policy.entries[1].floor == 1.0
    assert all("ceiling" in e.reason for e in policy.entries)
    assert made(0.1, ceilings={"attn_probs": 2.0}).entries[0].limit == 4.0 * 0.1


def test_a_zero_floor_says_that_any_difference_fails():
    assert "any difference fails" in made(0.0).entries[0].reason


def test_CALIBRATION_EMPTY():
    for empty in (NoiseFloors((), ()), NoiseFloors((CASE,), ()), NoiseFloors((), floors(1).floors)):
        with pytest.raises(CalibrationEmptyError):
            make_policy(empty, name="p", oracle_id="o", reference_id="r")


@pytest.mark.parametrize("factor", [0.999, 0, -4, math.nan, math.inf])
def test_POLICY_FACTOR(factor):
    with pytest.raises(PolicyFactorError):
        made(1.0, factor=factor)


@pytest.mark.parametrize(
    "judged",
    [
        Case("a", (9, 9)),
        Case("other", (1, 2, 3)),
        Case("other", (1, 2, 3), position_ids=(0, 1, 2), attention_mask=(1, 1, 1)),
        Case("other", (1, 2, 3), text="the same ids from a text"),
    ],
)
def test_CALIBRATION_OVERLAP_by_id_or_content(judged):
    with pytest.raises(CalibrationOverlapError, match=judged.case_id):
        check_disjoint(made(1.0), [Case("free", (5,)), judged])
    with pytest.raises(CalibrationOverlapError):
        made(1.0, judged=[judged])


def test_other_inputs_are_disjoint():
    judged = [Case("b", (1, 2)), Case("c", (1, 2, 3), position_ids=(1, 2, 3))]
    check_disjoint(made(1.0, judged=judged), judged)
    assert calibration_key(CASE) == f"a@{input_id(CASE)}"


def test_frozen_and_loaded(tmp_path):
    policy, path = made(0.25, 1e-7), tmp_path / "p.cbor"
    assert freeze(policy, path) == policy.policy_id
    assert canon.sha256_hex(path.read_bytes()) == policy.policy_id
    assert load_policy(path) == policy
    assert json.loads((tmp_path / "p.json").read_text())["policy_id"] == policy.policy_id
    assert freeze(policy, path) == policy.policy_id
    (tmp_path / "p.json").unlink()
    assert load_policy(path, policy.policy_id) == policy


def test_POLICY_FROZEN_another_policy_is_not_written_over(tmp_path):
    path = tmp_path / "p.cbor"
    freeze(made(0.25), path)
    before = path.read_bytes()
    with pytest.raises(PolicyFrozenError):
        freeze(made(0.5), path)
    assert path.read_bytes() == before
    assert load_policy(path) == made(0.25)


@pytest.mark.parametrize("damage", ["absent", "flip", "truncate", "json", "twin", "list", "float"])
def test_POLICY_FILE(tmp_path, damage):
    policy, path = made(0.25), tmp_path / "p.cbor"
    freeze(policy, path)
    twin, raw = tmp_path / "p.json", path.read_bytes()
    if damage == "absent":
        path.unlink()
    elif damage == "flip":
        path.write_bytes(raw.replace(b"attn_probs", b"attn_values"[:10]))
    elif damage == "truncate":
        path.write_bytes(raw[:-1])
    elif damage == "json":
        twin.write_text("{")
    elif damage == "twin":
        twin.write_text(twin.read_text().replace('"version": 1', '"version": 2'))
    elif damage == "list":
        path.write_bytes(canon.encode([1]))
    else:
        path.write_bytes(canon.encode({**policy.to_map(), "entries": [["a", "x", 1.0, "r"]]}))
    with pytest.raises(PolicyFileError):
        load_policy(path)


def test_POLICY_FILE_every_changed_byte_is_found(tmp_path):
    policy, path = made(0.25), tmp_path / "p.cbor"
    freeze(policy, path)
    raw = path.read_bytes()
    for place in range(len(raw)):
        path.write_bytes(raw[:place] + bytes([raw[place] ^ 1]) + raw[place + 1 :])
        with pytest.raises(PolicyFileError):
            load_policy(path)


def test_POLICY_FILE_of_unknown_identity(tmp_path):
    path = tmp_path / "p.cbor"
    freeze(made(0.25), path)
    with pytest.raises(PolicyFileError, match="expected"):
        load_policy(path, "0" * 64)
    (tmp_path / "p.json").unlink()
    with pytest.raises(PolicyFileError, match="neither"):
        load_policy(path)
    with pytest.raises(PolicyFileError, match="json"):
        freeze(made(0.25), tmp_path / "p.json")


def test_no_floor_is_below_what_the_oracle_moves_by_itself():
    own = OwnDrift("ab" * 32, {"layers.0.attn_probs": 0.5, "layers.1.attn_probs": 0.125})
    policy = made(0.25, 0.25, 0.25, own_drift=own)
    assert [(e.floor, e.drift) for e in policy.entries] == [(0.5, 0.5), (0.25, 0.125), (0.25, 0.0)]
    assert [e.limit for e in policy.entries] == [2.0, 1.0, 1.0]
    assert policy.entries[0].reason.startswith("4 x the oracle's own drift, above max|oracle")
    assert policy.entries[1].reason == made(0.25, 0.25).entries[1].reason
    assert TolerancePolicy.from_map(policy.to_map()) == policy
    assert policy.to_map()["schema"] == "trlm.tolerance.v2"
    assert made(0.25).to_map()["schema"] == "trlm.tolerance.v1"


def test_a_drift_without_its_record_and_one_above_its_floor_are_refused():
    own = OwnDrift("ab" * 32, {})
    row = made(0.25, own_drift=own).to_map()
    del row["drift_id"]
    with pytest.raises(RecordError):
        TolerancePolicy.from_map(row)
    with pytest.raises(RecordError, match="go together"):
        TolerancePolicy.from_map({**row, "schema": "trlm.tolerance.v1"})
    with pytest.raises(RecordError, match=r"drift is 0\.5"):
        PolicyEntry("logits", 0.25, 1.0, "r", 0.0, 0.5)
