"""Whatever lies in a store, verification answers with a finding: it never raises, never waits."""

import os
import re
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.receipts.nodes import grow, put_loose
from trlm_lab.base import canon
from trlm_lab.receipts import ReceiptStore, render_graph, verify_store
from trlm_lab.receipts.fixes import FIXES
from trlm_lab.receipts.verify import RECEIPT_FILE, list_files, receipt_text

ROOM = Path(__file__).resolve().parents[2] / "trlm_lab"


def sealed(root: Path, rows: Any = None) -> Path:
    """A small store; `rows` stand in for the honest list of files."""
    (root / "figures").mkdir(parents=True, exist_ok=True)
    (root / "figures" / "a.txt").write_bytes(b"figure")
    store = ReceiptStore(root)
    files = store.put_value(list_files(root) if rows is None else rows)
    report = grow(store, "report", files_blob=files)
    (root / RECEIPT_FILE).write_text(receipt_text(report))
    return root


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A sound store."""
    root = sealed(tmp_path / "run")
    assert verify_store(root).findings == []
    return root


def codes(root: Path) -> set[str]:
    """Codes of the errors, each with a place, words and a fix."""
    found = [f for f in verify_store(root).findings if f.level == "error"]
    assert all(f.where and f.detail and f.fix for f in found), found
    return {f.code for f in found}


# --- receipt.json ----------------------------------------------------------------------------


def _directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _link(path: Path) -> None:
    path.rename(path.parent / "elsewhere.json")
    path.symlink_to("elsewhere.json")


def _large(path: Path) -> None:
    with path.open("wb") as stream:
        stream.truncate(100 << 20)


def _bytes(data: bytes) -> Callable[[Path], None]:
    return lambda path: path.write_bytes(data) and None


@pytest.mark.parametrize(
    "spoil",
    [
        _directory,
        _pipe,
        _link,
        _large,
        _bytes(b""),
        _bytes(b"\xff\xfe{}"),
        _bytes(b"[" * 4000),
        _bytes(b"[]"),
        _bytes(b"null"),
        _bytes(b'{"conformance_receipt_id": 7, "schema": "trlm.receipt.v1"}'),
        _bytes(b'{"conformance_receipt_id": "../../etc/passwd", "schema": "trlm.receipt.v1"}'),
        _bytes(b'{"conformance_receipt_id": "\\ud800"}'),
    ],
)
def test_a_receipt_file_that_is_none(store: Path, spoil: Callable[[Path], None]) -> None:
    spoil(store / RECEIPT_FILE)
    assert codes(store) & {"RECEIPT_MALFORMED", "RECEIPT_MISSING"}


# --- nodes and blobs -------------------------------------------------------------------------


@pytest.mark.parametrize("folder", ["nodes", "blobs"])
def test_a_directory_among_them(store: Path, folder: str) -> None:
    (store / folder / ("ab" * 32)).mkdir()
    assert codes(store) == {"STORE_ENTRY"}


@pytest.mark.parametrize("folder", ["nodes", "blobs"])
@pytest.mark.parametrize("name", ["readme.txt", "AB" * 32, "ab" * 31, "x\udcff"])
def test_a_name_that_is_no_hash(store: Path, folder: str, name: str) -> None:
    (store / folder / name).write_bytes(b"")
    assert codes(store) == {"STORE_ENTRY"}


def test_an_interrupted_write_is_a_note(store: Path) -> None:
    (store / "blobs" / ".tmp-abc").write_bytes(b"half")
    report = verify_store(store)
    assert report.sound
    assert [f.code for f in report.findings] == ["STORE_LEFTOVER"]


@pytest.mark.parametrize("where", ["nodes", "blobs", "figures", "."])
@pytest.mark.parametrize("kind", ["pipe", "socket", "link", "loop"])
def test_what_is_no_file(store: Path, where: str, kind: str, monkeypatch: Any) -> None:
    # A socket's path has a length limit, so it is bound from its own directory.
    monkeypatch.chdir(store / where)
    if kind == "pipe":
        os.mkfifo("odd")
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as made:
            made.bind("odd")
    else:
        Path("odd").symlink_to("/" if kind == "link" else "odd")
    assert codes(store) == {"NOT_A_FILE"}


def test_a_node_that_is_a_pipe(store: Path) -> None:
    node = next((store / "nodes").iterdir())
    node.unlink()
    os.mkfifo(node)
    assert {"NOT_A_FILE"} <= codes(store)


@pytest.mark.parametrize(
    "data",
    [
        b"\x81" * 100_000 + b"\x00",
        b"\xa1\x61a" * 50_000 + b"\x00",
        b"\x9b" + b"\xff" * 8,
        b"\xd8\x1c\x01",
        b"",
        canon.encode({"type": "case", "metadata": {}, "children": [b"short"]}),
        canon.encode({"type": "no such type", "metadata": {}, "children": []}),
        canon.encode([1, 2]),
    ],
)
def test_a_node_of_hostile_bytes(store: Path, data: bytes) -> None:
    (store / "nodes" / canon.sha256_hex(data)).write_bytes(data)
    assert codes(store) & {"NOT_CANONICAL", "RECORD"}


def test_a_node_far_too_large(store: Path) -> None:
    with (store / "nodes" / ("ab" * 32)).open("wb") as stream:
        stream.truncate(100 << 20)
    assert codes(store) == {"NODE_LARGE"}


@pytest.mark.parametrize("name", [7, None, ["x"], {"a": 1}, "../receipt.json", "AB" * 32])
def test_a_reference_that_is_no_hash(store: Path, name: Any) -> None:
    put_loose(ReceiptStore(store), "trace", {"trace_blob": name})
    assert codes(store) == {"BLOB_REFERENCE"}


# --- the list of files -----------------------------------------------------------------------

SHA = "ab" * 32


@pytest.mark.parametrize(
    "rows",
    [
        7,
        None,
        {"figures/a.txt": 6},
        [["figures/a.txt", 6]],
        [["figures/a.txt", "6", SHA]],
        [["figures/a.txt", True, SHA]],
        [[b"figures/a.txt", 6, SHA]],
        [["figures/a.txt", 6, "not a hash"]],
        [["a", 1, SHA], ["a", 1, SHA]],
    ],
)
def test_a_list_of_files_of_another_form(tmp_path: Path, rows: Any) -> None:
    root = sealed(tmp_path / "run", [] if rows is None else rows)
    if rows is None:
        files = ReceiptStore(root).blobs.put(canon.encode(None))
        report = grow(ReceiptStore(root), "report", files_blob=files)
        (root / RECEIPT_FILE).write_text(receipt_text(report))
    assert codes(root) == {"FILES_MALFORMED"}


@pytest.mark.parametrize(
    "path",
    [
        "/etc/hostname",
        "../outside.txt",
        "figures/../../outside.txt",
        "figures/./a.txt",
        "figures//a.txt",
        "./figures/a.txt",
        "figures/a.txt/",
        "",
        ".",
        "..",
        "a\0b",
        "..\\outside.txt",
    ],
)
def test_a_listed_path_that_leads_out(tmp_path: Path, path: str) -> None:
    (tmp_path / "outside.txt").write_bytes(b"figure")
    sha256 = canon.sha256_hex(b"figure")
    assert codes(sealed(tmp_path / "run", [[path, 6, sha256]])) == {"PATH_OUTSIDE"}


@pytest.mark.parametrize("through", ["file", "directory"])
def test_a_listed_path_through_a_link(tmp_path: Path, through: str) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "a").write_bytes(b"figure")
    root = tmp_path / "run"
    root.mkdir()
    if through == "file":
        (root / "link").symlink_to(tmp_path / "outside" / "a")
    else:
        (root / "link").symlink_to(tmp_path / "outside")
    name = "link" if through == "file" else "link/a"
    sealed(root, [[name, 6, canon.sha256_hex(b"figure")]])
    assert codes(root) == {"PATH_OUTSIDE", "NOT_A_FILE"}


def test_a_directory_that_is_not_there(tmp_path: Path) -> None:
    assert "RECEIPT_MISSING" in codes(tmp_path / "nowhere")


def test_directories_far_below_each_other(store: Path) -> None:
    depth, here = 1200, Path.cwd()
    try:
        os.chdir(store)
        for _ in range(depth):
            Path("d").mkdir()
            os.chdir("d")
        Path("x").write_bytes(b"")
    finally:
        os.chdir(here)
    report = verify_store(store)
    assert [f.code for f in report.findings] == ["FILE_UNLISTED"]
    deep = store / "/".join(["d"] * depth) / "x"
    deep.unlink()
    for _ in range(depth):
        deep = deep.parent
        deep.rmdir()


def test_a_chain_of_many_nodes(store: Path) -> None:
    held = ReceiptStore(store)
    node = put_loose(held, "trace", {"n": 0}, [])
    for number in range(1, 1500):
        node = put_loose(held, "trace", {"n": number}, [node])
    assert len(render_graph(held, node).splitlines()) == 1500
    (store / RECEIPT_FILE).write_text(receipt_text(node))
    assert codes(store) == {"NODE_SCHEMA"}


# --- fixes -----------------------------------------------------------------------------------


#: A note that asks for nothing: what it says is all there is to say.
WITHOUT_FIX = {
    "CONFLICT_SETTLED", "FILE_UNLISTED", "NOT_RECOMPUTED", "STORE_LEFTOVER", "SUITE_FOREIGN"
}  # fmt: skip


def test_every_code_has_a_fix() -> None:
    """What the sources report by code is in the table, and the table holds nothing else."""
    paths = [p for p in (ROOM / "receipts").glob("*.py") if p.name != "fixes.py"]
    paths += [*(ROOM / "flows").glob("verification*.py"), ROOM / "flows" / "attestation.py"]
    texts = [p.read_text() for p in paths]
    quoted = {code for code in FIXES if any(f'"{code}"' in text for text in texts)}
    assert quoted == set(FIXES)
    said = {c for t in texts for c in re.findall(r'\b(?:fail|note)\(\s*"([A-Z_]+)"', t)}
    assert len(said) > 50
    assert said - set(FIXES) == WITHOUT_FIX
    assert all(FIXES.values())
