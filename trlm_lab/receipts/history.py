"""Receipts that a later run in the same directory superseded: which, by what, and whether whole.

A superseded receipt lies in `superseded/<root>.json` and is listed by every root sealed after it.
So the order needs no clock: the one that superseded a root is, among those that list it, the one
that lists the fewest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from trlm_lab.base.records import Node
from trlm_lab.errors import TrlmError
from trlm_lab.receipts.entries import Entries
from trlm_lab.receipts.findings import VerifyReport
from trlm_lab.receipts.graph import walk
from trlm_lab.receipts.receipt_file import is_id
from trlm_lab.receipts.store import ReceiptStore

#: Receipts of earlier runs in the directory, by root; the nodes that they name stay in the store.
SUPERSEDED = "superseded"


@dataclass(frozen=True)
class Superseded:
    """A root that was sealed once; `by` is the root that took its place, empty while there is
    none; `whole` says whether everything under it is still in the store."""

    root: str
    by: str
    whole: bool


def superseded_roots(directory: Path) -> list[str]:
    """Roots named by `superseded/<root>.json`, sorted."""
    folder = directory / SUPERSEDED
    found = folder.iterdir() if folder.is_dir() else iter(())
    return sorted(p.stem for p in found if p.suffix == ".json" and is_id(p.stem))


def superseded(directory: Path, current: str | None) -> list[Superseded]:
    """Every superseded receipt of a directory, oldest first; `current` is the sealed root."""
    store, roots = ReceiptStore(directory), superseded_roots(directory)
    listed = {root: _listed(store, root) for root in [*roots, *filter(None, [current])]}
    rows = []
    for root in sorted(roots, key=lambda r: (len(listed[r]), r)):
        after = [other for other, names in listed.items() if root in names and other != root]
        by = min(after, key=lambda other: (len(listed[other]), other), default="")
        rows.append(Superseded(root, by, is_whole(store, root)))
    return rows


def is_whole(store: ReceiptStore, root: str) -> bool:
    """Whether every node under a root, and every blob that one names, can be read back."""
    try:
        for _, node in walk(store, root):
            for key, value in node.metadata.items():
                if key.endswith("_blob"):
                    store.blobs.get(value)
    except (TrlmError, OSError, TypeError):
        return False
    return True


def check_superseded(
    directory: Path, here: Entries, nodes: Mapping[str, Node], report: VerifyReport
) -> None:
    """Report superseded receipts whose root is not in the store."""
    for name in sorted(f for f in here.files if f.startswith(f"{SUPERSEDED}/")):
        root = name.removeprefix(f"{SUPERSEDED}/").removesuffix(".json")
        if is_id(root) and root not in nodes:
            report.fail("SUPERSEDED_MISSING", str(directory / name), "its root is not in the store")


def _listed(store: ReceiptStore, root: str) -> frozenset[str]:
    """The superseded roots that the files of a root name."""
    try:
        rows = store.get_value(store.get(root).metadata["files_blob"])
        paths = [Path(row[0]) for row in rows]
    except (TrlmError, OSError, KeyError, TypeError, IndexError):
        return frozenset()
    return frozenset(p.stem for p in paths if p.parent == Path(SUPERSEDED))
