"""The chain of custody as tables, for every kind of source."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.flows.conftest import SmallRun
from trlm_lab import plots
from trlm_lab.base.records import Pin, Snapshot, SourceFile
from trlm_lab.flows import custody_tables as custody
from trlm_lab.flows.graph_rows import custody_levels
from trlm_lab.flows.report_identity import model_name, model_revision
from trlm_lab.flows.run import Run
from trlm_lab.flows.source_tables import shown
from trlm_lab.flows.tables import flat_table
from trlm_lab.receipts import ReceiptStore

pytestmark = pytest.mark.xdist_group("flows")
COMMIT, MOVED = "a1" * 20, "b2" * 20
HUB: dict[str, Any] = {
    "repository": "ada/tiny",
    "requested": "main",
    "commit": COMMIT,
    "resolved_after": COMMIT,
    "tree": [
        ["README.md", 20, "c3" * 20, ""],
        ["config.json", 30, "d4" * 20, ""],
        ["model.safetensors", 5000, "e5" * 20, "f6" * 32],
        ["picture.png", 4, "07" * 20, ""],
    ],
    "left_out": [["picture.png", "no part of the model: listed, not fetched"]],
    "tree_profile": {
        "schema": "s",
        "exceptions": [{"pattern": "onnx/*", "reason": "exports", "reviewer": "Ada"}],
    },
    "limits": {"files": 4096, "seconds": 21600.0},
    "client_cache": [["config.json", "other bytes than listed"]],
}
LICENCE = {
    "spdx": "Apache-2.0", "decision": "accepted", "redistribution": "with the text",
    "attribution": "keep the notice", "reviewer": "Ada", "text_sha256": "1" * 64,
    "card_sha256": None,
}  # fmt: skip


def snapshot(pin: str, **statement: Any) -> Snapshot:
    made = {"converter": {"name": "converter", "version": 1}, "licence": LICENCE, **statement}
    scheme, _, locator = pin.partition(":")
    files = (SourceFile(b"config.json", 30, "2" * 64),)
    return Snapshot(Pin(scheme, locator), Path("nowhere"), files, made)


def facts(rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {row["fact"]: row["value"] for row in rows}


def test_a_hub_source_shows_what_its_name_meant() -> None:
    shown = facts(custody.origin_rows(snapshot("hf:ada/tiny@main", hub=HUB)))
    assert shown["revision, as asked for"] == "main"
    assert "server" not in shown
    served = {**HUB, "endpoint": "https://hub.example"}
    assert facts(custody.hub_rows(snapshot("hf:ada/tiny@main", hub=served)))["server"] == (
        "https://hub.example"
    )
    assert shown["commit that it meant"] == COMMIT
    assert shown["resolved again afterwards"] == "the same commit"
    assert shown["files"] == "4 listed, 3 fetched, 1 left out"
    moved = {**HUB, "resolved_after": MOVED}
    shown = facts(custody.hub_rows(snapshot("hf:ada/tiny@main", hub=moved)))
    assert shown["resolved again afterwards"].startswith(f"{MOVED}: the name moved")
    gone = facts(custody.hub_rows(snapshot("hf:ada/tiny@main", hub=HUB | {"resolved_after": ""})))
    assert gone["resolved again afterwards"].startswith("nothing: the name moved")
    assert custody.hub_rows(snapshot("synthetic:x")) == []


def test_every_listed_file_has_its_use_or_the_reason_why_not() -> None:
    rows = {row["file"]: row for row in custody.tree_rows(snapshot("hf:ada/tiny@main", hub=HUB))}
    assert rows["model.safetensors"]["use"] == "weights"
    assert rows["model.safetensors"]["listed as"] == f"LFS {'f6' * 32}"
    assert rows["config.json"]["listed as"] == f"Git {'d4' * 20}"
    assert rows["README.md"]["use"] == "taken as it is"
    assert (rows["picture.png"]["use"], rows["picture.png"]["why"]) == (
        "left out", "no part of the model: listed, not fetched"
    )  # fmt: skip
    assert list(rows)[-1] == "picture.png"


def test_a_model_of_a_hub_has_its_own_name() -> None:
    source = snapshot("hf:ada/tiny@feature/x", hub=HUB)
    assert model_name(source) == "tiny"
    assert model_revision(source) == f"hf:ada/tiny@feature/x, commit {COMMIT}"


def test_no_hash_is_cut_in_two() -> None:
    """Half of one is no content id, and the secret scan would stop the run."""
    for before in range(60, 170):
        value = ["x" * before, "ab12" * 16, "cd34" * 16]
        for text in (
            flat_table({"key": value}).rows[0]["value"],
            shown("y" * before + " " + "ab12" * 16),
        ):
            words = re.findall("[0-9a-f]{32,}", text)
            assert set(map(len, words)) <= {64}, text
    assert shown("z" * 200) == "z" * 30 + "…"


def test_files_of_a_directory_a_package_and_a_gguf() -> None:
    def row(name: Any) -> dict[str, Any]:
        return {"name": name, "size": 1, "sha256": "3" * 64}

    # An earlier version listed what was not taken by names alone.
    for ignored, listed in ((row(b"notes.txt"), f"SHA-256 {'3' * 64}"), (b"notes.txt", "")):
        local = snapshot("dir:tiny", materials=[row(b"config.json")], ignored=[ignored])
        assert [(r["file"], r["use"], r["listed as"]) for r in custody.tree_rows(local)] == [
            ("config.json", "taken as it is", f"SHA-256 {'3' * 64}"),
            ("notes.txt", "left out", listed),
        ]
    package = snapshot("py:tiny", materials=[row("t.whl"), row("t.gguf"), row("LICENSE")],
                       package={"name": "tiny", "version": "1.2"})  # fmt: skip
    uses = [r["use"] for r in custody.tree_rows(package)]
    assert uses == ["opened as data; two pinned members taken", "converted", "taken as it is"]
    assert facts(custody.origin_rows(package))["package"] == "tiny 1.2"
    file = snapshot("gguf:t.gguf", materials=[row(b"t.gguf")])
    assert [(r["file"], r["use"]) for r in custody.tree_rows(file)] == [("t.gguf", "converted")]
    made = snapshot("synthetic:x", synthetic={"name": "x", "seed": 7}, materials=[])
    assert custody.tree_rows(made) == []
    assert facts(custody.origin_rows(made))["generated from"] == "name x, seed 7"


def test_thousands_of_files_are_counted_not_listed() -> None:
    tree = [[f"f{i:04}.json", 1, "c3" * 20, ""] for i in range(300)]
    many = {**HUB, "tree": tree, "left_out": [[row[0], "x"] for row in tree]}
    rows = custody.tree_rows(snapshot("hf:ada/tiny@main", hub=many))
    assert (len(rows), rows[-1]["why"]) == (201, "100 more files")


def test_exceptions_cache_notes_and_limits() -> None:
    source = snapshot("hf:ada/tiny@main", hub=HUB)
    assert custody.tree_profile_rows(source)[0]["reviewer"] == "Ada"
    assert custody.client_cache_rows(source)[0]["the client's cache"] == "other bytes than listed"
    limits = {row["limit"]: row["value"] for row in custody.hub_limit_rows(source)}
    assert limits == {"files": "4,096", "seconds": "21,600"}
    other = snapshot("dir:tiny")
    for rows in (custody.tree_profile_rows, custody.client_cache_rows, custody.hub_limit_rows):
        assert rows(other) == []


def test_the_licence_decision_names_texts_and_reviewer() -> None:
    shown = facts(custody.licence_rows(snapshot("dir:tiny")))
    assert shown["reviewer"] == "Ada"
    assert shown["SHA-256 of the licence text"] == "1" * 64
    assert shown["SHA-256 of the model card"] == "none"
    texts = [{"path": name, "sha256": digit * 64} for name, digit in (("L", "5"), ("NOTICE", "6"))]
    several = {"texts": texts, "cards": []}
    shown = facts(custody.licence_rows(snapshot("dir:tiny", licence=several)))
    assert shown["SHA-256 of the licence text NOTICE"] == "6" * 64
    assert shown["SHA-256 of the model card"] == "none"
    silent = facts(custody.licence_rows(snapshot("dir:tiny", licence=None)))
    assert set(silent.values()) == {"not recorded"}


def observed(store: ReceiptStore, utc: str, pin: str, changes: list[dict[str, Any]]) -> str:
    time = store.add("observation", {"time_blob": store.put_value({"utc": utc})}, [])
    seen = {"pinned": COMMIT, "observed": MOVED, "changes": changes}
    metadata = {"pin": pin, "snapshot_id": "4" * 64, "pinned": COMMIT, "observed": MOVED,
                "behaviour": bool(changes), "changes_blob": store.put_value(seen)}  # fmt: skip
    return store.add("drift", metadata, [time])


def test_observations_of_this_source_in_the_order_of_time(tmp_path: Path) -> None:
    source = snapshot("hf:ada/tiny@main", hub=HUB)
    one, two = ReceiptStore(tmp_path / "one"), ReceiptStore(tmp_path / "two")
    change = {"path": "config.json", "change": "changed", "kind": "behaviour",
              "fields": [["/eos_token_id", "2", "3"], ["/new", "", "1"]]}  # fmt: skip
    node = observed(one, "2026-02-01T10:00:00.5+00:00", source.pin.spelled, [change])
    observed(two, "2026-01-01T10:00:00+00:00", source.pin.spelled, [])
    observed(two, "2026-01-02T10:00:00+00:00", "hf:eve/other@main", [change])
    rows = custody.drift_rows(source, [one.root, two.root, one.root])
    assert [r["file"] for r in rows] == ["nothing changed", "config.json"]
    assert rows[1]["fields"] == "/eos_token_id: 2 → 3; /new: absent → 1"
    assert rows[1]["pinned → seen"] == f"{COMMIT[:12]} → {MOVED[:12]}"
    assert rows[1]["node"] == node[:12]
    assert custody.drift_rows(source, [tmp_path / "none"]) == []


def test_a_store_of_observations_that_is_damaged_says_so(tmp_path: Path) -> None:
    source = snapshot("hf:ada/tiny@main", hub=HUB)
    store = ReceiptStore(tmp_path)
    node = observed(store, "2026-02-01T10:00:00+00:00", source.pin.spelled, [])
    store.node_path(node).write_bytes(b"no node")
    (row,) = custody.drift_rows(source, [tmp_path])
    assert row["file"] == "unreadable store: NOT_CANONICAL"


@pytest.mark.slow
def test_the_custody_of_a_run(small_run: SmallRun) -> None:
    run = Run.open(small_run.out)
    assert "0 open, 0 settled" in facts(custody.agreement_rows(run))["contradictions"]
    assert custody.deviation_rows(run) == []
    rows = custody.custody_node_rows(run)
    kinds = {row["type"] for row in rows}
    assert {"artifact", "effective_config", "acquisition", "licence", "source_tree"} <= kinds
    assert "file" not in kinds
    assert len({row["node"] for row in rows}) == len(rows)
    levels, edges = custody_levels(run)
    assert {box["type"] for box in levels[0]} == {"artifact"}
    assert {box["type"] for box in levels[-1]} == {"file"}
    assert edges
    drawn = plots.receipt_graph(levels, edges, name="custody_graph")
    assert "to the artifact at the head" in drawn.reading
    assert (small_run.out / "figures" / "custody_graph.png").is_file()
