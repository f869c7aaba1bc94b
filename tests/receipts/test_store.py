"""The receipt store: append-only, checked, and every flipped byte is found."""

from pathlib import Path

import pytest

from trlm_lab.base.records import Node
from trlm_lab.errors import (
    BlobCorruptError,
    BlobMissingError,
    ChildMissingError,
    NodeCorruptError,
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
    case = store.add("case", {"n": 1}, [])
    trace = store.add("trace", {"arrays_blob": store.put_value([1, 2])}, [case])
    files = store.put_value(list_files(root))
    report = store.add("report", {"files_blob": files}, [trace, case])
    (root / RECEIPT_FILE).write_text(receipt_text(report))
    return root


def test_a_sound_store_verifies(directory: Path) -> None:
    report = verify_store(directory)
    assert report.findings == []
    assert (report.nodes, report.blobs, report.files) == (3, 2, 1)


def test_every_flipped_byte_is_found(directory: Path) -> None:
    for path in sorted(p for p in directory.rglob("*") if p.is_file()):
        sound = path.read_bytes()
        for offset in range(len(sound)):
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
    store.add("case", {"n": 1}, [])
    assert list(store) == before


def test_child_missing(tmp_path: Path) -> None:
    with pytest.raises(ChildMissingError):
        ReceiptStore(tmp_path).put(Node("trace", {}, ("11" * 32,)))


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


def test_graph_walk_and_text(directory: Path) -> None:
    store = ReceiptStore(directory)
    root = verify_store(directory).root
    assert root is not None
    assert len(ancestors(store, root)) == 2
    assert [line.split()[0] for line in render_graph(store, root).splitlines()] == [
        "report",
        "trace",
        "case",
        "case",
    ]
