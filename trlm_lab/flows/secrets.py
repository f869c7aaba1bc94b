"""The secret scan of a run: first what a promotion rests on, then the pages that are published.

A finding in the evidence is a claim that does not hold; one in a page leaves the run unsealed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from trlm_lab.base.plain_file import read_plain
from trlm_lab.errors import SecretFoundError
from trlm_lab.flows.plan import PLAN_FILE
from trlm_lab.flows.secrets_graph import known_ids, scan_graph
from trlm_lab.secret_scan import RULES_VERSION, SecretFinding, rule_names, scan_bytes

if TYPE_CHECKING:
    from trlm_lab.flows.run import Run

#: Files outside the store that hold words; arrays and pictures hold none.
PAGES = ("*.html", "*.json", "*.csv", "notebooks/*.ipynb", "notebooks/*.html", "figures/*.json",
         "figures/*.csv", "reviewed/*.json")  # fmt: skip


def scan_plan(run: Run) -> None:
    """Scan the page that is known before any work: names of sources, commands of engines.

    Random text is left to the scan of the finished pages, which knows the ids of the evidence.

    Raises:
        SecretFoundError: something is in it that would leave the run unsealed in the end.
    """
    data = json.dumps(run.plan.shown().to_map()).encode()
    found = _unaccepted(run, scan_bytes(data, where=PLAN_FILE))
    _refuse([f for f in found if not f.rule.endswith("Entropy")])


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
    _refuse(found)
    return _node(run, "pages", found, [promotion])


def _refuse(found: Sequence[SecretFinding]) -> None:
    if found:
        first = found[0]
        raise SecretFoundError(
            where=f"{first.where} line {first.line}",
            kind=first.rule,
            hint=first.hint,
            more=len(found) - 1,
        )


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


def _scan_store(run: Run, roots: Sequence[str]) -> Iterator[SecretFinding]:
    """Nodes and blobs; one that was clean under these rules is not scanned again."""
    known = _known(run, roots)
    inputs = {"rules": [RULES_VERSION, *rule_names()], "known": len(known) > 0}
    clean = set(run.ws.recall("secret-scan", inputs) or ())
    yield from scan_graph(run.ws.store, roots, known, clean)
    run.ws.remember("secret-scan", inputs, sorted(clean))


def _known(run: Run, roots: Sequence[str]) -> frozenset[str]:
    """The content ids of the evidence itself, and those of the cases."""
    suites = {run.judged_suite.digest, run.calibration_suite.digest}
    return known_ids(run.ws.store, roots) | suites


def _scan_files(out: Path, pages: Sequence[Path], known: frozenset[str]) -> Iterator[SecretFinding]:
    # What a page shows of a record is known by the records of the other pages too.
    texts = {page: read_plain(page) for page in pages}
    for page, data in texts.items():
        yield from scan_bytes(data, where=page.relative_to(out).as_posix(), known=known)


def _unaccepted(run: Run, found: Iterable[SecretFinding]) -> Iterator[SecretFinding]:
    return (f for f in found if not run.reviewed.exceptions.reason(f))
