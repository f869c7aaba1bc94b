"""Every command on the small model, with good and with bad input, and the shape of its answer."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.flows.conftest import SmallRun
from tests.flows.test_cli import cases_file, document
from trlm_lab.backends.faults import CATALOGUE
from trlm_lab.base.records import Ledger
from trlm_lab.flows.acquisition import Source
from trlm_lab.flows.bench import BENCHMARKS
from trlm_lab.flows.packing import Packed

pytestmark = pytest.mark.xdist_group("flows")
Capture = pytest.CaptureFixture[str]
EXAMPLE = Path(__file__).resolve().parents[2] / "examples/third_party_runtime/run.py"
SMALL = "synthetic:llama-small"


def refused(capsys: Capture, arguments: list[str], status: int, code: str) -> dict[str, str]:
    """The error of a refused command; it names code, place and fix."""
    error: dict[str, str] = document(capsys, arguments, status)["error"]
    assert error["code"] == code
    assert set(error) == {"code", "where", "detail", "fix"}
    assert all(error.values())
    return error


def test_acquire(capsys: Capture, small_source: Source, tmp_path: Path) -> None:
    row = document(capsys, ["acquire", SMALL, "--out", str(tmp_path / "copy")], 0)
    assert set(row) == {"snapshot_id", "root", "files", "licence"}
    assert row["snapshot_id"] == small_source.snapshot.snapshot_id
    assert Path(row["root"]) == tmp_path / "copy"
    assert {"file", "bytes", "sha256"} == set(row["files"][0])
    again = document(capsys, ["acquire", f"dir:{tmp_path / 'copy'}"], 0)
    weights = [f for r in (row, again) for f in r["files"] if f["file"] == "model.safetensors"]
    assert weights[0] == weights[1]


@pytest.mark.parametrize(
    ("source", "status", "code"),
    [
        ("ftp:somewhere", 2, "SOURCE_SPEC"),
        ("synthetic:no-such-model", 2, "UNKNOWN_NAME"),
        ("py:no-such-package", 2, "PIN_UNKNOWN"),
        ("dir:/no/such/directory", 2, "SOURCE_MISSING"),
        ("gguf:/no/such/file.gguf", 2, "SOURCE_MISSING"),
    ],
)
def test_sources_that_are_none(capsys: Capture, source: str, status: int, code: str) -> None:
    refused(capsys, ["acquire", source], status, code)
    refused(capsys, ["describe", source], status, code)
    refused(capsys, ["ledger", "show", source], status, code)
    refused(capsys, ["pack", source, "--out", "never.slm"], status, code)
    assert not Path("never.slm").exists()


def test_pack_names_what_it_wrote(capsys: Capture, tmp_path: Path) -> None:
    out = tmp_path / "deep" / "m.slm"
    row = document(capsys, ["pack", SMALL, "--quant", "f32", "--out", str(out)], 0)
    assert row["path"] == str(out)
    assert row["quant_profile"] == "f32"
    assert row["size"] == out.stat().st_size
    assert {"file_sha256", "self_sha256", "merkle_root", "ledger_id"} <= set(row)
    assert [p.name for p in out.parent.iterdir()] == ["m.slm"]
    arguments = ["pack", SMALL, "--out", str(out)]
    refused(capsys, [*arguments, "--format", "slm9"], 2, "UNKNOWN_NAME")
    refused(capsys, [*arguments, "--quant", "q3"], 2, "UNKNOWN_NAME")
    blocked = ["pack", SMALL, "--out", str(out / "inside.slm")]
    refused(capsys, blocked, 4, "SYSTEM_REFUSED")


def test_inspect(capsys: Capture, small_artifacts: dict[str, Packed], tmp_path: Path) -> None:
    row = document(capsys, ["inspect", str(small_artifacts["q8_r128"].artifact.path)], 0)
    assert {"format", "verdict", "file_sha256", "size", "header", "tokenizer", "config", "tensors",
            "pieces", "hashes", "findings", "effective", "roles"} == set(row)  # fmt: skip
    assert all(h["holds"] for h in row["hashes"])
    foreign = tmp_path / "x.slm"
    foreign.write_bytes(b"GIF89a")
    row = document(capsys, ["inspect", str(foreign)], 3)
    assert [f["code"] for f in row["findings"]] == ["SLM_VERSION"]
    refused(capsys, ["inspect", str(tmp_path / "none.slm")], 3, "PATH_MISSING")


def test_unpack(capsys: Capture, small_artifacts: dict[str, Packed], tmp_path: Path) -> None:
    artifact, out = small_artifacts["q8_r128"].artifact.path, tmp_path / "w.safetensors"
    row = document(capsys, ["unpack", str(artifact), "--out", str(out)], 0)
    assert row["path"] == str(out)
    assert len(row["sha256"]) == 64
    damaged = tmp_path / "damaged.slm"
    damaged.write_bytes(artifact.read_bytes()[:-1])
    out.unlink()
    assert document(capsys, ["unpack", str(damaged), "--out", str(out)], 3)["error"]["code"]
    assert [p.name for p in tmp_path.iterdir()] == ["damaged.slm"]


def test_ledger_shows_every_entry(capsys: Capture) -> None:
    row = document(capsys, ["ledger", "show", SMALL, "--quant", "q8_r128"], 0)
    assert {"source_name", "destination_name", "transforms"} <= set(row["entries"][0])
    assert document(capsys, ["ledger", "verify", SMALL], 0) == {"verdict": "accept", "findings": []}


def test_ledger_of_an_artifact_beside_its_source(
    capsys: Capture, small_artifacts: dict[str, Packed], small_source: Source, tmp_path: Path
) -> None:
    packed = small_artifacts["q8_r128"]
    files = [str(packed.artifact.path), "--source", str(small_source.root)]
    row = document(capsys, ["ledger", "show", *files], 0)
    assert Ledger.from_map(row) == packed.ledger
    held = tmp_path / "ledger.json"
    held.write_text(json.dumps(row))
    brought = ["ledger", "verify", *files, "--ledger", str(held)]
    assert document(capsys, brought, 0) == {"verdict": "accept", "findings": []}
    row["entries"][1]["source_sha256"] = "0" * 64
    held.write_text(json.dumps(row))
    assert [f["code"] for f in document(capsys, brought, 1)["findings"]] == ["LEDGER_SOURCE"]
    held.write_text("{}")
    refused(capsys, brought, 3, "LEDGER_FILE")
    refused(capsys, ["ledger", "verify", *files[:2], "/no/model"], 3, "PACK_SOURCE")


def test_capture(capsys: Capture, small_source: Source, tmp_path: Path) -> None:
    out = str(tmp_path / "t.zarr")
    model = ["capture", "--model", str(small_source.root)]
    row = document(capsys, [*model, "--cases", str(cases_file(tmp_path)), "--out", out], 0)
    assert row["cases"] == 2
    assert row["path"] == out
    refused(capsys, [*model, "--cases", "no-such-suite", "--out", out], 2, "UNKNOWN_NAME")
    refused(capsys, [*model, "--cases", "/no/cases.json", "--out", out], 3, "PATH_MISSING")
    gone = ["capture", "--model", "/no/model", "--cases", "smoke", "--out", out]
    refused(capsys, gone, 2, "SOURCE_MISSING")
    (tmp_path / "stranger").mkdir()
    (tmp_path / "stranger" / "x").write_text("x")
    stranger = [*model, "--cases", "smoke", "--out", str(tmp_path / "stranger")]
    assert document(capsys, stranger, 3)["error"]["fix"]


def test_exec(capsys: Capture, small_artifacts: dict[str, Packed], tmp_path: Path) -> None:
    artifact, cases = str(small_artifacts["f32"].artifact.path), str(cases_file(tmp_path))
    base = ["exec", "--artifact", artifact, "--cases", cases, "--out"]
    out = str(tmp_path / "out")
    row = document(capsys, [*base, out, "--backend", "reference", "--profile",
                            "lanes16-f32-v1"], 0)  # fmt: skip
    assert row["profile"] == "lanes16-f32-v1"
    assert row["not_supported"] == []
    refused(capsys, [*base, out, "--backend", "reference"], 2, "DIRECTORY_DIFFERS")
    refused(capsys, [*base, str(tmp_path), "--backend", "reference"], 2, "DIRECTORY_FOREIGN")
    refused(capsys, [*base, out, "--backend", "gpu"], 2, "UNKNOWN_NAME")
    refused(capsys, [*base, out, "--backend", "faulty:nothing@1"], 2, "FAULT_NAME")
    refused(capsys, [*base, out, "--backend", "torch"], 2, "SUBJECT_MISSING")


def test_exec_of_a_runtime_that_fails(
    capsys: Capture, small_source: Source, tmp_path: Path
) -> None:
    base = ["exec", "--model", str(small_source.root), "--cases", str(cases_file(tmp_path)),
            "--out", str(tmp_path / "out"), "--backend"]  # fmt: skip
    error = refused(capsys, [*base, f"process:{sys.executable} -c 'raise SystemExit(7)'"], 4,
                    "PROCESS_CRASHED")  # fmt: skip
    assert "exit status 7" in error["detail"]
    hanging = f"process:{sys.executable} -c 'import time; time.sleep(600)'"
    refused(capsys, [*base, hanging, "--timeout", "0.5"], 4, "PROCESS_TIMEOUT")


def test_compare(capsys: Capture, small_artifacts: dict[str, Packed], tmp_path: Path) -> None:
    for name, engine in (("one", "reference"), ("two", "faulty:norm_eps@1")):
        document(capsys, ["exec", "--backend", engine, "--artifact",
                          str(small_artifacts["f32"].artifact.path), "--cases",
                          str(cases_file(tmp_path)), "--out", str(tmp_path / name)], 0)  # fmt: skip
    one, two = str(tmp_path / "one"), str(tmp_path / "two")
    row = document(capsys, ["compare", one, two], 1)
    assert {"reference_id", "candidate_id", "policy_id", "cases"} <= set(row)
    assert [c["case_id"] for c in row["cases"]] == ["a", "b"]
    policy = tmp_path / "policy.cbor"
    policy.write_bytes(b"\xa0")
    refused(capsys, ["compare", one, two, "--policy", str(policy)], 3, "POLICY_FILE")
    (tmp_path / "empty").mkdir()
    assert document(capsys, ["compare", one, str(tmp_path / "empty")], 3)["error"]["fix"]


@pytest.mark.slow
def test_calibrate(capsys: Capture, small_source: Source, tmp_path: Path) -> None:
    out = str(tmp_path / "policy.cbor")
    base = ["calibrate", "--model", str(small_source.root), "--cases"]
    row = document(capsys, [*base, str(cases_file(tmp_path)), "--out", out], 0)
    assert row["factor"] == 4.0
    checkpoint, floor, limit, *_ = row["entries"][0]
    assert checkpoint == "embedding"
    assert limit >= floor
    assert json.loads((tmp_path / "policy.json").read_text())["policy_id"] == row["policy_id"]
    refused(capsys, [*base, "smoke", "--out", out], 3, "POLICY_FROZEN")
    refused(capsys, [*base, "no-such-suite", "--out", out], 2, "UNKNOWN_NAME")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("backend", "status", "verdict", "boundary"),
    [
        ("reference", 0, ("MATCH", "DRIFT"), None),
        ("faulty:rope_pairing@2", 1, ("WRONG",), "layers.2.q_rope"),
        (f"process:{sys.executable} {EXAMPLE}", 0, ("MATCH", "DRIFT"), None),
        (f"process:{sys.executable} {EXAMPLE} --bug rope", 1, ("WRONG",), "layers.0.q_rope"),
        (f"process:{sys.executable} -c 'raise SystemExit(3)'", 4, ("INFRA",), None),
    ],
)
def test_bisect(
    capsys: Capture,
    small_source: Source,
    tmp_path: Path,
    backend: str,
    status: int,
    verdict: tuple[str, ...],
    boundary: str | None,
) -> None:
    row = document(
        capsys,
        ["bisect", "--backend", backend, "--model", str(small_source.root), "--cases",
         str(cases_file(tmp_path))],
        status,
    )  # fmt: skip
    assert row["verdict"] in verdict
    assert row["boundary"] == boundary
    assert (row["policy_id"] is None) == (verdict == ("INFRA",))


def test_bisect_refuses(capsys: Capture, small_source: Source, tmp_path: Path) -> None:
    cases = str(cases_file(tmp_path))
    model = ["bisect", "--model", str(small_source.root), "--cases", cases, "--backend"]
    refused(capsys, [*model, "gpu"], 2, "UNKNOWN_NAME")
    refused(capsys, [*model, "reference", "--quant", "q3"], 2, "UNKNOWN_NAME")
    gone = ["bisect", "--model", "/no/model", "--cases", cases, "--backend", "reference"]
    refused(capsys, gone, 2, "SOURCE_MISSING")


def test_faults_list(capsys: Capture) -> None:
    rows = document(capsys, ["faults", "list"], 0)
    assert [r["fault"] for r in rows] == list(CATALOGUE)
    assert set(rows[0]) == {"fault", "boundary", "verdict", "what"}
    refused(capsys, ["faults", "hide"], 2, "UNKNOWN_NAME")
    refused(capsys, ["faults", "run", "--only", "no_such_fault"], 2, "UNKNOWN_NAME")
    refused(capsys, ["faults", "run", "--quant", "q3", "--only", "norm_eps"], 2, "UNKNOWN_NAME")


@pytest.mark.slow
def test_faults_run(capsys: Capture) -> None:
    arguments = ["faults", "run", SMALL, "--quant", "f32", "--only", "norm_eps"]
    row = document(capsys, arguments, 0)
    assert set(row) == {"counts", "rows"}
    assert sum(row["counts"].values()) == len(row["rows"])
    assert {r["fault"] for r in row["rows"]} == {"norm_eps"}


def test_bench(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    """The benchmarks themselves run on the real model; here only what the command makes of one."""
    rows = [{"figure": "seconds", "value": 1.5}]
    monkeypatch.setitem(BENCHMARKS._items, "capture", lambda: rows)
    assert document(capsys, ["bench", "capture"], 0) == rows
    refused(capsys, ["bench", "nothing"], 2, "UNKNOWN_NAME")


@pytest.mark.parametrize("action", [["log"], ["show", "ab"], ["graph"], ["why", "ab"]])
def test_receipts_of_nowhere(capsys: Capture, tmp_path: Path, action: list[str]) -> None:
    for place in ("absent", ""):
        arguments = ["receipts", *action, "--dir", str(tmp_path / place)]
        refused(capsys, arguments, 3, "STORE_MISSING")
    (tmp_path / "nodes").mkdir()
    if action != ["log"]:
        code = "NODE_MISSING" if action[0] == "show" else "RECEIPT_MISSING"
        refused(capsys, ["receipts", *action, "--dir", str(tmp_path)], 3, code)
    refused(capsys, ["receipts", "burn", "--dir", str(tmp_path)], 2, "UNKNOWN_NAME")


@pytest.mark.slow
def test_receipts_why(capsys: Capture, small_run: SmallRun) -> None:
    at = ["--dir", str(small_run.out)]
    rows: list[dict[str, Any]] = document(capsys, ["receipts", "log", *at], 0)
    policy = next(r["node"] for r in rows if r["type"] == "tolerance_policy")
    answer = document(capsys, ["receipts", "why", policy[:20], *at], 0)
    assert answer["id"] == policy
    for path in answer["paths"]:
        assert path[0] == {"id": small_run.done.receipt_id, "type": "report"}
        assert path[-1]["id"] == policy
    assert "comparison" in {path[-2]["type"] for path in answer["paths"]}
    graph = document(capsys, ["receipts", "graph", *at], 0)
    assert graph[0]["id"] == small_run.done.receipt_id
    refused(capsys, ["receipts", "show", "0" * 64, *at], 3, "NODE_MISSING")


@pytest.mark.slow
def test_verify(capsys: Capture, small_run: SmallRun, tmp_path: Path) -> None:
    row = document(capsys, ["verify", str(small_run.out)], 0)
    assert {"verdict", "conformance_receipt_id", "nodes", "blobs", "files", "findings"} <= set(row)
    assert row["conformance_receipt_id"] == small_run.done.receipt_id
    refused(capsys, ["verify", str(tmp_path / "absent")], 3, "PATH_MISSING")


@pytest.mark.slow
def test_run_refuses_what_is_not_its_own(
    capsys: Capture, small_run: SmallRun, tmp_path: Path
) -> None:
    (tmp_path / "thesis.tex").write_text("x")
    arguments = ["run", SMALL, "--backends", "reference", "--out"]
    refused(capsys, [*arguments, str(tmp_path)], 2, "DIRECTORY_FOREIGN")
    other = [*arguments, str(small_run.out), "--quant", "f32"]
    error = refused(capsys, other, 2, "DIRECTORY_DIFFERS")
    assert "artifacts f32,q8_r128" in error["detail"]
    assert "--out" in error["fix"]
