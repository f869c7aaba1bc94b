"""A reviewed resolution goes through acquiring, describing and the receipts, and shows in all."""

import json
from pathlib import Path
from typing import Any

import pytest

from trlm_lab import errors
from trlm_lab.flows.acquisition import acquire_source, describe_source
from trlm_lab.flows.attestation import resolutions_under
from trlm_lab.flows.cli.app import run
from trlm_lab.flows.plan import RunPlan
from trlm_lab.flows.reviewed_files import Reviewed
from trlm_lab.flows.reviewed_source import kept_reviewed, read_reviewed
from trlm_lab.flows.verification import verify_directory
from trlm_lab.flows.workspace import Workspace
from trlm_lab.receipts.verify import RECEIPT_FILE, receipt_text

DEVIATION = "Both ids stop a generation here, as the publisher's examples do."


@pytest.fixture
def model(raw_model: Path) -> Path:
    """A directory whose two files name different stop tokens."""
    row = json.loads((raw_model / "config.json").read_bytes())
    (raw_model / "config.json").write_text(json.dumps({**row, "eos_token_id": 5}))
    return raw_model


def described(model: Path, capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, Any]:
    status = run(["describe", f"dir:{model}", "--json", *options])
    return status, json.loads(capsys.readouterr().out)


def resolution(conflict: dict[str, Any], path: Path, value: Any = None) -> Path:
    row = {
        "schema": "trlm.resolution.v1",
        **{key: conflict[key] for key in ("conflict_id", "code", "field")},
        "kind": "normative_choice",
        "value": [2, 5] if value is None else value,
        "reviewer": "A. Reviewer",
        "deviation": DEVIATION,
    }
    path.write_text(json.dumps(row))
    return path


def stop(document: dict[str, Any]) -> dict[str, Any]:
    found = [f for f in document["conflicts"]["findings"] if f["level"] == "error"]
    assert [f["code"] for f in found] == ["EOS_CONFLICT"]
    conflict: dict[str, Any] = found[0]
    return conflict


@pytest.mark.slow
def test_a_conflict_is_described_then_settled_and_shown(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, document = described(model, capsys)
    assert (status, document["config"]) == (3, None)
    by_field = {row["field"]: row["our choice"] for row in document["evidence"]}
    assert by_field["eos_token_id"] == "STOPPED"
    assert by_field["vocab_size"] == "512"
    assert run(["acquire", f"dir:{model}"]) == 3
    assert "EOS_CONFLICT" in capsys.readouterr().err

    file = resolution(stop(document), tmp_path / "r.json")
    ws = Workspace(tmp_path / "run", resolutions=read_reviewed(Reviewed((file,))).resolutions)
    done = describe_source(ws, acquire_source(ws, f"dir:{model}"))
    assert done.config.eos_token_id == (2, 5)
    config = ws.store.get(done.nodes["effective_config"])
    (node,) = [n for n in map(ws.store.get, config.children) if n.type == "resolution"]
    assert DEVIATION in node.metadata["statement"]
    assert ws.store.get(node.children[0]).type == "conflict"

    (ws.out / RECEIPT_FILE).write_text(receipt_text(config.id))
    report = verify_directory(ws.out)
    assert report.sound, report.findings
    assert [f.detail for f in report.findings if f.code == "CONFLICT_SETTLED"] == [
        node.metadata["statement"]
    ]
    (settled,) = resolutions_under(ws.store, config.id)
    assert settled.sha256 == read_reviewed(Reviewed((file,))).files.ids()["resolutions"][0]
    assert DEVIATION in settled.annotations["statement"]

    status, document = described(model, capsys, "--resolution", str(file))
    assert (status, document["config"]["eos_token_id"]) == (0, [2, 5])
    assert DEVIATION in document["conflicts"]["resolutions"][0]["statement"]


def test_a_resolution_of_something_else_is_refused_before_conversion(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, document = described(model, capsys)
    conflict = {**stop(document), "conflict_id": "ab" * 32}
    file = resolution(conflict, tmp_path / "r.json")
    assert run(["acquire", f"dir:{model}", "--resolution", str(file), "--json"]) == 3
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "RESOLUTION_UNMATCHED"
    file.write_text("{}")
    assert run(["describe", f"dir:{model}", "--resolution", str(file), "--json"]) == 3
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "RESOLUTION_FILE"


@pytest.mark.slow
def test_single_stages_take_a_resolution(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, document = described(model, capsys)
    settled = ["--resolution", str(resolution(stop(document), tmp_path / "r.json"))]
    cases = tmp_path / "cases.json"
    cases.write_text(
        '{"schema":"trlm.process.cases.v1","cases":[{"case_id":"a","token_ids":[1,2]}]}'
    )
    given = ["--model", str(model), "--cases", str(cases), "--out"]
    for command in (["capture"], ["exec", "--backend", "reference"]):
        out = str(tmp_path / command[0])
        assert run([*command, *given, out]) == 3
        assert "EOS_CONFLICT" in capsys.readouterr().err
        assert run([*command, *given, out, *settled]) == 0


def test_a_run_keeps_its_own_copies(tmp_path: Path) -> None:
    conflict = {"conflict_id": "ab" * 32, "code": "EOS_CONFLICT", "field": "eos_token_id"}
    file = resolution(conflict, tmp_path / "r.json")
    read = read_reviewed(Reviewed((file,)))
    # Who changes the file now changes nothing: what was parsed is hashed and kept.
    file.write_text("{}")
    read.files.keep(tmp_path)
    file.unlink()
    (loaded,) = read.resolutions
    plan = read.named_in(RunPlan())
    assert plan.resolutions == (loaded.file_sha256,)
    assert kept_reviewed(plan, tmp_path).resolutions == (loaded,)
    copy = tmp_path / "reviewed" / f"{loaded.file_sha256}.json"
    copy.write_bytes(copy.read_bytes() + b"\n")
    with pytest.raises(errors.NoRunError, match="has changed"):
        kept_reviewed(plan, tmp_path)
    for plan in (RunPlan(resolutions=("cd" * 32,)), RunPlan(licence_decision="cd" * 32)):
        with pytest.raises(errors.NoRunError, match="is missing"):
            kept_reviewed(plan, tmp_path)


def test_a_snapshot_in_the_cache_is_no_approval(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, document = described(model, capsys)
    conflict = stop(document)
    good = str(resolution(conflict, tmp_path / "good.json"))
    other = {**conflict, "conflict_id": "0" * 64}
    wrong = str(resolution(other, tmp_path / "other.json"))
    acquire = ["acquire", f"dir:{model}"]
    assert run([*acquire, "--resolution", good]) == 0
    capsys.readouterr()
    out = tmp_path / "out"
    for options, code in (([], "CONFLICT at"), (["--resolution", wrong], "RESOLUTION_UNMATCHED")):
        assert run([*acquire, "--out", str(out), *options]) == 3
        assert code in capsys.readouterr().err
        assert not out.exists()
    assert run([*acquire, "--out", str(out), "--resolution", good]) == 0
    # The copy is a snapshot itself, and nobody's approval either.
    assert run(["acquire", f"dir:{out}"]) == 3
    assert run(["acquire", "synthetic:llama-small", "--resolution", good]) == 3
