"""How much work a verification is: every node is opened, decoded and encoded once."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.receipts.nodes import grow
from trlm_lab.base import canon, plain_file
from trlm_lab.flows.verification import verify_directory
from trlm_lab.receipts import ReceiptStore, VerifyReport
from trlm_lab.receipts.receipt_file import receipt_text

COUNT = 40


@pytest.fixture
def store(tmp_path: Path) -> ReceiptStore:
    """A root over scans, each over some files; 3 levels, no other evidence."""
    made = ReceiptStore(tmp_path)
    files = [grow(made, "file", salt=n) for n in range(COUNT)]
    facts = {
        "rules_version": 1,
        "rules_blob": made.put_value(["rules"]),
        "exceptions": "",
        "findings": 0,
        "findings_blob": made.put_value([]),
    }
    scans = [
        made.add("secret_scan", {"scope": f"scan {n}", **facts}, files[n : n + 10])
        for n in range(0, COUNT, 10)
    ]
    root = made.add("secret_scan", {"scope": "all", **facts}, scans)
    (tmp_path / "receipt.json").write_text(receipt_text(root))
    return made


def counted(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> Counter[Any]:
    """Counts calls of a function by their first argument."""
    calls: Counter[Any] = Counter()
    real: Callable[..., Any] = getattr(owner, name)

    def counting(first: Any, *rest: Any, **more: Any) -> Any:
        calls[str(first)] += 1
        return real(first, *rest, **more)

    monkeypatch.setattr(owner, name, counting)
    return calls


def verified(store: ReceiptStore) -> VerifyReport:
    report = verify_directory(store.root)
    assert report.sound, report.findings
    assert report.nodes == COUNT + 5
    return report


def test_every_file_of_the_store_is_opened_once(
    store: ReceiptStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = counted(monkeypatch, plain_file.os, "open")
    verified(store)
    nodes = {name: n for name, n in opened.items() if "/nodes/" in name}
    assert len(nodes) == COUNT + 5
    assert set(nodes.values()) == {1}


def test_every_node_is_decoded_and_encoded_once(
    store: ReceiptStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    decoded = counted(monkeypatch, canon, "decode")
    encoded = counted(monkeypatch, canon.cbor2, "dumps")
    canon._type_bytes.cache_clear()
    verified(store)
    assert sum(decoded.values()) == COUNT + 5
    # One for each node, and one for each of the two types.
    assert sum(encoded.values()) == COUNT + 5 + 2


def test_a_verification_keeps_what_it_has_read(store: ReceiptStore) -> None:
    report = verified(store)
    assert set(report.read) == set(store)
    assert all(store.get(node_id) == node for node_id, node in report.read.items())


def test_a_damaged_node_is_not_kept(store: ReceiptStore) -> None:
    victim = next(iter(store))
    path = store.node_path(victim)
    path.write_bytes(path.read_bytes()[:-1] + b"!")
    report = verify_directory(store.root)
    assert not report.sound
    assert victim not in report.read
    assert report.nodes == COUNT + 4
