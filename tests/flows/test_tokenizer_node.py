"""The receipt node of a tokenizer: its file in the source tree, its profile as a record."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.receipts.nodes import grow, put_loose
from tests.text.components import ADDED, byte_level
from tests.text.constructed import byte_bpe, document
from trlm_lab.base.blobs import file_sha256
from trlm_lab.base.records.tokenizer_profile import TokenizerProfile
from trlm_lab.flows.evidence_graph import EvidenceGraph
from trlm_lab.flows.tokenizer_profiles import tokenizer_node
from trlm_lab.flows.verification_dossier import Dossier
from trlm_lab.flows.verification_records import check_record
from trlm_lab.receipts import ReceiptStore, VerifyReport

ROW = document(byte_bpe(), pre_tokenizer=byte_level(), added_tokens=ADDED)


class Evidence:
    """A store with a source tree over one tokenizer.json, and its node."""

    def __init__(self, root: Path, text: str) -> None:
        self.root, self.path = root, root / "tokenizer.json"
        self.path.write_text(text)
        self.sha256 = file_sha256(self.path)
        self.store = ReceiptStore(root / "store")
        file = grow(self.store, "file", path=b"tokenizer.json", sha256=self.sha256)
        facts = {"snapshot_id": "11" * 32, "files": 1}
        self.tree = self.store.add("source_tree", facts, [file])
        self.node = tokenizer_node(self.store, root, self.sha256, self.tree)

    @property
    def facts(self) -> dict[str, Any]:
        return dict(self.store.get(self.node).metadata)

    def findings(self, **changes: Any) -> list[tuple[str, str]]:
        """What verification says of the node with other facts."""
        node = put_loose(self.store, "tokenizer_profile", self.facts | changes, [self.tree])
        report, graph = VerifyReport(), EvidenceGraph(self.store)
        dossier = Dossier(self.root, report, node, graph, (node,))
        with dossier.reading(node):
            check_record(dossier, node)
        return [(one.code, one.where.split()[-1]) for one in report.findings]


@pytest.fixture
def evidence(tmp_path: Path) -> Evidence:
    return Evidence(tmp_path, json.dumps(ROW))


def test_it_holds_the_profile(evidence: Evidence) -> None:
    profile = TokenizerProfile.from_map(evidence.store.get_value(evidence.facts["profile_blob"]))
    assert profile.profile_id == evidence.facts["profile_id"]
    assert evidence.facts["sha256"] == evidence.sha256
    assert len(profile.added_tokens) == len(ADDED)
    assert evidence.findings() == []


def test_what_the_reference_refuses_has_no_profile(tmp_path: Path) -> None:
    evidence = Evidence(tmp_path, json.dumps(ROW | {"version": "2.0"}))
    assert set(evidence.facts) == {"file", "sha256"}
    assert evidence.findings() == []


def test_forged_facts_are_found(evidence: Evidence) -> None:
    other = "11" * 32
    assert evidence.findings(profile_id=other) == [("RECORD_ID", "profile_id")]
    assert evidence.findings(sha256=other) == [("RECORD_ID", "sha256")]
    assert evidence.findings(file="vocab.json") == [("RECORD_ID", "sha256")]
    row = evidence.store.get_value(evidence.facts["profile_blob"])
    blob = evidence.store.put_value(row | {"source": "another 1.0"})
    assert evidence.findings(profile_blob=blob) == [("RECORD_ID", "profile_id")]
    blob = evidence.store.put_value(row | {"more": 1})
    assert [code for code, _ in evidence.findings(profile_blob=blob)] == ["EVIDENCE_UNREADABLE"]
