"""Receipts of earlier runs stay: readable by content id, and `log` says what came after them."""

import json
from pathlib import Path

import pytest

from tests.receipts.nodes import grow, least_children, metadata_of, put_loose
from trlm_lab.base.records.node_schema import SCHEMAS
from trlm_lab.flows.cli.app import run as trlm
from trlm_lab.flows.conformance import seal
from trlm_lab.flows.occupancy import withdraw_receipt
from trlm_lab.flows.progress import Board
from trlm_lab.flows.receipts_view import graph_rows, log_rows, node_row
from trlm_lab.flows.workspace import Workspace
from trlm_lab.receipts import ReceiptStore, verify_store, walk
from trlm_lab.receipts.history import Superseded, is_whole, superseded
from trlm_lab.receipts.verify import RECEIPT_FILE


def a_run(out: Path, policy: int) -> str:
    """A sealed run whose comparison was judged under this policy; no model runs for it."""
    ws = Workspace(out, Board(quiet=True))
    withdraw_receipt(out)
    limits = ws.store.add(
        "tolerance_policy",
        metadata_of(ws.store, SCHEMAS["tolerance_policy"][0], policy),
        [grow(ws.store, "oracle_run")],
    )
    shape = SCHEMAS["comparison"][0]
    others = [grow(ws.store, name) for name in least_children(shape)[:2]]
    judged = ws.store.add("comparison", metadata_of(ws.store, shape, policy), [*others, limits])
    evidence = [grow(ws.store, name) for name in ("source_tree", "effective_config", "probe")]
    claims = metadata_of(ws.store, SCHEMAS["promotion"][0], policy)
    promotion = ws.store.add("promotion", claims, [*evidence, judged])
    (out / "report.html").write_text(f"policy {policy}")
    return seal(ws, promotion, [])


def test_the_first_root_stays_readable_after_a_run_under_another_policy(tmp_path: Path) -> None:
    first = a_run(tmp_path, 1)
    before = {i: node.encode() for i, node in walk(ReceiptStore(tmp_path), first)}
    second = a_run(tmp_path, 2)
    assert first != second
    store = ReceiptStore(tmp_path)
    assert verify_store(tmp_path).root == second
    assert [f for f in verify_store(tmp_path).findings if f.level == "error"] == []
    assert {i: node.encode() for i, node in walk(store, first)} == before
    assert is_whole(store, first)
    assert len(graph_rows(store, first)) == len(before)
    assert node_row(store, first[:12])["metadata"]["files_blob"]
    assert superseded(tmp_path, second) == [Superseded(first, second, whole=True)]


def test_log_says_which_receipt_was_superseded_and_by_what(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    roots = [a_run(tmp_path, policy) for policy in (3, 1, 2)]
    rows = {r["node"]: r["receipt"] for r in log_rows(ReceiptStore(tmp_path)) if r["receipt"]}
    assert rows == {
        roots[0]: f"superseded by {roots[1][:12]}",
        roots[1]: f"superseded by {roots[2][:12]}",
        roots[2]: "sealed",
    }
    assert [row.root for row in superseded(tmp_path, roots[2])] == roots[:2]
    assert trlm(["receipts", "log", "--dir", str(tmp_path), "--json"]) == 0
    told = {r["node"]: r["receipt"] for r in json.loads(capsys.readouterr().out)}
    assert rows.items() <= told.items()


def test_a_run_that_stopped_leaves_the_last_receipt_as_history(tmp_path: Path) -> None:
    first = a_run(tmp_path, 1)
    withdraw_receipt(tmp_path)
    assert superseded(tmp_path, None) == [Superseded(first, "", whole=True)]
    rows = [r["receipt"] for r in log_rows(ReceiptStore(tmp_path)) if r["receipt"]]
    assert rows == ["superseded, nothing sealed since"]


def test_history_that_lost_a_node_or_blob_is_not_whole(tmp_path: Path) -> None:
    first, second = a_run(tmp_path, 1), a_run(tmp_path, 2)
    store = ReceiptStore(tmp_path)
    blob = store.blobs.path(store.get(first).metadata["report_blob"])
    sound = blob.read_bytes()
    blob.unlink()
    assert [row.whole for row in superseded(tmp_path, second)] == [False]
    assert "BLOB_MISSING" in {f.code for f in verify_store(tmp_path).findings}
    blob.write_bytes(sound)
    store.node_path(first).unlink()
    assert [(row.by, row.whole) for row in superseded(tmp_path, second)] == [(second, False)]
    found = [f for f in verify_store(tmp_path).findings if f.level == "error"]
    assert [(f.code, bool(f.fix)) for f in found] == [("SUPERSEDED_MISSING", True)]


def test_hostile_history_is_no_reason_to_raise(tmp_path: Path) -> None:
    root = a_run(tmp_path, 1)
    store = ReceiptStore(tmp_path)
    folder = tmp_path / "superseded"
    folder.mkdir()
    rows = [7, [["x"]], [[1]], None]
    for value in rows:
        files = {"files_blob": store.put_value(value), "report_blob": "no hash"}
        node = put_loose(store, "report", files, [])
        (folder / f"{node}.json").write_text("{}")
    (folder / "malformed.json").write_text("")
    (folder / "note.txt").write_text("")
    found = superseded(tmp_path, root)
    assert [(row.by, row.whole) for row in found] == [("", False)] * len(rows)
    (tmp_path / RECEIPT_FILE).unlink()
    assert len(superseded(tmp_path, None)) == len(rows)
