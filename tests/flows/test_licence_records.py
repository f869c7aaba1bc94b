"""A licence decision on record names every licence text and card of its source, and no other."""

from pathlib import Path
from typing import Any

import pytest

from tests.receipts.nodes import acquired
from trlm_lab.base import canon
from trlm_lab.flows.verification import verify_directory
from trlm_lab.flows.workspace import Workspace
from trlm_lab.receipts.verify import RECEIPT_FILE, receipt_text

HELD = {"LICENSE": "11" * 32, "NOTICE.md": "22" * 32, "README.md": "33" * 32, "a.json": "44" * 32}


def named(*names: str) -> list[dict[str, str]]:
    return [{"path": name, "sha256": HELD[name]} for name in names]


def codes(out: Path, decision: Any, **listed: Any) -> list[tuple[str, str]]:
    store = Workspace(out).store
    rows = [[name.encode(), 1, HELD[name]] for name in sorted(HELD)]
    keys = ("path", "size", "sha256")
    files = [store.add("file", dict(zip(keys, row, strict=True)), []) for row in rows]
    facts = {"snapshot_id": canon.content_id(rows), "files": len(rows)}
    tree = store.add("source_tree", facts, files)
    said = store.add("provenance", {"statement_blob": store.put_value({})}, [tree])
    blob = store.put_value(decision)
    facts = {"text_sha256": "11" * 32, "decision_blob": blob}
    facts |= {name: store.put_value(value) for name, value in listed.items()}
    licence = store.add("licence", facts, [tree])
    root = store.add("acquisition", acquired(store), [tree, said, licence])
    (out / RECEIPT_FILE).write_text(receipt_text(root))
    return [(f.code, f.where) for f in verify_directory(out).findings if f.level == "error"]


TEXTS, CARDS = named("LICENSE", "NOTICE.md"), named("README.md")


def test_a_decision_about_all_of_them(tmp_path: Path) -> None:
    assert codes(tmp_path, {"texts": TEXTS, "cards": CARDS}) == []


def test_a_pinned_package_names_none(tmp_path: Path) -> None:
    assert codes(tmp_path, {"spdx": "MIT"}) == []


def test_the_list_beside_the_decision_names_all(tmp_path: Path) -> None:
    listed = {"texts": TEXTS, "cards": CARDS}
    assert codes(tmp_path / "all", {"spdx": "MIT"}, documents_blob=listed) == []
    for name, wrong in (("texts", TEXTS[:1]), ("cards", [])):
        found = codes(tmp_path / name, {"spdx": "MIT"}, documents_blob=listed | {name: wrong})
        assert [code for code, _ in found] == ["RECORD_ID"]


@pytest.mark.parametrize(
    "decision",
    [
        {"texts": TEXTS[:1], "cards": CARDS},
        {"texts": TEXTS[::-1], "cards": CARDS},
        {"texts": TEXTS, "cards": []},
        {"texts": None, "cards": CARDS},
        {"texts": TEXTS + named("a.json"), "cards": CARDS},
        {"texts": [TEXTS[0], TEXTS[1] | {"sha256": "55" * 32}], "cards": CARDS},
    ],
)
def test_a_decision_about_others(tmp_path: Path, decision: Any) -> None:
    assert [code for code, _ in codes(tmp_path, decision)] == ["RECORD_ID"]
