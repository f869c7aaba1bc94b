"""Where receipts may be stored: a new or empty directory, or one that holds a store already.

It is looked at before any work is done for it, since a store that cannot take the receipt loses
what was found out.
"""

from __future__ import annotations

import os
from pathlib import Path

from trlm_lab.base.blobs import write_atomically
from trlm_lab.base.file_lock import locked
from trlm_lab.errors import DirectoryForeignError, StoreWriteError
from trlm_lab.flows.plan import PLAN_FILE
from trlm_lab.receipts.findings import VerifyReport
from trlm_lab.receipts.listed_files import LOCK_FILE
from trlm_lab.receipts.receipt_file import RECEIPT_FILE, is_id, read_receipt, receipt_text
from trlm_lab.receipts.verify import TEMPORARY

_FOLDERS = ("blobs", "nodes")
#: What a store has before its first node, where a kill came early.
_OURS = {*_FOLDERS, RECEIPT_FILE, LOCK_FILE}


def require_store(out: Path) -> None:
    """`out` is new or empty, or a store: real folders of ids, and a receipt that can be read.

    Raises:
        DirectoryForeignError: anything else; nothing was written.
        StoreWriteError: this user may not write there.
    """
    strange = _strange(out)
    if strange:
        raise DirectoryForeignError(where=str(out), kind="run or judgement", found=strange)
    place = out
    while not place.exists():
        place = place.parent
    if not os.access(place, os.W_OK | os.X_OK):
        raise StoreWriteError(where=str(place), reason="this user has no right to write here")


def _strange(out: Path) -> str:
    """The first thing that speaks against a store, in words; empty where nothing does."""
    if not os.path.lexists(out):
        above = next(p for p in out.parents if p.exists())
        return "" if above.is_dir() else f"{above}, which is no directory"
    if not out.exists():
        return "a link that leads nowhere"
    if not out.is_dir():
        return "a file, not a directory"
    names = sorted(p.name for p in out.iterdir())
    foreign = [name for name in names if name not in _OURS]
    if foreign and "nodes" not in names:
        return foreign[0]
    found = [*(_strange_folder(out / name) for name in _FOLDERS), _strange_receipt(out)]
    return next(filter(None, found), "")


def _strange_folder(folder: Path) -> str:
    if not os.path.lexists(folder):
        return ""
    if folder.is_symlink() or not folder.is_dir():
        return f"{folder.name}, which is no real folder"
    names = (path.name for path in folder.iterdir())
    strange = (name for name in names if not is_id(name) and not name.startswith(TEMPORARY))
    return next((f"{folder.name}/{name}" for name in strange), "")


def _strange_receipt(out: Path) -> str:
    if not os.path.lexists(out / RECEIPT_FILE):
        return ""
    report = VerifyReport()
    read_receipt(out, report)
    return f"a {RECEIPT_FILE} that is no receipt" if report.findings else ""


def seal_alone(out: Path, node: str) -> None:
    """Make a node the root of a store that has none, and that no run will seal.

    Two writers may come at once; the first one's root stays.

    Raises:
        StoreWriteError: the disk is full, or this user may not write here.
    """
    if (out / PLAN_FILE).exists():
        # The directory of a run: the receipt is what the run proves, or nothing yet.
        return
    try:
        with locked(out / LOCK_FILE):
            if not (out / RECEIPT_FILE).exists():
                write_atomically(out / RECEIPT_FILE, receipt_text(node).encode())
    except OSError as error:
        raise StoreWriteError(where=str(out), reason=error.strerror or str(error)) from error
