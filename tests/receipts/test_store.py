"""The receipt store: append-only, checked, and every flipped byte is found."""

from pathlib import Path

import pytest

from tests.receipts.nodes import grow, metadata_of, put_loose
from trlm_lab.base.records import Node
from trlm_lab.base.records.node_schema import SCHEMAS
from trlm_lab.errors import (
    BlobCorruptError,
    BlobMissingError,
    ChildMissingError,
    NodeCorruptError,
    NodeLargeError,
    NodeMissingError,
)
from trlm_lab.receipts import ReceiptStore, ancestors, render_graph, verify_store
from trlm_lab.receipts.verify import RECEIPT_FILE, list_files, receipt_text


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A small sound store with one listed file."""
    root = tmp_path / "run"
    (root / "figures").mkdir(parents=True)
    (root / "figures" / "a.txt").write_bytes(b"figure")
    store = ReceiptStore(root)
    files = store.put_value(list_files(root))
    report = grow(store, "report", files_blob=files)
    (root / RECEIPT_FILE).write_text(receipt_text(report))
    return root


def test_a_sound_store_verifies(directory: Path) -> None:
    report = verify_store(directory)
    assert report.findings == []
    assert (report.nodes, report.blobs, report.files) == (18, 2, 1)


def test_every_flipped_byte_is_found(directory: Path) -> None:
    for path in sorted(p for p in directory.rglob("*") if p.is_file()):
        sound = path.read_bytes()
        for offset in range(0, len(sound), max(1, len(sound) // 12)):
            changed = bytearray(sound)
            changed[offset] ^= 1
            path.write_bytes(changed)
            assert not verify_store(directory).sound, f"{path} byte {offset}"
        path.write_bytes(sound)
    assert verify_store(directory).sound


def test_every_removed_file_is_found(directory: Path) -> None:
    for path in sorted(p for p in directory.rglob("*") if p.is_file()):
        sound = path.read_bytes()
        path.unlink()
        assert not verify_store(directory).sound, str(path)
        path.write_bytes(sound)


def test_an_unlisted_file_is_a_note(directory: Path) -> None:
    (directory / "extra.txt").write_text("x")
    report = verify_store(directory)
    assert report.sound
    assert [f.code for f in report.findings] == ["FILE_UNLISTED"]


def test_an_empty_directory_has_one_clear_finding(tmp_path: Path) -> None:
    assert [f.code for f in verify_store(tmp_path).findings] == ["RECEIPT_MISSING"]


def test_storing_twice_is_one_node(directory: Path) -> None:
    store = ReceiptStore(directory)
    before = list(store)
    grow(store, "probe")
    assert list(store) == before


def test_child_missing(tmp_path: Path) -> None:
    store = ReceiptStore(tmp_path)
    metadata = metadata_of(store, SCHEMAS["provenance"][0])
    with pytest.raises(ChildMissingError):
        store.put(Node("provenance", metadata, ("11" * 32,)))


def test_a_node_names_only_blobs_that_are_here(tmp_path: Path) -> None:
    with pytest.raises(BlobMissingError):
        ReceiptStore(tmp_path).add("environment", {"environment_blob": "11" * 32}, [])


def test_a_node_too_large_to_be_verified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trlm_lab.receipts.store.LARGEST_NODE", 100)
    with pytest.raises(NodeLargeError):
        ReceiptStore(tmp_path).add("engine_profile", {"name": "x" * 100}, [])


def test_node_missing_and_corrupt(directory: Path) -> None:
    store = ReceiptStore(directory)
    with pytest.raises(NodeMissingError):
        store.get("11" * 32)
    first, second = list(store)[:2]
    store.node_path(first).write_bytes(store.node_path(second).read_bytes())
    with pytest.raises(NodeCorruptError):
        store.get(first)


def test_blob_missing_and_corrupt(directory: Path) -> None:
    store = ReceiptStore(directory)
    with pytest.raises(BlobMissingError):
        store.blobs.get("11" * 32)
    name = next(iter(store.blobs))
    store.blobs.path(name).write_bytes(b"other")
    with pytest.raises(BlobCorruptError):
        store.blobs.get(name)


def test_graph_walk_and_text(tmp_path: Path) -> None:
    store = ReceiptStore(tmp_path)
    case = put_loose(store, "case", {})
    root = put_loose(store, "report", {}, [put_loose(store, "trace", {}, [case]), case])
    assert len(ancestors(store, root)) == 2
    assert [line.split()[0] for line in render_graph(store, root).splitlines()] == [
        "report",
        "trace",
        "case",
        "case",
    ]


def test_many_leaves_are_counted(tmp_path: Path) -> None:
    store = ReceiptStore(tmp_path)
    files = [put_loose(store, "file", {"n": n}) for n in range(5)]
    root = put_loose(
        store, "source_tree", {}, [*files[:4], put_loose(store, "mismatch", {}), files[4]]
    )
    lines = render_graph(store, root, limit=3).splitlines()
    assert [line.split()[0] for line in lines] == [
        "source_tree", "file", "file", "file", "mismatch", "…",
    ]  # fmt: skip
    assert lines[-1] == "  … 2 more"
