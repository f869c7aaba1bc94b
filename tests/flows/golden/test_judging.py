"""Engines judged from containers alone."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.flows.golden.conftest import BOARD, IDS, MODEL, SUITE, captured, golden_of
from trlm_lab.base.interfaces import Subject
from trlm_lab.base.records import Outcome
from trlm_lab.calibrate import freeze
from trlm_lab.errors import (
    GoldenBlobHashError,
    GoldenJudgeError,
    GoldenPolicyError,
    SubjectMissingError,
)
from trlm_lab.flows.acquisition import Described, Source
from trlm_lab.flows.engines import runner
from trlm_lab.flows.golden import export_golden
from trlm_lab.flows.golden_judge import judge_golden
from trlm_lab.flows.trial import oracle_and_policy
from trlm_lab.flows.verification import verify_directory
from trlm_lab.flows.workspace import Workspace
from trlm_lab.receipts import ReceiptStore, walk

pytestmark = pytest.mark.xdist_group("flows")


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
    with pytest.raises(GoldenPolicyError, match="a frozen policy is needed"):
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
    # An engine that reads a model directory: its receipt rests on what was acquired and described.
    given = {"model": model, "policy": room / "policy.cbor", "out": room / "store"}
    for row in judge_golden(room / "oracle", "torch", **given):
        assert row.mismatch.verdict is Outcome.MATCH
    report = verify_directory(room / "store")
    assert report.findings == []
    found = [n for _, n in walk(ReceiptStore(room / "store"), str(report.root))]
    assert [n.metadata["config_id"] for n in found if n.type == "effective_config"] == [
        small_described.config.config_id
    ]
    assert {"acquisition", "licence", "conflict", "source_tree"} <= {n.type for n in found}


def test_another_model_is_the_boundary(whole: Path, raw_model: Path) -> None:
    config = json.loads((raw_model / "config.json").read_bytes())
    (raw_model / "config.json").write_text(json.dumps({**config, "rms_norm_eps": 1e-4}))
    for row in judge_golden(whole, "torch", model=raw_model):
        assert (row.mismatch.verdict, row.mismatch.boundary) == (Outcome.WRONG, "model")


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
