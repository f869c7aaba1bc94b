"""Re-check a receipt store as a stranger would: every node, child, blob and listed file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from trlm_lab.base.blobs import file_sha256
from trlm_lab.base.plain_file import read_start
from trlm_lab.base.records import Node
from trlm_lab.errors import TrlmError
from trlm_lab.receipts.entries import Entries, entries
from trlm_lab.receipts.findings import Finding, Progress, VerifyReport, silent
from trlm_lab.receipts.history import check_superseded
from trlm_lab.receipts.listed_files import LOCK_FILE, check_files, list_files
from trlm_lab.receipts.receipt_file import (
    RECEIPT_FILE,
    RECEIPT_SCHEMA,
    is_id,
    read_receipt,
    receipt_text,
)
from trlm_lab.receipts.schema_check import check_schemas
from trlm_lab.receipts.store import LARGEST_NODE, ReceiptStore

__all__ = [
    "LOCK_FILE",
    "RECEIPT_FILE",
    "RECEIPT_SCHEMA",
    "Finding",
    "Progress",
    "VerifyReport",
    "blob_references",
    "check_files",
    "list_files",
    "read_receipt",
    "receipt_text",
    "silent",
    "verify_store",
]

#: Begins the name of a write that a kill interrupted.
TEMPORARY = ".tmp-"


def verify_store(directory: Path, progress: Progress = silent) -> VerifyReport:
    """Verify everything under `directory`; never raises on bad content and opens no pipe."""
    report = VerifyReport()
    here = entries(directory)
    for relative, kind in sorted(here.odd.items()):
        report.fail("NOT_A_FILE", str(directory / relative), f"it is {kind}")
    report.root = read_receipt(directory, report)
    nodes = _names(directory, "nodes", here, report)
    blobs = _names(directory, "blobs", here, report)
    store = ReceiptStore(directory)
    _check_blobs(store, blobs, report)
    for node_id in sorted(nodes):
        node = _read_node(store, node_id, report)
        if node is not None:
            report.read[node_id] = node
            _check_names(node_id, node, nodes, blobs, report)
    report.nodes = len(report.read)
    check_schemas(report.read, report)
    if report.root is not None:
        _check_root(store, report.root, here, report, progress)
    check_superseded(directory, here, report.read, report)
    return report


def _names(directory: Path, folder: str, here: Entries, report: VerifyReport) -> set[str]:
    """The ids under `nodes/` or `blobs/`; whatever else lies there is a finding."""
    prefix = f"{folder}/"
    names = {r.removeprefix(prefix) for r in here.files if r.startswith(prefix)}
    strange = {name for name in names if not is_id(name)}
    for name in sorted(strange):
        place = str(directory / folder / name)
        if name.startswith(TEMPORARY):
            report.note("STORE_LEFTOVER", place, "a write that was interrupted")
        else:
            report.fail("STORE_ENTRY", place, "its name is no SHA-256 in lower-case hex")
    for name in _directories(directory / folder):
        report.fail("STORE_ENTRY", str(directory / folder / name), "a directory")
    return names - strange


def _directories(folder: Path) -> list[str]:
    if folder.is_symlink() or not folder.is_dir():
        return []
    with os.scandir(folder) as found:
        return sorted(e.name for e in found if e.is_dir(follow_symlinks=False))


def _check_names(
    node_id: str, node: Node, nodes: set[str], blobs: set[str], report: VerifyReport
) -> None:
    """Whether the children and blobs that a node names are there."""
    for child in node.children:
        if child not in nodes:
            where, detail = _place(node_id, node), f"child {child} is not in the store"
            report.fail("CHILD_MISSING", where, detail)
    for key, sha256 in blob_references(node):
        where = f"{_place(node_id, node)}.{key}"
        if not is_id(sha256):
            report.fail("BLOB_REFERENCE", where, f"{sha256!r:.80} is no SHA-256")
        elif sha256 not in blobs:
            report.fail("BLOB_MISSING", where, f"blob {sha256} is not in the store")


def _place(node_id: str, node: Node) -> str:
    return f"node {node_id[:12]} ({node.type})"


def _read_node(store: ReceiptStore, node_id: str, report: VerifyReport) -> Node | None:
    path = store.node_file(node_id)
    try:
        data = read_start(path, LARGEST_NODE)
        if len(data) <= LARGEST_NODE:
            return store.parse(node_id, data)
        report.fail("NODE_LARGE", path, f"more than {LARGEST_NODE} bytes")
    except TrlmError as error:
        report.fail_with(error)
    except OSError as error:
        report.fail("FILE_UNREADABLE", path, str(error))
    return None


def blob_references(node: Node) -> list[tuple[str, Any]]:
    """(key, SHA-256) of every metadata entry whose key ends in `_blob`."""
    return [(k, v) for k, v in sorted(node.metadata.items()) if k.endswith("_blob")]


def _check_blobs(store: ReceiptStore, blobs: set[str], report: VerifyReport) -> None:
    for name in sorted(blobs):
        path = store.blobs.path(name)
        try:
            got = file_sha256(path)
        except (OSError, TrlmError) as error:
            report.fail("FILE_UNREADABLE", str(path), str(error))
            continue
        if got == name:
            report.blobs += 1
        else:
            report.fail("BLOB_CORRUPT", str(path), f"the bytes hash to {got}")


def _check_root(
    store: ReceiptStore, root: str, here: Entries, report: VerifyReport, progress: Progress
) -> None:
    if not _check_reachable(store, root, report):
        return
    listed = report.read[root].metadata.get("files_blob")
    try:
        rows = [] if listed is None else store.get_value(listed)
    except (TrlmError, OSError, TypeError) as error:
        detail = f"files_blob cannot be read: {error}"
        report.fail("FILES_MALFORMED", f"node {root[:12]}", detail)
        return
    check_files(store.root, rows, report, progress, found=here)


def _check_reachable(store: ReceiptStore, root: str, report: VerifyReport) -> bool:
    pending, seen, whole = [root], set[str](), True
    while pending:
        node_id = pending.pop()
        if node_id in seen:
            continue
        seen.add(node_id)
        if node_id in report.read:
            pending.extend(report.read[node_id].children)
            continue
        try:
            pending.extend(store.get(node_id).children)
        except (TrlmError, OSError) as error:
            detail = error.detail if isinstance(error, TrlmError) else str(error)
            report.fail("ROOT_INCOMPLETE", f"under root {root[:12]}", detail)
            whole = False
    return whole
