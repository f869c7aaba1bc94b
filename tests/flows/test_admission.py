"""Every command that runs the weights of a source acquires and describes it first."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.flows.test_cli import cases_file
from trlm_lab.base.interfaces import Subject
from trlm_lab.errors import GoldenJudgeError
from trlm_lab.flows import exec_stage, golden_judge
from trlm_lab.flows.cli.app import run

pytestmark = pytest.mark.xdist_group("flows")
GOLDEN = Path(__file__).parents[2] / "examples" / "golden" / "llama-small-4"
PROCESS = "process:no-such-program"

#: By what runs: the words before the model, and whether an output follows.
COMMANDS: dict[str, tuple[list[str], bool]] = {
    "capture": (["capture", "--model"], True),
    "exec torch": (["exec", "--backend", "torch", "--model"], True),
    "exec llama.cpp": (["exec", "--backend", "llama.cpp", "--model"], True),
    "exec process": (["exec", "--backend", PROCESS, "--model"], True),
    "exec reference": (["exec", "--backend", "reference", "--model"], True),
    "calibrate": (["calibrate", "--model"], True),
    "bisect": (["bisect", "--backend", PROCESS, "--model"], False),
    "judge torch": (["golden", "judge", str(GOLDEN), "--engine", "torch", "--model"], True),
    "judge process": (["golden", "judge", str(GOLDEN), "--engine", PROCESS, "--model"], True),
    "faults": (["faults", "run"], False),
    "run": (["run"], True),
}


@pytest.fixture
def conflicting(raw_model: Path) -> Path:
    """A directory whose files agree, and whose framework stops at other ids than they say."""
    config, generation = (raw_model / f"{name}.json" for name in ("config", "generation_config"))
    declared = json.loads(config.read_bytes())
    del declared["eos_token_id"]
    config.write_text(json.dumps(declared))
    generation.write_text(json.dumps({**json.loads(generation.read_bytes()), "eos_token_id": 5}))
    return raw_model


def words(name: str, model: Path, tmp_path: Path) -> tuple[list[str], Path]:
    command, writes = COMMANDS[name]
    out = tmp_path / "new" / ("policy.cbor" if name == "calibrate" else "out")
    given = [*command, f"dir:{model}" if command[-1] == "run" else str(model)]
    if name not in ("faults", "judge torch", "judge process"):
        given += ["--cases", str(cases_file(tmp_path))]
    if name == "run":
        given += ["--calibration", "small-calibration"]
    return [*given, *(["--out", str(out)] if writes else []), "--json"], out


@pytest.mark.parametrize("name", COMMANDS)
def test_a_conflict_stops_it(
    name: str, conflicting: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command, out = words(name, conflicting, tmp_path)
    assert run(command) == 3
    error = json.loads(capsys.readouterr().out)["error"]
    assert (error["code"], error["where"]) == ("CONFLICT", "generation_config.json#/eos_token_id")
    assert not out.parent.exists()


def test_a_conflict_that_the_framework_alone_shows_can_be_settled(
    conflicting: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["describe", str(conflicting), "--json"]) == 3
    rows = json.loads(capsys.readouterr().out)["conflicts"]["findings"]
    (stop,) = [row for row in rows if row["level"] == "error"]
    row = {
        "schema": "trlm.resolution.v1",
        **{key: stop[key] for key in ("conflict_id", "code", "field")},
        "kind": "normative_choice",
        "value": [5],
        "reviewer": "A. Reviewer",
        "deviation": "The publisher's own generation stops at 5.",
    }
    file = tmp_path / "r.json"
    file.write_text(json.dumps(row))
    for name in ("exec torch", "capture"):
        command, out = words(name, conflicting, tmp_path)
        assert run([*command, "--resolution", str(file)]) == 0
        assert out.is_dir()
        shutil.rmtree(out)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_resolution_of_something_else_stops_it(
    name: str,
    raw_model: Path,
    unmatched: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    command, out = words(name, raw_model, tmp_path)
    assert run([*command, "--resolution", str(unmatched)]) == 3
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "RESOLUTION_UNMATCHED"
    assert not out.parent.exists()


@pytest.mark.parametrize("name", [n for n in COMMANDS if n.startswith(("exec", "judge"))])
def test_the_engine_runs_the_snapshot_and_not_the_directory(
    name: str, raw_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Subject] = []

    class Watched:
        name = "watched"

        def open(self, subject: Subject) -> Any:
            opened.append(subject)
            raise GoldenJudgeError(where="here", detail="seen")

    for module in (exec_stage, golden_judge):
        monkeypatch.setattr(module, "runner", lambda *_, **__: Watched())
    command, _ = words(name, raw_model, tmp_path)
    assert run(command) == 3
    (subject,) = opened
    if name == "exec reference":
        assert subject.model_dir is None
        assert subject.artifact is not None
    else:
        assert subject.model_dir is not None
        assert subject.model_dir.parent == tmp_path / "home" / "snapshots"
