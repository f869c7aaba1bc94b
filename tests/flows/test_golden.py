"""Golden containers from traces, and engines judged from containers alone."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from trlm_lab.backends import native_command
from trlm_lab.base.interfaces import Subject
from trlm_lab.base.records import CaseSuite, EngineIdentity, Outcome
from trlm_lab.calibrate import freeze
from trlm_lab.cases import random_cases
from trlm_lab.errors import (
    GoldenBlobHashError,
    GoldenExportError,
    GoldenJudgeError,
    NativeCommandError,
    SubjectMissingError,
    TraceCorruptError,
    TrlmError,
    UnknownNameError,
)
from trlm_lab.flows.acquisition import Described, Source
from trlm_lab.flows.checking import check_path
from trlm_lab.flows.cli.app import run
from trlm_lab.flows.engines import runner
from trlm_lab.flows.golden import export_golden, vectors_sha256, verify_golden
from trlm_lab.flows.golden_judge import judge_golden
from trlm_lab.flows.golden_vectors import make_vectors
from trlm_lab.flows.notebooks import run_notebook
from trlm_lab.flows.packing import Packed
from trlm_lab.flows.progress import Board
from trlm_lab.flows.trial import oracle_and_policy
from trlm_lab.flows.workspace import Workspace
from trlm_lab.golden import Bounds, Golden, read_golden
from trlm_lab.receipts import ReceiptStore
from trlm_lab.traces import TraceWriter, write_process_case, write_process_report

pytestmark = pytest.mark.xdist_group("flows")

MODEL = "synthetic:llama-small"
BOARD = Board(quiet=True)
SUITE = random_cases(512, [6, 9], seed=91)
IDS = [case.case_id for case in SUITE.cases]


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("golden")


@pytest.fixture(scope="module")
def artifact(small_artifacts: dict[str, Packed]) -> Path:
    return small_artifacts["f32"].artifact.path


def captured(path: Path, engine: str, subject: Subject, suite: CaseSuite = SUITE) -> Path:
    with runner(engine).open(subject) as session:
        writer = TraceWriter(path, session.identity, dict(subject.ids or {}))
        for case in suite.cases:
            writer.write_case(case, session.run(case))
    return path


@pytest.fixture(scope="module")
def trace(room: Path, artifact: Path, small_source: Source) -> Path:
    """The reference engine on the small model."""
    ids = {"snapshot": small_source.snapshot.snapshot_id}
    return captured(room / "trace.zarr", "reference", Subject(artifact=artifact, ids=ids))


@pytest.fixture(scope="module")
def whole(room: Path, trace: Path) -> Path:
    """Containers of both cases, whole."""
    export_golden(trace, MODEL, room / "whole", BOARD)
    return room / "whole"


@pytest.fixture(scope="module")
def bounded(room: Path, trace: Path) -> Path:
    """One container of layers 0 and 3, two tokens and sixteen channels."""
    bounds = Bounds(layers=(0, 3), tokens=2, width=16)
    export_golden(trace, MODEL, room / "bounded", BOARD, cases=IDS[:1], bounds=bounds)
    return room / "bounded"


def test_a_container_is_checked_as_one(whole: Path, tmp_path: Path) -> None:
    """The directory of one, a folder of them, and the file; never as a model directory."""
    copy = tmp_path / "folder" / IDS[0]
    shutil.copytree(golden_of(whole).root, copy)
    for path in (copy, copy.parent, copy / "case.cbor"):
        assert check_path(path) == {"verdict": "accept", "findings": []}
    blob = next((copy / "blobs").iterdir())
    blob.write_bytes(blob.read_bytes()[:-1] + b"?")
    for path in (copy, copy.parent):
        found = check_path(path)
        assert found["verdict"] == "refuse"
        assert all(f["code"].startswith("GOLDEN_") and f["fix"] for f in found["findings"])
    (copy / "config.json").write_text("{}")
    assert not {f["code"] for f in check_path(copy)["findings"]} & {"GOLDEN_BLOB_HASH"}


def golden_of(folder: Path) -> Golden:
    return read_golden(folder / IDS[0])


def test_containers_verify_with_both_readers(whole: Path, bounded: Path) -> None:
    for folder, cases in ((whole, 2), (bounded, 1)):
        for reader in ("python", "native"):
            answer = verify_golden(folder, reader)
            assert answer == {"verdict": "accept", "cases": cases, "findings": []}


def test_a_container_holds_every_checkpoint(whole: Path, bounded: Path) -> None:
    names = [row.name for row in golden_of(whole).case.observations]
    assert names[:3] == ["token_ids", "embedding", "layers.0.input"]
    assert names[-3:] == ["logits", "logits.topk_ids", "logits.topk_values"]
    kept = [row.name for row in golden_of(bounded).case.observations]
    assert kept == [n for n in names if not n.startswith(("layers.1.", "layers.2."))]


def test_a_container_says_where_it_is_from(
    whole: Path, small_source: Source, small_described: Described
) -> None:
    case = golden_of(whole).case
    assert case.source_identity.hex() == small_source.snapshot.snapshot_id
    assert case.effective_config_identity.hex() == small_described.config.config_id
    assert case.expected_tokens == (case.top_k[0].id,)
    logits = next(row for row in case.observations if row.name == "logits")
    values = np.frombuffer(golden_of(whole).blob(logits), "<f4").reshape(logits.shape)
    assert case.expected_tokens == (int(values[-1].argmax()),)
    assert case.top_k[0].logit_bits == values[-1].max().tobytes()


def test_the_receipts_beside_the_containers(whole: Path) -> None:
    store = ReceiptStore(whole / "receipts")
    golden = golden_of(whole)
    generator = store.get(golden.case.generator_receipt.hex())
    assert generator.type == "trace"
    assert generator.metadata["trace_id"] == golden.case.extras["x_trace"]
    nodes = [store.get(i) for i in store]
    (node,) = [n for n in nodes if n.metadata.get("golden_blob") == golden.sha256]
    assert node.type == "case"
    assert node.children == (golden.case.generator_receipt.hex(),)


@pytest.mark.parametrize("engine", ["native-scalar", "wasm-scalar@wasmtime", "reference"])
def test_sound_engines_match(whole: Path, bounded: Path, artifact: Path, engine: str) -> None:
    for folder, judged in ((whole, 82), (bounded, 44)):
        for row in judge_golden(folder, engine, artifact=artifact):
            assert (row.mismatch.verdict, row.judged, row.of) == (Outcome.MATCH, judged, judged)
            assert row.tolerance == "exact scalar-f32-v1"


@pytest.mark.parametrize(
    ("fault", "boundary"),
    [
        ("rope_pairing@0", "layers.0.q_rope"),
        ("rope_pairing@2", "layers.2.q_rope"),
        ("rope_pairing@3", "layers.3.q_rope"),
    ],
)
def test_a_planted_fault_is_named(
    whole: Path, bounded: Path, artifact: Path, fault: str, boundary: str
) -> None:
    found = judge_golden(whole, f"faulty:{fault}", artifact=artifact)[0].mismatch
    assert (found.verdict, found.boundary) == (Outcome.WRONG, boundary)
    narrow = judge_golden(bounded, f"faulty:{fault}", artifact=artifact)[0].mismatch
    hidden = fault.endswith("2")
    assert narrow.boundary == ("layers.3.input" if hidden else boundary)
    if hidden:
        assert narrow.after == "layers.0.output"


def test_an_index_counts_in_the_whole_array(bounded: Path, artifact: Path) -> None:
    found = judge_golden(bounded, "faulty:rope_pairing@0", artifact=artifact)[0].mismatch
    assert found.index is not None
    assert found.index[0] >= len(SUITE.cases[0].token_ids) - 2
    engine = runner("faulty:rope_pairing@0")
    with engine.open(Subject(artifact=artifact)) as session:
        values = {o.name: o.values for o in session.run(SUITE.cases[0])}["layers.0.q_rope"]
    assert found.candidate_bits == values[found.index].tobytes()[::-1].hex()


def test_the_oracle_and_its_policy(
    room: Path, workspace: Workspace, artifact: Path, small_source: Source,
    small_described: Described,
) -> None:  # fmt: skip
    model = small_source.root
    _, policy = oracle_and_policy(workspace, model, artifact, small_described.config, SUITE)
    freeze(policy, room / "policy.cbor")
    trace = captured(room / "torch.zarr", "torch", Subject(model_dir=model, ids={}))
    with pytest.raises(GoldenExportError, match="a frozen policy is needed"):
        export_golden(trace, MODEL, room / "none", BOARD)
    export_golden(trace, MODEL, room / "oracle", BOARD, policy=room / "policy.cbor")
    store = ReceiptStore(room / "oracle" / "receipts")
    generator = golden_of(room / "oracle").case.generator_receipt.hex()
    assert store.get(generator).type == "oracle_run"
    given: dict[str, Any] = {"artifact": artifact, "policy": room / "policy.cbor"}
    for row in judge_golden(room / "oracle", "native-scalar", **given):
        assert row.mismatch.verdict in (Outcome.MATCH, Outcome.DRIFT)
        assert row.tolerance == f"policy {policy.name}"
    found = judge_golden(room / "oracle", "faulty:rope_pairing@1", **given)[0].mismatch
    assert (found.verdict, found.boundary) == (Outcome.WRONG, "layers.1.q_rope")
    assert found.limit is not None
    with pytest.raises(GoldenJudgeError, match="no policy is given"):
        judge_golden(room / "oracle", "native-scalar", artifact=artifact)


def test_another_profile_cannot_be_judged_for_bits(whole: Path, artifact: Path) -> None:
    with pytest.raises(GoldenJudgeError, match="the engine's profile is lanes16-f32-v1"):
        judge_golden(whole, "reference:lanes16-f32-v1", artifact=artifact)


def test_nothing_to_run_is_refused(whole: Path) -> None:
    with pytest.raises(SubjectMissingError):
        judge_golden(whole, "native-scalar")
    with pytest.raises(SubjectMissingError):
        judge_golden(whole, "torch", artifact=Path("a.slm"))


def test_another_artifact_is_the_boundary(whole: Path, smaller_slm: Path) -> None:
    for row in judge_golden(whole, "native-scalar", artifact=smaller_slm):
        assert (row.mismatch.verdict, row.mismatch.boundary) == (Outcome.WRONG, "artifact")


@pytest.fixture(scope="module")
def smaller_slm(room: Path) -> Path:
    """A `.slm` of another configuration."""
    from tests.backends import tiny_slm

    config = tiny_slm.tiny_config()
    path = room / "other.slm"
    path.write_bytes(tiny_slm.write_slm(config, tiny_slm.tiny_weights(config), "f32"))
    return path


def test_a_damaged_container_judges_nobody(bounded: Path, artifact: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(bounded / IDS[0], tmp_path / "copy")
    victim = max((copy / "blobs").iterdir())
    victim.write_bytes(bytes([victim.read_bytes()[0] ^ 1]) + victim.read_bytes()[1:])
    with pytest.raises(GoldenBlobHashError):
        judge_golden(copy, "native-scalar", artifact=artifact)


def test_an_engine_that_fails_is_no_pass(
    whole: Path, artifact: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from trlm_lab.backends.reference import ReferenceSession

    def fail(self: object, case: object) -> Any:
        raise GoldenJudgeError(where="here", detail="stopped")

    monkeypatch.setattr(ReferenceSession, "run", fail)
    (found, *_) = judge_golden(whole, "reference", artifact=artifact)
    assert (found.mismatch.verdict, found.judged) == (Outcome.INFRA, 0)


# --- refusals of the export -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "detail"),
    [
        ({"cases": ["nobody"]}, "no case"),
        ({"bounds": Bounds(layers=(0, 9))}, "no layer 9"),
    ],
)
def test_what_the_trace_lacks(
    trace: Path, tmp_path: Path, given: dict[str, Any], detail: str
) -> None:
    with pytest.raises(GoldenExportError, match=detail):
        export_golden(trace, MODEL, tmp_path / "out", BOARD, **given)


def test_nothing_is_overwritten(trace: Path, tmp_path: Path) -> None:
    (tmp_path / "out" / IDS[0]).mkdir(parents=True)
    with pytest.raises(GoldenExportError, match="something under this name"):
        export_golden(trace, MODEL, tmp_path / "out", BOARD, cases=IDS[:1])


def test_another_model_is_refused(room: Path, artifact: Path, tmp_path: Path) -> None:
    for key in ("snapshot", "config"):
        subject = Subject(artifact=artifact, ids={key: "0" * 64})
        other = captured(
            room / f"other-{key}.zarr", "reference", subject, CaseSuite("s", SUITE.cases[:1])
        )
        with pytest.raises(GoldenExportError, match=key if key == "snapshot" else "configuration"):
            export_golden(other, MODEL, tmp_path / key, BOARD)


def test_a_changed_array_is_refused(trace: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(trace, tmp_path / "copy.zarr")
    chunk = max((copy / IDS[0] / "logits").glob("c*"))
    chunk.write_bytes(bytes([chunk.read_bytes()[0] ^ 1]) + chunk.read_bytes()[1:])
    with pytest.raises(TraceCorruptError, match="logits hashes to"):
        export_golden(copy, MODEL, tmp_path / "out", BOARD, cases=IDS[:1])


def test_a_secret_is_not_published(artifact: Path, tmp_path: Path) -> None:
    from dataclasses import replace

    secret = "AKIA" + "QWERTYUIOPASDFGH"
    suite = CaseSuite("s", (replace(SUITE.cases[0], case_id=secret),))
    leaky = captured(tmp_path / "leaky.zarr", "reference", Subject(artifact=artifact), suite)
    with pytest.raises(GoldenExportError, match="the secret scan finds"):
        export_golden(leaky, MODEL, tmp_path / "out", BOARD)


def process_trace(path: Path, artifact: Path, *, with_ids: bool = True) -> Path:
    with runner("reference").open(Subject(artifact=artifact)) as session:
        kept = [o for o in session.run(SUITE.cases[0]) if with_ids or o.name != "token_ids"]
    write_process_case(path, IDS[0], kept)
    write_process_report(path, EngineIdentity("reference", "1", "scalar-f32-v1", "0" * 64))
    return path


def test_a_process_trace_will_do(artifact: Path, tmp_path: Path, whole: Path) -> None:
    process = process_trace(tmp_path / "process", artifact)
    (made,) = export_golden(process, MODEL, tmp_path / "out", BOARD)
    assert vectors_sha256(made.golden) == vectors_sha256(golden_of(whole))
    silent = process_trace(tmp_path / "silent", artifact, with_ids=False)
    with pytest.raises(GoldenExportError, match="token ids"):
        export_golden(silent, MODEL, tmp_path / "none", BOARD)


# --- recorded vectors and the command line ----------------------------------------------------


@pytest.mark.parametrize("engine", ["native-scalar", "reference"])
def test_the_small_vectors_are_the_recorded_ones(engine: str, tmp_path: Path) -> None:
    made = make_vectors("llama-small-4", tmp_path, BOARD, engine=engine)
    assert made.agrees, made.row()
    committed = Path(__file__).parents[2] / "examples" / "golden" / "llama-small-4"
    assert made.exported.golden.case.observations == read_golden(committed).case.observations


def test_unknown_vectors(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError):
        make_vectors("nothing", tmp_path, BOARD)


@pytest.mark.model
@pytest.mark.slow
def test_the_smollm2_vectors_are_the_recorded_ones(
    tmp_path: Path, smollm2_artifacts: dict[str, Packed]
) -> None:
    made = make_vectors("smollm2-135m-8", tmp_path, BOARD)
    assert made.agrees, made.row()
    (row,) = judge_golden(
        tmp_path / "smollm2-135m-8",
        "native-scalar",
        artifact=smollm2_artifacts["f32"].artifact.path,
    )
    assert row.mismatch.verdict is Outcome.MATCH


def test_commands(
    trace: Path, artifact: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def answer(status: int, *arguments: str) -> Any:
        assert run([*arguments, "--json"]) == status
        return json.loads(capsys.readouterr().out)

    out = str(tmp_path / "out")
    export = ["golden", "export", str(trace), "--model", MODEL, "--out", out]
    (row,) = answer(0, *export, "--cases", IDS[0], "--layers", "0,3", "--tokens", "2")
    assert (row["case"], row["observations"]) == (IDS[0], 44)
    assert answer(2, *export, "--layers", "all")["error"]["code"] == "UNKNOWN_NAME"
    assert answer(0, "golden", "verify", out)["verdict"] == "accept"
    assert answer(2, "golden", "verify", out, "--reader", "x")["error"]["code"] == "UNKNOWN_NAME"
    assert answer(3, "golden", "verify", "no/such")["error"]["code"] == "PATH_MISSING"
    judge = ["golden", "judge", out, "--artifact", str(artifact), "--engine"]
    assert answer(0, *judge, "native-scalar")["verdict"] == "MATCH"
    found = answer(1, *judge, "faulty:rope_pairing@3")
    assert found["cases"][0]["mismatch"]["boundary"] == "layers.3.q_rope"
    document = tmp_path / "out" / IDS[0] / "case.cbor"
    assert check_path(document)["verdict"] == "accept"
    document.write_bytes(document.read_bytes() + b"\x00")
    for arguments in (["golden", "verify", out], ["check", str(document)]):
        (finding,) = answer(3, *arguments)["findings"]
        assert finding["code"] == "GOLDEN_TRAILING"
        assert finding["fix"]


@pytest.mark.slow
def test_the_notebook(tmp_path: Path) -> None:
    committed = Path(__file__).parents[2] / "examples" / "golden" / "llama-small-4"
    ws = Workspace(tmp_path)
    done = run_notebook(ws, "07_golden", {"golden": str(committed)}, [])
    assert done.evidence == {
        "verified": {"python": "accept", "native": "accept"},
        "judged": {
            "native-scalar": ["MATCH"],
            "reference": ["MATCH"],
            "faulty:rope_pairing@2": ["WRONG"],
        },
        "named": ["layers.2.q_rope"],
    }


# --- the crate's command ----------------------------------------------------------------------


def test_a_command_that_does_not_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, script in {
        "status": "#!/bin/sh\necho gone >&2\nexit 9\n",
        "words": "#!/bin/sh\necho no JSON\n",
        "nothing": None,
    }.items():
        program = tmp_path / name
        if script is not None:
            program.write_text(script)
            program.chmod(0o755)
        monkeypatch.setattr(native_command, "built", lambda build, program=program: program)
        with pytest.raises(NativeCommandError):
            native_command.golden_verify(tmp_path)


def test_the_command_refuses_wrong_usage() -> None:
    import subprocess

    program = native_command.built(native_command.wanted_command())
    for arguments in ([], ["golden"], ["golden", "burn", "x"], ["golden", "verify", "a", "b"]):
        done = subprocess.run([program, *arguments], capture_output=True, check=False)
        assert done.returncode == 2
        assert done.stderr.startswith(b"usage: trlm-ref golden")


def test_the_commands_sources_do_not_make_the_library() -> None:
    from trlm_lab.backends.runtime_source import command_files, source_files

    ours = {path.name for path in command_files()} - {"sha256.rs"}
    assert {"golden.rs", "trlm-ref.rs", "cbor.rs", "schema.rs"} <= ours
    assert not {
        p for p in source_files() if "golden" in str(p.parent.name) or p.parent.name == "bin"
    }


def test_reserializing_a_refused_document(tmp_path: Path) -> None:
    with pytest.raises(TrlmError, match="GOLDEN_CASE_MISSING"):
        native_command.golden_reserialize(tmp_path)
