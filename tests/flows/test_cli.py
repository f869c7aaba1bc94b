"""The command line: exit statuses, one JSON document, clear refusals."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.flows.conftest import SmallRun
from trlm_lab.backends.runtime_source import compiler_version
from trlm_lab.errors import CompilerMissingError
from trlm_lab.flows.acquisition import Source
from trlm_lab.flows.cli.app import run
from trlm_lab.flows.packing import Packed

pytestmark = pytest.mark.xdist_group("flows")


def document(capsys: pytest.CaptureFixture[str], arguments: list[str], status: int) -> Any:
    """Run with --json; standard output must be one JSON document."""
    assert run([*arguments, "--json"]) == status
    return json.loads(capsys.readouterr().out)


def cases_file(tmp_path: Path) -> Path:
    path = tmp_path / "cases.json"
    rows = [{"case_id": "a", "token_ids": [1, 5, 9, 200, 3, 7]}, {"case_id": "b", "token_ids": [4]}]
    path.write_text(json.dumps({"schema": "trlm.process.cases.v1", "cases": rows}))
    return path


def test_doctor_names_every_engine(capsys: pytest.CaptureFixture[str]) -> None:
    engines = {row["name"]: row for row in document(capsys, ["doctor"], 0)["engines"]}
    assert engines["reference"]["available"]
    for name in ("native-scalar", "wasm-scalar@wasmtime", "wasm-scalar@chromium", "torch",
                 "llama.cpp", "process:COMMAND", "webgpu@chromium"):  # fmt: skip
        row = engines[name]
        assert row["available"] or row["fix"], name


@pytest.mark.parametrize(
    ("arguments", "status", "code"),
    [
        (["run", "synthetic:llama-small", "--out", "x", "--backends", "gpu"], 2, "UNKNOWN_NAME"),
        (["run", "synthetic:llama-small", "--out", "x", "--quant", "q3"], 2, "UNKNOWN_NAME"),
        (["check", "no/such/path"], 3, "PATH_MISSING"),
        (["inspect", "no/such/file.slm"], 3, "PATH_MISSING"),
        (["compare", "no/such", "nor/this"], 3, "PATH_MISSING"),
        (["bench", "nothing"], 2, "UNKNOWN_NAME"),
        (["ledger", "burn", "synthetic:llama-small"], 2, "UNKNOWN_NAME"),
        (["exec", "--backend", "reference", "--cases", "smoke", "--out", "x"], 2,
         "SUBJECT_MISSING"),
    ],
)  # fmt: skip
def test_refusals(
    capsys: pytest.CaptureFixture[str], arguments: list[str], status: int, code: str
) -> None:
    assert document(capsys, arguments, status)["error"]["code"] == code


def test_unknown_options_are_usage_errors(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["demo", "--no-such-option"]) == 2
    assert run(["no-such-command"]) == 2
    assert capsys.readouterr().out == ""


def test_the_systems_refusals_are_errors_of_infrastructure(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("x")
    out = str(tmp_path / "file" / "inside")
    refused = document(capsys, ["run", "synthetic:llama-small", "--out", out], 4)
    assert refused["error"]["code"] == "SYSTEM_REFUSED"


def test_a_mistyped_run_withdraws_no_receipt(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "receipt.json").write_text("kept")
    arguments = ["run", "synthetic:llama-small", "--out", str(tmp_path)]
    document(capsys, [*arguments, "--cases", "/no/such/cases.json"], 3)
    document(capsys, [*arguments, "--fault", "no_such_fault@1"], 2)
    assert (tmp_path / "receipt.json").read_text() == "kept"
    assert not (tmp_path / "plan.json").exists()


def test_no_output_overwrites_its_source(
    capsys: pytest.CaptureFixture[str], small_artifacts: dict[str, Packed], tmp_path: Path
) -> None:
    artifact = tmp_path / "m.slm"
    artifact.write_bytes(small_artifacts["q8_r128"].artifact.path.read_bytes())
    refused = document(capsys, ["unpack", str(artifact), "--out", str(artifact)], 2)
    assert refused["error"]["code"] == "OUTPUT_IS_INPUT"
    assert artifact.read_bytes().startswith(b"SLM2")


def test_a_compiler_that_does_not_run_is_missing(tmp_path: Path) -> None:
    shim = tmp_path / "rustc"
    shim.write_text("#!/bin/sh\nexit 1\n")
    shim.chmod(0o755)
    with pytest.raises(CompilerMissingError):
        compiler_version(str(shim))


def test_verify_an_empty_directory(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert document(capsys, ["verify", str(tmp_path)], 1)["findings"][0]["code"] == (
        "RECEIPT_MISSING"
    )


def test_pack_inspect_unpack(
    capsys: pytest.CaptureFixture[str], small_source: Source, tmp_path: Path
) -> None:
    out = tmp_path / "m.slm"
    packed = document(capsys, ["pack", str(small_source.root), "--out", str(out)], 0)
    inspected = document(capsys, ["inspect", str(out)], 0)
    assert inspected["file_sha256"] == packed["file_sha256"]
    assert inspected["verdict"] == "accept"
    assert document(capsys, ["check", str(out)], 0)["findings"] == []
    document(capsys, ["unpack", str(out), "--out", str(tmp_path / "w.safetensors")], 0)
    assert document(capsys, ["check", str(tmp_path / "w.safetensors")], 0)["verdict"] == "accept"
    data = bytearray(out.read_bytes())
    data[-1] ^= 1
    out.write_bytes(data)
    assert document(capsys, ["inspect", str(out)], 3)["verdict"] == "refuse"


def test_check_a_model_directory(capsys: pytest.CaptureFixture[str], small_source: Source) -> None:
    assert document(capsys, ["check", str(small_source.root)], 0)["verdict"] == "accept"


def test_ledger_verifies(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["ledger", "verify", "synthetic:llama-small", "--quant", "q8_r128"]
    assert document(capsys, arguments, 0)["findings"] == []


def test_describe(capsys: pytest.CaptureFixture[str]) -> None:
    row = document(capsys, ["describe", "synthetic:llama-small"], 0)
    assert row["config"]["model_type"] == "llama"
    assert set(row["origins"]) >= {"rope_theta", "rms_norm_eps"}


def test_exec_compare_and_calibrate(
    capsys: pytest.CaptureFixture[str],
    small_source: Source,
    small_artifacts: dict[str, Packed],
    tmp_path: Path,
) -> None:
    cases, model = str(cases_file(tmp_path)), str(small_source.root)
    artifact = str(small_artifacts["f32"].artifact.path)
    for name in ("one", "two"):
        done = document(
            capsys,
            ["exec", "--backend", "reference", "--artifact", artifact, "--cases", cases,
             "--out", str(tmp_path / name)],
            0,
        )  # fmt: skip
        assert done["cases"] == 2
    same = [str(tmp_path / "one"), str(tmp_path / "two")]
    compared = document(capsys, ["compare", *same], 0)
    outcomes = {p["outcome"] for c in compared["cases"] for p in c["checkpoints"]}
    assert outcomes == {"MATCH"}
    document(
        capsys,
        ["exec", "--backend", "faulty:norm_eps@1", "--artifact", artifact, "--cases", cases,
         "--out", str(tmp_path / "bad")],
        0,
    )  # fmt: skip
    policy = str(tmp_path / "policy.cbor")
    document(
        capsys,
        ["calibrate", "--model", model, "--cases", "small-calibration", "--out", policy],
        0,
    )
    bad = [str(tmp_path / "one"), str(tmp_path / "bad"), "--policy", policy]
    compared = document(capsys, ["compare", *bad], 1)
    points = [p for p in compared["cases"][0]["checkpoints"] if p["outcome"] == "WRONG"]
    assert points[0]["checkpoint"] == "layers.1.attn_norm"


def test_capture_goes_on_and_equals_itself(
    capsys: pytest.CaptureFixture[str], small_source: Source, tmp_path: Path
) -> None:
    arguments = ["capture", "--model", str(small_source.root), "--cases",
                 str(cases_file(tmp_path)), "--out", str(tmp_path / "t.zarr")]  # fmt: skip
    first = document(capsys, arguments, 0)
    assert document(capsys, arguments, 0)["trace_id"] == first["trace_id"]
    trace = str(tmp_path / "t.zarr")
    document(capsys, ["compare", trace, trace], 0)


def test_op(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    given, answer = tmp_path / "in.npz", tmp_path / "out.npz"
    x = np.array([[0.001, 0.002, -0.001, 0.0005]], np.float32)
    np.savez(given, x=x, weight=np.ones(4, np.float32), eps=np.float32(1e-5))
    document(capsys, ["op", "rms_norm", str(given), str(answer)], 0)
    with np.load(answer) as out:
        assert out["y"].dtype == np.float32
        # 1e-5 and 1e-6 give answers that differ in the first digit (0.29 against 0.62).
        assert round(float(out["y"][0, 0]), 2) == 0.29
    given.write_bytes(b"not an archive")
    refused = document(capsys, ["op", "rms_norm", str(given), str(answer)], 3)
    assert refused["error"]["code"] == "NPZ_UNREADABLE"
    assert document(capsys, ["op", "nothing", str(answer), str(given)], 2)["error"]["code"] == (
        "UNKNOWN_NAME"
    )


@pytest.mark.slow
def test_receipts(capsys: pytest.CaptureFixture[str], small_run: SmallRun) -> None:
    rows = document(capsys, ["receipts", "log", "--dir", str(small_run.out)], 0)
    assert {"source_tree", "artifact", "oracle_run", "comparison"} <= {r["type"] for r in rows}
    shown = document(
        capsys, ["receipts", "show", rows[0]["node"][:16], "--dir", str(small_run.out)], 0
    )
    assert shown["id"] == rows[0]["node"]
    assert run(["receipts", "graph", "--dir", str(small_run.out)]) == 0
    assert capsys.readouterr().out.startswith("report ")
    assert document(capsys, ["verify", str(small_run.out)], 0)["verdict"] == "accept"
