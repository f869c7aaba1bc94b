"""The secret scan over a receipt graph: its nodes, and every blob that they name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

from trlm_lab.receipts import ReceiptStore, walk
from trlm_lab.receipts.verify import blob_references
from trlm_lab.secret_scan import SecretFinding, content_ids, scan_bytes

#: Id, place as findings give it, and reader.
Object = tuple[str, str, Callable[[], bytes]]


def objects(store: ReceiptStore, roots: Iterable[str]) -> Iterator[Object]:
    """Every node under the roots and every blob that one names, once."""
    seen: set[str] = set()
    for root in roots:
        for node_id, node in walk(store, root):
            if node_id in seen:
                continue
            seen.add(node_id)
            yield node_id, f"{node.type} {node_id[:12]}", node.encode
            for name, sha256 in blob_references(node):
                if sha256 not in seen:
                    seen.add(sha256)
                    place = f"{node.type} {node_id[:12]} {name}"
                    yield sha256, place, partial(store.blobs.get, sha256)


def known_ids(store: ReceiptStore, roots: Iterable[str]) -> frozenset[str]:
    """The content ids of the evidence itself: those of the store, and those in its records."""
    known = set(store)
    for key, _, data in objects(store, roots):
        known.add(key)
        known |= content_ids(data())
    return frozenset(known)


def scan_graph(
    store: ReceiptStore, roots: Iterable[str], known: frozenset[str], clean: set[str]
) -> Iterator[SecretFinding]:
    """Findings under the roots; ids in `clean` are passed over, and new ones are added to it."""
    for key, where, data in objects(store, roots):
        if key in clean:
            continue
        found = list(scan_bytes(data(), where=where, known=known))
        yield from found
        if not found:
            clean.add(key)
