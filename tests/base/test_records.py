"""Records are checked where they are built and keep their identity through their maps."""

from typing import Any

import numpy as np
import pytest

from tests.base.configuration import SOUND
from trlm_lab.base.records import (
    ArrayDigest,
    Case,
    CaseSuite,
    CaseTrace,
    EffectiveConfig,
    EngineIdentity,
    Node,
    Observation,
    Outcome,
    PolicyEntry,
    TolerancePolicy,
    TraceRecord,
)
from trlm_lab.base.records.outcome import worst
from trlm_lab.base.registry import Registry
from trlm_lab.errors import DuplicateNameError, RecordError, TrlmError, UnknownNameError, UsageError


def test_config_survives_its_map() -> None:
    config = EffectiveConfig.from_map(SOUND)
    assert EffectiveConfig.from_map(config.to_map()) == config
    assert config.to_map() == SOUND


@pytest.mark.parametrize(
    "change",
    [
        {"num_key_value_heads": 3},
        {"head_dim": 5},
        {"rms_norm_eps": 1e-5},
        {"rope_inv_freq": []},
        {"vocab_size": 0},
        {"surprise": 1},
        {"attention_scale": float("inf")},
    ],
)
def test_contradictory_config_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(RecordError):
        EffectiveConfig.from_map({**SOUND, **change})


def test_an_outcome_is_no_boolean() -> None:
    with pytest.raises(TypeError):
        bool(Outcome.MATCH)
    assert worst([Outcome.MATCH, Outcome.WRONG, Outcome.DRIFT]) is Outcome.WRONG


@pytest.mark.parametrize("case_id", ["", "../x", "a/b", "-x", "x" * 81])
def test_case_ids_are_safe_file_names(case_id: str) -> None:
    with pytest.raises(RecordError):
        Case(case_id, (1,))


def test_a_suite_refuses_a_case_id_twice() -> None:
    with pytest.raises(RecordError):
        CaseSuite("s", (Case("a", (1,)), Case("a", (2,))))


def test_trace_record_survives_its_map() -> None:
    digest = ArrayDigest.of(Observation("embedding", np.zeros((2, 3), np.float32)))
    record = TraceRecord(
        EngineIdentity("e", "1", "p", "00" * 32, {"threads": 1}),
        {"artifact": "x"},
        (CaseTrace("c", "11" * 32, (digest,)),),
    )
    again = TraceRecord.from_map(record.to_map())
    assert again == record
    assert again.trace_id == record.trace_id


def test_observations_are_float32_or_int64() -> None:
    with pytest.raises(RecordError):
        Observation("logits", np.zeros(2, np.float64))


def test_policy_survives_its_map_and_loosening_changes_its_id() -> None:
    entries = (PolicyEntry("embedding", 0.0, 0.0, "a lookup"),)
    policy = TolerancePolicy("p", 1, 4.0, "o", "r", "s", ("c",), entries)
    assert TolerancePolicy.from_map(policy.to_map()) == policy
    looser = TolerancePolicy.from_map(
        {**policy.to_map(), "entries": [["embedding", 0.0, 0.5, "a lookup"]]}
    )
    assert looser.policy_id != policy.policy_id


def test_nodes_survive_their_bytes_and_bind_the_order_of_children() -> None:
    a, b = "11" * 32, "22" * 32
    node = Node("trace", {"x": 1}, (a, b))
    assert Node.decode(node.encode()).id == node.id
    assert Node("trace", {"x": 1}, (b, a)).id != node.id
    with pytest.raises(RecordError):
        Node("surprise")


def test_registry_refuses_duplicates_and_unknown_names() -> None:
    registry: Registry[int] = Registry("engine")
    registry.register("a", 1)
    with pytest.raises(DuplicateNameError):
        registry.register("a", 2)
    with pytest.raises(UnknownNameError):
        registry["b"]


def all_errors(root: type[TrlmError]) -> list[type[TrlmError]]:
    found = [root]
    for child in root.__subclasses__():
        found += all_errors(child)
    return found


def test_error_codes_are_unique_and_texts_are_derived() -> None:
    classes = all_errors(TrlmError)
    # NOT_SUPPORTED is an outcome too: whatever an engine cannot do carries it. A command line that
    # does not parse is the plain usage error.
    shared = ("NOT_SUPPORTED", UsageError.code)
    codes = [c.code for c in classes if c.code not in shared]
    assert len(codes) == len(set(codes)), "two error classes share a code"
    error = UnknownNameError(kind="engine", name="x", known="a, b", where="--backends")
    assert str(error).startswith("UNKNOWN_NAME at --backends: engine 'x' is unknown")
    with pytest.raises(TypeError):
        UnknownNameError(kind="engine")
