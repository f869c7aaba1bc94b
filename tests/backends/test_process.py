"""The process adapter: what it asks for, what it believes and what it refuses."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.backends.stub_process import CASE, CONFIG, OTHER, STUB, observed, raised, stub
from trlm_lab.backends.process import ProcessRunner
from trlm_lab.base.interfaces import BatchSession, Runner, Subject
from trlm_lab.base.records import Case, EngineIdentity, Outcome
from trlm_lab.base.records.outcome import outcome_of_error
from trlm_lab.errors import (
    AllKeysMaskedError,
    CaseNotSupportedError,
    ContextLengthError,
    PositionRangeError,
    ProcessOutputError,
    ProcessReportError,
    TokenRangeError,
    TrlmError,
)


def test_protocols(subject: Subject) -> None:
    runner = ProcessRunner(stub("none"))
    assert isinstance(runner, Runner)
    with runner.open(subject) as session:
        assert isinstance(session, BatchSession)


def test_checkpoints_come_in_ladder_order_with_top_logits(subject: Subject) -> None:
    found = observed(stub("none"), subject)
    assert list(found) == [
        "token_ids",
        "embedding",
        "layers.1.output",
        "logits",
        "logits.topk_ids",
        "logits.topk_values",
    ]
    assert found["token_ids"].tolist() == [3, 1, 2]
    assert found["embedding"][:, 0].tolist() == [3.0, 1.0, 2.0]
    # The case's own token has logit 1, all others 0: those follow by ascending id.
    assert found["logits.topk_ids"][1].tolist()[:4] == [1, 0, 2, 3]
    assert found["logits.topk_ids"].shape == (3, 20)


def test_all_cases_go_in_one_call(subject: Subject, tmp_path: Path) -> None:
    with ProcessRunner(stub("none")).open(subject) as session:
        session.prepare([CASE, OTHER])
        assert next(o.values[0].tolist() for o in session.run(OTHER)) == 5
        assert next(o.name for o in session.run(CASE)) == "token_ids"
        calls = list(session._room.iterdir())
        assert len(calls) == 1
        room = session._room
    assert not room.exists()


def test_the_request_says_everything(subject: Subject) -> None:
    case = Case("m", (1, 2), text="hi", position_ids=(4, 5), attention_mask=(1, 0))
    with ProcessRunner(stub("none"), checkpoints=("layers.*.q_rope",)).open(subject) as session:
        session.prepare([case])
        request = json.loads(next(session._room.rglob("request.json")).read_text())
        names = [o.name for o in session.run(case)]
    assert request == {
        "schema": "trlm.process.request.v1",
        "model_dir": str(subject.model_dir),
        "artifact": None,
        "cases": [
            {
                "case_id": "m",
                "token_ids": [1, 2],
                "position_ids": [4, 5],
                "attention_mask": [1, 0],
            }
        ],
        "checkpoints": ["layers.*.q_rope"],
        "decode_steps": 0,
    }
    assert names[:3] == ["token_ids", "position_ids", "attention_mask"]


def test_identity_binds_program_and_script_without_absolute_paths(subject: Subject) -> None:
    with ProcessRunner(stub("none")).open(subject) as session:
        session.prepare([CASE])
        identity = session.identity
    assert (identity.name, identity.version, identity.profile) == ("process:stub", "1", "f32")
    assert len(identity.details["executable_sha256"]) == 64
    assert [row["text"] for row in identity.details["arguments"]] == ["stub_runtime.py", "none"]
    assert len(identity.details["arguments"][0]["sha256"]) == 64
    assert str(STUB.parent) not in json.dumps(identity.to_map())
    assert EngineIdentity(**identity.to_map()) == identity


def test_availability_tells_another_script_apart() -> None:
    first = ProcessRunner(stub("none")).availability()
    second = ProcessRunner(stub("crash")).availability()
    assert first.available
    assert first.version != second.version


def test_a_non_finite_value_passes_as_it_is(subject: Subject) -> None:
    assert np.isnan(observed(stub("nan"), subject)["layers.1.output"][0, 1])


def test_chunked_logits_are_joined(subject: Subject) -> None:
    whole = observed(stub("none"), subject)
    joined = observed(stub("chunks"), subject)
    assert list(joined) == list(whole)
    assert np.array_equal(joined["logits"], whole["logits"])


def test_settled_extras_pass(subject: Subject) -> None:
    assert "generated" not in observed(stub("extras"), subject)


def test_the_ids_that_the_runtime_saw_are_told(subject: Subject) -> None:
    assert observed(stub("other_ids"), subject)["token_ids"].tolist() == [3, 3, 3]


def test_a_runtime_may_expose_nothing(subject: Subject) -> None:
    assert list(observed(stub("nothing_exposed"), subject)) == ["token_ids"]


@pytest.mark.parametrize(
    ("misdeed", "place", "word"),
    [
        ("half_precision", "abc.safetensors: logits", "F16"),
        ("wrong_shape", "abc.safetensors: embedding", "[3, 7], expected [3, 8]"),
        ("transposed", "abc.safetensors: embedding", "[8, 3]"),
        ("unknown_name", "abc.safetensors: layers.0.query", "unknown"),
        ("layer_too_many", "abc.safetensors: layers.7.output", "layers 0 to 1"),
        ("chunk_missing", "abc.safetensors: logits.chunk0", "5 of 20"),
        ("chunks_and_logits", "abc.safetensors: logits.chunk0", "both"),
        ("no_file", "abc.safetensors", "No such file"),
        ("pipe", "abc.safetensors", "regular"),
        ("link", "abc.safetensors", "regular"),
        ("truncated", "abc.safetensors", "TRUNCATED"),
        ("no_container", "abc.safetensors", "header"),
        ("huge_header", "abc.safetensors", str(2**40)),
        ("huge_declared", "abc.safetensors", ""),
        ("overlap", "abc.safetensors", ""),
    ],
)
def test_a_bad_tensor_file_is_infra(subject: Subject, misdeed: str, place: str, word: str) -> None:
    error = raised(misdeed, subject, ProcessOutputError)
    assert error.where == place
    assert word in error.detail
    assert outcome_of_error(error.code) is Outcome.INFRA


@pytest.mark.parametrize(
    "misdeed",
    [
        "report_missing",
        "report_malformed",
        "report_schema",
        "report_number",
        "report_refusal_type",
        "refuses_stranger",
    ],
)
def test_a_bad_report_is_infra(subject: Subject, misdeed: str) -> None:
    error = raised(misdeed, subject, ProcessReportError)
    assert outcome_of_error(error.code) is Outcome.INFRA


def test_a_case_that_is_not_supported(subject: Subject) -> None:
    masked = Case("masked", (1, 2), attention_mask=(1, 0))
    with ProcessRunner(stub("refuses_masks")).open(subject) as session:
        session.prepare([masked, CASE])
        assert "logits" in [o.name for o in session.run(CASE)]
        with pytest.raises(CaseNotSupportedError) as caught:
            list(session.run(masked))
    assert outcome_of_error(caught.value.code) is Outcome.NOT_SUPPORTED


def test_the_reason_of_a_refusal_is_told(subject: Subject) -> None:
    assert "no masks" in raised("refuses_with_reason", subject, CaseNotSupportedError).text


@pytest.mark.parametrize(
    ("case", "error"),
    [
        (Case("bad", (1, 20)), TokenRangeError),
        (Case("bad", (1,) * 33), ContextLengthError),
        (Case("bad", (1, 2), position_ids=(0, 32)), PositionRangeError),
        (Case("bad", (1, 2), attention_mask=(0, 1)), AllKeysMaskedError),
    ],
)
def test_cases_beyond_the_model_start_nothing(
    tmp_path: Path, case: Case, error: type[TrlmError]
) -> None:
    (tmp_path / "config.json").write_text(json.dumps({**CONFIG, "max_position_embeddings": 32}))
    with ProcessRunner(stub("none")).open(Subject(model_dir=tmp_path)) as session:
        with pytest.raises(error, match="case bad"):
            session.prepare([CASE, case])
        assert list(session._room.iterdir()) == []
