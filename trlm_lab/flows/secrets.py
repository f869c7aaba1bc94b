"""The secret scan of a run: first what a promotion rests on, then the pages that are published.

A finding in the evidence is a claim that does not hold; one in a page leaves the run unsealed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trlm_lab.base.plain_file import read_plain
from trlm_lab.errors import SecretFoundError
from trlm_lab.receipts import ReceiptStore, walk
from trlm_lab.receipts.verify import blob_references
from trlm_lab.secret_scan import (
    RULES_VERSION,
    SecretFinding,
    content_ids,
    rule_names,
    scan_bytes,
)

if TYPE_CHECKING:
    from trlm_lab.flows.run import Run

#: Files outside the store that hold words; arrays and pictures hold none.
PAGES = ("*.html", "*.json", "*.csv", "notebooks/*.ipynb", "notebooks/*.html", "figures/*.json",
         "figures/*.csv", "reviewed/*.json")  # fmt: skip


def scan_evidence(run: Run, evidence: Sequence[str]) -> str:
    """Scan every node under `evidence` and every blob that they name; returns the node."""
    found = list(_unaccepted(run, _scan_store(run, evidence)))
    return _node(run, "evidence", found, evidence)


def scan_pages(run: Run, promotion: str) -> str:
    """Scan the report, the notebooks and whatever the promotion rests on beside its evidence.

    Raises:
        SecretFoundError: something is in them; the run is not sealed.
    """
    known = _known(run, [promotion])
    pages = sorted({p for pattern in PAGES for p in run.ws.out.glob(pattern) if p.is_file()})
    found = list(_unaccepted(run, _scan_store(run, [promotion])))
    found += _unaccepted(run, _scan_files(run.ws.out, pages, known))
    if found:
        first = found[0]
        raise SecretFoundError(
            where=f"{first.where} line {first.line}",
            kind=first.rule,
            hint=first.hint,
            more=len(found) - 1,
        )
    return _node(run, "pages", found, [promotion])


def _node(run: Run, scope: str, found: list[SecretFinding], children: Sequence[str]) -> str:
    store = run.ws.store
    return store.add(
        "secret_scan",
        {
            "scope": scope,
            "rules_version": RULES_VERSION,
            "rules_blob": store.put_value(rule_names()),
            "exceptions": run.plan.secret_exceptions,
            "findings": len(found),
            "findings_blob": store.put_value([vars(f) for f in found]),
        },
        list(dict.fromkeys(children)),
    )


def _scan_store(run: Run, roots: Iterable[str]) -> Iterator[SecretFinding]:
    """Nodes and blobs; one that was clean under these rules is not scanned again."""
    store, known = run.ws.store, _known(run, roots)
    inputs = {"rules": [RULES_VERSION, *rule_names()], "known": len(known) > 0}
    clean = set(run.ws.recall("secret-scan", inputs) or ())
    for key, where, data in _objects(store, roots):
        if key in clean:
            continue
        found = list(scan_bytes(data(), where=where, known=known))
        yield from found
        if not found:
            clean.add(key)
    run.ws.remember("secret-scan", inputs, sorted(clean))


def _objects(store: ReceiptStore, roots: Iterable[str]) -> Iterator[tuple[str, str, Any]]:
    """(id, place, reader) of every node and of every blob that one names, once."""
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
                    yield sha256, place, lambda sha256=sha256: store.blobs.get(sha256)


def _known(run: Run, roots: Iterable[str]) -> frozenset[str]:
    """The content ids of the evidence itself: those of the store, and those in its records."""
    known = {run.judged_suite.digest, run.calibration_suite.digest, *run.ws.store}
    for key, _, data in _objects(run.ws.store, roots):
        known.add(key)
        known |= content_ids(data())
    return frozenset(known)


def _scan_files(out: Path, pages: Sequence[Path], known: frozenset[str]) -> Iterator[SecretFinding]:
    # What a page shows of a record is known by the records of the other pages too.
    texts = {page: read_plain(page) for page in pages}
    for page, data in texts.items():
        yield from scan_bytes(data, where=page.relative_to(out).as_posix(), known=known)


def _unaccepted(run: Run, found: Iterable[SecretFinding]) -> Iterator[SecretFinding]:
    return (f for f in found if not run.reviewed.exceptions.reason(f))
