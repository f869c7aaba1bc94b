"""Re-check a receipt store as a stranger would: every node, child, blob and listed file."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trlm_lab.base.blobs import file_sha256
from trlm_lab.base.records import Node
from trlm_lab.errors import TrlmError
from trlm_lab.receipts.store import ReceiptStore

#: Called with what is being done, the units done, and all units.
Progress = Callable[[str, int, int], None]


def silent(what: str, done: int, total: int) -> None:
    """Report nothing."""


RECEIPT_FILE = "receipt.json"
#: Held while a run writes; its content is the number of that process and no evidence.
LOCK_FILE = ".lock"
RECEIPT_SCHEMA = "trlm.receipt.v1"


@dataclass(frozen=True)
class Finding:
    """One broken rule: code, place, detail; level `error` or `note`."""

    code: str
    where: str
    detail: str
    level: str = "error"


@dataclass
class VerifyReport:
    """Counts of what was checked, and what was found."""

    root: str | None = None
    nodes: int = 0
    blobs: int = 0
    files: int = 0
    findings: list[Finding] = field(default_factory=list)

    @property
    def sound(self) -> bool:
        """No finding of level `error`."""
        return not any(f.level == "error" for f in self.findings)

    def fail(self, code: str, where: str, detail: str) -> None:
        """Record an error."""
        self.findings.append(Finding(code, where, detail))


def receipt_text(conformance_receipt_id: str) -> str:
    """The one accepted spelling of the receipt file."""
    row = {"schema": RECEIPT_SCHEMA, "conformance_receipt_id": conformance_receipt_id}
    return json.dumps(row, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def read_receipt(directory: Path, report: VerifyReport) -> str | None:
    """The root id of `receipt.json`; problems go into the report."""
    path = directory / RECEIPT_FILE
    try:
        text = path.read_bytes().decode("utf-8")
        row = json.loads(text)
        root = row["conformance_receipt_id"]
        canonical = receipt_text(root) == text
    except FileNotFoundError:
        report.fail("RECEIPT_MISSING", str(path), "the directory holds no receipt file")
        return None
    except (ValueError, KeyError, TypeError) as error:
        report.fail("RECEIPT_MALFORMED", str(path), f"{type(error).__name__}: {error}")
        return None
    if not canonical:
        report.fail("RECEIPT_MALFORMED", str(path), "the file is not in its one accepted spelling")
    return str(root)


def _check_node(store: ReceiptStore, node_id: str, present: set[str], report: VerifyReport) -> None:
    try:
        node = store.get(node_id)
    except TrlmError as error:
        report.fail(error.code, error.where, error.detail)
        return
    report.nodes += 1
    where = f"node {node_id[:12]} ({node.type})"
    for child in node.children:
        if child not in present:
            report.fail("CHILD_MISSING", where, f"child {child} is not in the store")
    for key, sha256 in blob_references(node):
        if sha256 not in store.blobs:
            report.fail("BLOB_MISSING", f"{where}.{key}", f"blob {sha256} is not in the store")


def blob_references(node: Node) -> list[tuple[str, str]]:
    """(key, SHA-256) of every metadata entry whose key ends in `_blob`."""
    return [(k, v) for k, v in sorted(node.metadata.items()) if k.endswith("_blob")]


def _check_blobs(store: ReceiptStore, report: VerifyReport) -> None:
    for name in store.blobs:
        try:
            store.blobs.get(name)
            report.blobs += 1
        except TrlmError as error:
            report.fail(error.code, error.where, error.detail)


def _check_reachable(store: ReceiptStore, root: str, report: VerifyReport) -> None:
    pending, seen = [root], set[str]()
    while pending:
        node_id = pending.pop()
        if node_id in seen:
            continue
        seen.add(node_id)
        try:
            pending.extend(store.get(node_id).children)
        except TrlmError as error:
            report.fail("ROOT_INCOMPLETE", f"under root {root[:12]}", error.detail)


def check_files(
    directory: Path,
    rows: list[list[Any]],
    report: VerifyReport,
    progress: Progress = silent,
) -> None:
    """Check listed files (path, size, SHA-256) below `directory`; unlisted ones are notes."""
    for done, (relative, size, sha256) in enumerate(rows):
        progress("check every listed file", done + 1, len(rows))
        path = directory / relative
        if not path.is_file():
            report.fail("FILE_MISSING", str(path), "listed in the receipt and not here")
        elif path.stat().st_size != size or file_sha256(path) != sha256:
            report.fail("FILE_CORRUPT", str(path), f"is not the {size} bytes with hash {sha256}")
        else:
            report.files += 1
    listed = {row[0] for row in rows}
    for path in sorted(p for p in directory.rglob("*") if p.is_file()):
        relative = path.relative_to(directory).as_posix()
        inside = relative.split("/")[0] in ("nodes", "blobs") or relative in (RECEIPT_FILE, LOCK_FILE)
        if not inside and relative not in listed:
            report.findings.append(
                Finding("FILE_UNLISTED", str(path), "no receipt speaks of it", "note")
            )


def list_files(directory: Path, progress: Progress = silent) -> list[list[Any]]:
    """Rows (path, size, SHA-256) of every file outside the store itself, sorted by path."""
    rows: list[list[Any]] = []
    paths = sorted(p for p in directory.rglob("*") if p.is_file())
    for done, path in enumerate(paths):
        progress("list and hash every file", done, len(paths))
        relative = path.relative_to(directory).as_posix()
        if relative.split("/")[0] in ("nodes", "blobs") or relative in (RECEIPT_FILE, LOCK_FILE):
            continue
        rows.append([relative, path.stat().st_size, file_sha256(path)])
    progress("list and hash every file", len(paths), len(paths))
    return rows


def verify_store(directory: Path, progress: Progress = silent) -> VerifyReport:
    """Verify everything under `directory`; never raises on bad content."""
    report = VerifyReport()
    report.root = read_receipt(directory, report)
    store = ReceiptStore(directory)
    present = set(store)
    for node_id in sorted(present):
        _check_node(store, node_id, present, report)
    _check_blobs(store, report)
    if report.root is None:
        return report
    _check_reachable(store, report.root, report)
    try:
        files_blob = store.get(report.root).metadata.get("files_blob")
        rows = store.get_value(files_blob) if files_blob else []
    except TrlmError as error:
        report.fail(error.code, error.where, error.detail)
        return report
    check_files(directory, rows, report, progress)
    return report
