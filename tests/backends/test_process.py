"""The process adapter: what it believes, what it refuses, and that it leaves nothing behind."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from trlm_lab.backends import process_launch
from trlm_lab.backends.process import ProcessRunner, ProcessSession
from trlm_lab.backends.process_command import Limits, ProcessCommand
from trlm_lab.backends.process_shapes import ModelShapes
from trlm_lab.base.interfaces import BatchSession, Runner, Subject
from trlm_lab.base.records import Case, EngineIdentity, Outcome
from trlm_lab.base.records.outcome import outcome_of_error
from trlm_lab.errors import (
    AllKeysMaskedError,
    CaseNotSupportedError,
    ContextLengthError,
    ModelShapeError,
    PositionRangeError,
    ProcessCommandError,
    ProcessCrashedError,
    ProcessOutputError,
    ProcessReportError,
    ProcessTimeoutError,
    ProgramMissingError,
    RunnerFileError,
    TokenRangeError,
    TrlmError,
    UnknownNameError,
)
from trlm_lab.flows.packing import Packed

STUB = Path(__file__).parent / "programs" / "stub_runtime.py"
CONFIG = {
    "model_type": "llama",
    "vocab_size": 20,
    "hidden_size": 8,
    "intermediate_size": 12,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
}
CASE = Case("abc", (3, 1, 2))
OTHER = Case("def.1", (5,))


@pytest.fixture
def subject(tmp_path: Path) -> Subject:
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    return Subject(model_dir=tmp_path)


def stub(misdeed: str, **limits: float) -> ProcessCommand:
    arguments = (sys.executable, str(STUB), misdeed)
    return replace(ProcessCommand(arguments), limits=Limits(**{"seconds": 60.0, **limits}))


def observed(command: ProcessCommand, subject: Subject, case: Case = CASE) -> dict[str, np.ndarray]:
    with ProcessRunner(command).open(subject) as session:
        return {o.name: o.values for o in session.run(case)}


def raised(misdeed: str, subject: Subject, kind: type[TrlmError], **limits: float) -> TrlmError:
    with pytest.raises(kind) as caught:
        observed(stub(misdeed, **limits), subject)
    return caught.value


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


def test_a_crash_is_infra_with_the_last_words(subject: Subject) -> None:
    error = raised("crash", subject, ProcessCrashedError)
    assert "exit status 7" in error.text
    assert "has no layer 3" in error.text
    assert outcome_of_error(error.code) is Outcome.INFRA


def test_a_signal_is_named(subject: Subject) -> None:
    assert "SIGSEGV" in raised("signal", subject, ProcessCrashedError).text


def _gone(pid: int) -> bool:
    """Whether a process has ended; an orphan is reaped by init at its leisure."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return True
    return state == "Z"


def _gone_soon(pid: int) -> bool:
    for _ in range(200):
        if _gone(pid):
            return True
        time.sleep(0.02)
    return False


def test_a_hang_is_killed_with_its_whole_group(subject: Subject) -> None:
    command = ProcessCommand((sys.executable, "-S", str(STUB.parent / "hang.py")))
    with ProcessRunner(command, timeout=3.0).open(subject) as session:
        with pytest.raises(ProcessTimeoutError) as caught:
            session.prepare([CASE])
        grandchild = int(next(session._room.rglob("grandchild")).read_text())
    assert "waiting for a device" in caught.value.text
    assert outcome_of_error(caught.value.code) is Outcome.INFRA
    assert _gone_soon(grandchild)


DRIVER = """
import sys
from pathlib import Path
from trlm_lab.backends.process_command import ProcessCommand
from trlm_lab.backends.process_launch import launch
out = Path(sys.argv[2])
launch(ProcessCommand((sys.executable, "-S", sys.argv[1])), out / "request", out, out / "log")
"""


def _pids(out: Path) -> list[int]:
    """Runtime and grandchild, once both have started."""
    for _ in range(1000):
        if all((out / name).exists() for name in ("runtime", "grandchild")):
            return [int((out / name).read_text()) for name in ("runtime", "grandchild")]
        time.sleep(0.02)
    raise AssertionError("the runtime did not start")


@pytest.mark.parametrize(
    ("number", "status", "survivors"),
    [
        (signal.SIGTERM, 128 + signal.SIGTERM, 0),
        (signal.SIGHUP, 128 + signal.SIGHUP, 0),
        (signal.SIGINT, -signal.SIGINT, 0),
        # Nobody can act on SIGKILL: the kernel ends the runtime, and the grandchild is on its own.
        (signal.SIGKILL, -signal.SIGKILL, 1),
    ],
)
def test_a_workbench_that_is_ended_leaves_no_runtime(
    tmp_path: Path, number: int, status: int, survivors: int
) -> None:
    command = [sys.executable, "-c", DRIVER, str(STUB.parent / "hang.py"), str(tmp_path)]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as driver:
        runtime, grandchild = _pids(tmp_path)
        driver.send_signal(number)
        assert driver.wait(60) == status
    assert _gone_soon(runtime)
    if survivors:
        os.kill(grandchild, signal.SIGKILL)
    assert _gone_soon(grandchild)


def test_any_error_on_our_side_ends_the_whole_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[int] = []

    def fail(pid: int, seconds: float) -> bool:
        found.extend(_pids(tmp_path))
        raise RuntimeError("ours")

    monkeypatch.setattr(process_launch, "_ended_within", fail)
    command = ProcessCommand((sys.executable, "-S", str(STUB.parent / "hang.py")))
    with pytest.raises(RuntimeError, match="ours"):
        process_launch.launch(command, tmp_path / "request", tmp_path, tmp_path / "log")
    assert [_gone_soon(pid) for pid in found] == [True, True]


def test_signals_are_as_before_after_a_call(subject: Subject) -> None:
    before = [signal.getsignal(s) for s in process_launch.ENDING]
    observed(stub("none"), subject)
    assert [signal.getsignal(s) for s in process_launch.ENDING] == before


def test_a_grandchild_left_behind_does_not_hold_up_the_call(subject: Subject) -> None:
    # The grandchild keeps the standard error open for ten minutes and is killed with the group.
    assert "logits" in observed(stub("grandchild"), subject)


def test_memory_limit(subject: Subject) -> None:
    error = raised("memory", subject, ProcessCrashedError, memory_bytes=700 << 20)
    assert "MemoryError" in error.text
    assert "logits" in observed(stub("memory"), subject)


def test_file_limit(subject: Subject) -> None:
    error = raised("flood", subject, ProcessCrashedError, file_bytes=1 << 20)
    assert "SIGXFSZ" in error.text or "File too large" in error.text


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


def test_only_allowed_variables_pass(subject: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_SECRET_TOKEN", "1")
    command = replace(stub("environment"), environment=("HOME",))
    with pytest.raises(ProcessCrashedError) as caught:
        observed(command, subject)
    assert "A_SECRET_TOKEN" not in caught.value.text
    assert "PATH" in caught.value.text


def test_a_command_line_is_split_without_a_shell(subject: Subject) -> None:
    runner = ProcessRunner(f"'{sys.executable}' '{STUB}' none", timeout=5.0)
    assert runner.command.arguments == (sys.executable, str(STUB), "none")
    assert runner.command.limits.seconds == 5.0
    assert ProcessRunner("a '$HOME;x'").command.arguments == ("a", "$HOME;x")


def test_an_argument_too_long_for_a_path_is_an_argument() -> None:
    command = ProcessRunner(f"python {'x' * 5000} {'y' * 300}.json").command
    assert command.identity()["arguments"][0]["text"] == "x" * 5000


@pytest.mark.parametrize("command", ["", "  ", "python 'x", "nowhere/runner.json"])
def test_a_command_that_is_none(command: str) -> None:
    with pytest.raises(ProcessCommandError):
        ProcessRunner(command)


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


def test_a_missing_program(subject: Subject) -> None:
    runner = ProcessRunner("no-such-program-anywhere --flag")
    assert not runner.availability().available
    with pytest.raises(ProgramMissingError) as caught:
        runner.open(subject)
    assert outcome_of_error(caught.value.code) is Outcome.INFRA


def _runner_file(path: Path, **fields: object) -> Path:
    row = {"schema": "trlm.process.runner.v1", "arguments": ["python3", "stub.py", "none"]}
    path.write_text(json.dumps({**row, **fields}))
    return path


def test_a_runner_file(subject: Subject, tmp_path: Path) -> None:
    (tmp_path / "stub.py").write_bytes(STUB.read_bytes())
    file = _runner_file(
        tmp_path / "runner.json",
        environment=["HOME"],
        limits={"seconds": 50, "memory_bytes": 1 << 33},
        x_note="ours",
    )
    runner = ProcessRunner(str(file))
    assert runner.command.limits == Limits(50, 1 << 33)
    assert runner.command.environment == ("HOME",)
    assert runner.command.arguments[1] == str(tmp_path / "stub.py")
    assert "logits" in observed(runner.command, subject)


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({"schema": "v2"}, "schema"),
        ({"arguments": []}, "empty"),
        ({"arguments": "python x"}, "no list"),
        ({"environment": {"A": "b"}}, "environment"),
        ({"limits": {"seconds": -1}}, "limits.seconds"),
        ({"limits": {"memory_bytes": 1.5}}, "limits.memory_bytes"),
        ({"limits": {"cpus": 1}}, "limits.cpus"),
        ({"shell": True}, "shell"),
    ],
)
def test_a_bad_runner_file(tmp_path: Path, fields: dict[str, object], word: str) -> None:
    file = _runner_file(tmp_path / "runner.json", **fields)
    with pytest.raises(RunnerFileError) as caught:
        ProcessRunner(str(file))
    assert word in caught.value.detail


def test_a_runner_file_that_is_no_json(tmp_path: Path) -> None:
    (tmp_path / "r.json").write_text('{"schema": "a", "schema": "b"}')
    with pytest.raises(RunnerFileError):
        ProcessRunner(str(tmp_path / "r.json"))


def test_the_workbench_programs_come_last_in_an_activated_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = str(Path(sys.executable).parent)
    monkeypatch.setenv("PATH", "/somewhere")
    monkeypatch.delenv("CONDA_PREFIX", raising=False)
    monkeypatch.setenv("VIRTUAL_ENV", "/else")
    assert ProcessCommand(("x",)).visible_environment()["PATH"] == f"/somewhere{os.pathsep}{own}"
    monkeypatch.delenv("VIRTUAL_ENV")
    assert ProcessCommand(("x",)).visible_environment()["PATH"] == f"{own}{os.pathsep}/somewhere"


def test_shapes_of_the_ladder() -> None:
    shapes = ModelShapes(L=2, D=8, H=4, K=2, E=2, F=12, V=20)
    assert shapes.expected("layers.1.k_rope", 3).shape == (3, 2, 2)
    assert shapes.expected("layers.1.attn_probs", 3).shape == (4, 3, 3)
    assert shapes.expected("layers.0.v_proj", 3).shape == (3, 4)
    assert shapes.expected("step4.layers.0.attn_probs", 3).shape == (4, 1, None)
    assert shapes.expected("logits.topk_ids", 3).shape == (3, 20)
    for name in ("layers.2.input", "layer.0.input", "step0.step1.logits", "logits.chunk01"):
        with pytest.raises(UnknownNameError):
            shapes.expected(name, 3)


def test_shapes_of_other_families(tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    config.write_text('{"n_embd": 8, "n_head": 2, "n_layer": 3, "n_inner": null, "vocab_size": 9}')
    assert ModelShapes.of_model_dir(tmp_path) == ModelShapes(L=3, D=8, H=2, K=2, E=4, F=32, V=9)
    config.write_text(json.dumps({"text_config": {**CONFIG, "head_dim": 6}}))
    assert ModelShapes.of_model_dir(tmp_path).E == 6


@pytest.mark.parametrize("text", ["{", '{"hidden_size": "8"}', '{"hidden_size": true}', "[]"])
def test_a_configuration_without_shapes(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(ModelShapeError):
        ProcessRunner(stub("none")).open(Subject(model_dir=tmp_path))


def test_shapes_of_an_artifact_alone(small_artifacts: dict[str, Packed]) -> None:
    artifact = small_artifacts["q8_r128"].artifact
    with ProcessRunner(stub("none")).open(Subject(artifact=artifact.path)) as session:
        assert session._shapes == ModelShapes(L=4, D=96, H=6, K=2, E=16, F=256, V=512)


def test_a_subject_of_nothing() -> None:
    with pytest.raises(ModelShapeError):
        ProcessRunner(stub("none")).open(Subject())


def test_a_refused_subject_leaves_no_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(ModelShapeError):
        ProcessRunner(stub("none")).open(Subject(model_dir=tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_an_unprepared_session_knows_its_program(subject: Subject) -> None:
    with ProcessRunner(stub("none")).open(subject) as session:
        assert isinstance(session, ProcessSession)
        before = session.identity
        list(session.run(CASE))
        assert before.build_sha256 == session.identity.build_sha256
        assert before.version == ""
