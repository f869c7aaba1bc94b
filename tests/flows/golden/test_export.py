"""Containers from traces: what they hold, and what is never exported."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.flows.golden.conftest import BOARD, IDS, MODEL, SUITE, captured, golden_of
from trlm_lab.base.interfaces import Subject
from trlm_lab.base.records import CaseSuite, EngineIdentity
from trlm_lab.errors import (
    GoldenExportError,
    GoldenSecretError,
    TraceCorruptError,
)
from trlm_lab.flows.acquisition import Described, Source
from trlm_lab.flows.checking import check_path
from trlm_lab.flows.engines import runner
from trlm_lab.flows.golden import export_golden, vectors_sha256, verify_golden
from trlm_lab.flows.reviewed_files import Reviewed
from trlm_lab.golden import Bounds
from trlm_lab.receipts import ReceiptStore
from trlm_lab.traces import write_process_case, write_process_report

pytestmark = pytest.mark.xdist_group("flows")


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
    with pytest.raises(GoldenExportError, match="something else under this name"):
        export_golden(trace, MODEL, tmp_path / "out", BOARD, cases=IDS[:1])


def test_a_stopped_export_goes_on(trace: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    (first,) = export_golden(trace, MODEL, out, BOARD, cases=IDS[:1])
    (out / ".tmp-killed").mkdir()
    (out / ".tmp-killed" / "case.cbor").write_bytes(first.golden.data)
    again = export_golden(trace, MODEL, out, BOARD)
    assert [one.golden.root.name for one in again] == IDS
    assert again[0].row() == first.row()
    assert verify_golden(out)["cases"] == len(IDS)
    with pytest.raises(GoldenExportError, match="something else"):
        export_golden(trace, MODEL, out, BOARD, cases=IDS[:1], bounds=Bounds(tokens=1))
    blob = next((first.golden.root / "blobs").iterdir())
    blob.write_bytes(b"damaged")
    with pytest.raises(GoldenExportError, match="something else"):
        export_golden(trace, MODEL, out, BOARD, cases=IDS[:1])


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
    secret = "AKIA" + "QWERTYUIOPASDFGH"
    leaks = {"name": {"case_id": secret}, "prompt": {"text": f"my key is {secret}"}}
    for where, leak in leaks.items():
        suite = CaseSuite("s", (replace(SUITE.cases[0], **leak),))
        subject = Subject(artifact=artifact)
        leaky = captured(tmp_path / f"{where}.zarr", "reference", subject, suite)
        with pytest.raises(GoldenSecretError, match="the secret scan finds"):
            export_golden(leaky, MODEL, tmp_path / "out", BOARD)
        assert not (tmp_path / "out").exists(), where


def test_a_reviewed_finding_is_no_secret(artifact: Path, tmp_path: Path) -> None:
    suite = CaseSuite("s", (replace(SUITE.cases[0], text="write to ada@analytical-engine.org"),))
    trace = captured(tmp_path / "t.zarr", "reference", Subject(artifact=artifact), suite)
    row = {"rule": "E-mail Address", "where": "case *", "reason": "made up", "reviewer": "ada"}
    form = {"schema": "trlm.secret_exceptions.v1", "exceptions": [row]}
    path = tmp_path / "exceptions.json"
    path.write_text(json.dumps(form))
    with pytest.raises(GoldenSecretError, match="E-mail Address"):
        export_golden(trace, MODEL, tmp_path / "out", BOARD)
    reviewed = Reviewed(secret_exceptions=path)
    assert export_golden(trace, MODEL, tmp_path / "out", BOARD, reviewed=reviewed)


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
