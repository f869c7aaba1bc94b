"""A graph copied into another store is the same graph, whatever order its nodes are met in."""

from pathlib import Path

import pytest

from tests.receipts.nodes import acquired
from trlm_lab.errors import NodeMissingError
from trlm_lab.receipts import ReceiptStore, copy_graph, walk


def source_of(path: Path) -> tuple[ReceiptStore, str]:
    """A tree on a file, and provenance on the tree; the acquisition names the tree first."""
    store = ReceiptStore(path)
    file = store.add("file", {"path": b"a", "size": 1, "sha256": "0" * 64}, [])
    tree = store.add("source_tree", {"snapshot_id": "1" * 64, "files": 1}, [file])
    statement = store.put_value({"a": 1})
    provenance = store.add("provenance", {"statement_blob": statement}, [tree])
    row = {"text_sha256": None, "decision_blob": statement, "documents_blob": statement}
    licence = store.add("licence", row, [tree])
    return store, store.add("acquisition", acquired(store), [tree, provenance, licence])


def test_a_copy_has_every_node_and_blob_and_nothing_else(tmp_path: Path) -> None:
    source, root = source_of(tmp_path / "source")
    other = source.add("file", {"path": b"b", "size": 1, "sha256": "2" * 64}, [])
    target = ReceiptStore(tmp_path / "target")
    copy_graph(source, target, root)
    assert [i for i, _ in walk(target, root)] == [i for i, _ in walk(source, root)]
    assert set(source) - set(target) == {other}
    for path in (tmp_path / "source" / "blobs").iterdir():
        assert (tmp_path / "target" / "blobs" / path.name).read_bytes() == path.read_bytes()
    copy_graph(source, target, root)


def test_what_is_missing_is_not_copied(tmp_path: Path) -> None:
    source, root = source_of(tmp_path / "source")
    target = ReceiptStore(tmp_path / "target")
    source.node_path(source.get(root).children[1]).unlink()
    with pytest.raises(NodeMissingError):
        copy_graph(source, target, root)
    assert root not in set(target)
