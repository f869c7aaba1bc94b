"""Claim C1: what each engine makes of the minimum corpus, and how a forged table is found."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from tests.receipts.nodes import grow, put_loose
from tests.text.golden_tokenizers import DOCUMENTS
from trlm_lab.base.blobs import file_sha256
from trlm_lab.base.records import Outcome
from trlm_lab.errors import EngineMissingError
from trlm_lab.flows import tokenizer_engines
from trlm_lab.flows.claim_rows import claims_of
from trlm_lab.flows.evidence_graph import EvidenceGraph
from trlm_lab.flows.plan import RunPlan
from trlm_lab.flows.tokenizer_claims import tokenizer_facts, tokenizer_probe
from trlm_lab.flows.tokenizer_profiles import tokenizer_node
from trlm_lab.flows.verification_dossier import Dossier
from trlm_lab.flows.verification_records import check_record
from trlm_lab.flows.verification_tokenized import check_tokenized_there
from trlm_lab.receipts import ReceiptStore, VerifyReport

PLAN = RunPlan(exact=("reference", "native-scalar", "wasm-scalar@wasmtime"))


class Tokenized:
    """The table of one tokenizer in a store."""

    def __init__(self, root: Path, document: dict[str, Any]) -> None:
        self.root, self.file = root, root / "tokenizer.json"
        self.file.write_text(json.dumps(document))
        self.store = ReceiptStore(root / "store")
        sha256 = file_sha256(self.file)
        file = grow(self.store, "file", path=b"tokenizer.json", sha256=sha256)
        tree = self.store.add("source_tree", {"snapshot_id": "11" * 32, "files": 1}, [file])
        self.node = tokenizer_node(self.store, root, sha256, tree)
        self.facts = tokenizer_facts(self.store, self.file, PLAN.exact)
        self.probe = tokenizer_probe(self.store, self.node, self.facts)

    def table(self) -> dict[str, Any]:
        return copy.deepcopy(self.store.get_value(self.facts["tokenized_blob"]))

    def put(self, table: dict[str, Any], **facts: str) -> str:
        row = {"probe": "tokenizer", **self.facts, "tokenized_blob": self.store.put_value(table)}
        return put_loose(self.store, "probe", row | facts, [self.node])

    def claims(self, node: str) -> list[tuple[str, Outcome, str]]:
        rows = claims_of(EvidenceGraph(self.store), [node], PLAN)
        assert {row.level for row in rows} == {"C1 tokenizer"}
        return [(row.engine, row.outcome, row.detail) for row in rows]

    def dossier(self, *nodes: str) -> Dossier:
        return Dossier(self.root, VerifyReport(), nodes[-1], EvidenceGraph(self.store), nodes)

    def found(self, node: str) -> list[tuple[str, str]]:
        """What verification says of a table."""
        dossier = self.dossier(node)
        check_record(dossier, node)
        return [(one.code, one.where.split()[-1]) for one in dossier.report.findings]

    def there(self, *below: str) -> list[str]:
        """What is said of a promotion over these nodes."""
        promotion = put_loose(self.store, "promotion", {}, [*below])
        dossier = self.dossier(self.node, *below, promotion)
        check_tokenized_there(dossier, promotion, PLAN)
        return [one.code for one in dossier.report.findings]


@pytest.fixture(scope="module")
def tokenized(tmp_path_factory: pytest.TempPathFactory) -> Tokenized:
    """Nothing in the store changes: what a test forges stands beside it."""
    return Tokenized(tmp_path_factory.mktemp("tokenized"), copy.deepcopy(DOCUMENTS["bytes"]))


def test_every_engine_that_reads_texts_makes_a_claim(tokenized: Tokenized) -> None:
    count = len(tokenized.table()["cases"])
    assert count > 800
    said = f"{count} of {count} texts, 0 refused by both"
    assert tokenized.claims(tokenized.probe) == [(e, Outcome.MATCH, said) for e in PLAN.exact]
    assert tokenized.found(tokenized.probe) == []
    assert tokenized.there(tokenized.probe) == []


@pytest.mark.parametrize("key", ["ids_sha256", "text_sha256", "bytes_sha256"])
def test_an_engine_of_other_ids_text_or_bytes_is_wrong(tokenized: Tokenized, key: str) -> None:
    table = tokenized.table()
    table["cases"][7]["engines"]["native-scalar"][key] = "00" * 32
    (_, outcome, detail) = tokenized.claims(tokenized.put(table))[1]
    assert outcome is Outcome.WRONG
    assert detail.endswith(f"; first parting: {table['cases'][7]['case']}")


def test_a_source_of_other_ids_makes_every_engine_wrong(tokenized: Tokenized) -> None:
    table = tokenized.table()
    table["cases"][7]["source"]["ids_sha256"] = "00" * 32
    claims = tokenized.claims(tokenized.put(table))
    assert {outcome for _, outcome, _ in claims} == {Outcome.WRONG}


def test_a_forged_table_is_found(tokenized: Tokenized) -> None:
    table = tokenized.table()
    table["cases"][5]["engines"]["reference"]["ids_sha256"] = "00" * 32
    assert tokenized.found(tokenized.put(table)) == [("RECORD_ID", "tokenized_blob")]
    table = tokenized.table()
    del table["cases"][7]
    assert tokenized.found(tokenized.put(table)) == [("RECORD_ID", "cases")]
    table = tokenized.table()
    del table["cases"][7]["engines"]["native-scalar"]
    assert tokenized.found(tokenized.put(table)) == [("RECORD_ID", "tokenized_blob")]


def test_a_table_over_another_tokenizer_is_found(tokenized: Tokenized, tmp_path: Path) -> None:
    document = copy.deepcopy(DOCUMENTS["bytes"])
    document["added_tokens"] = document["added_tokens"][:1]
    other = Tokenized(tmp_path, document)
    block = other.store.blobs.get(other.facts["tok2_blob"])
    node = tokenized.put(tokenized.table(), tok2_blob=tokenized.store.blobs.put(block))
    assert tokenized.found(node) == [("RECORD_ID", "tok2_blob")]


def test_a_table_or_an_engine_that_was_left_out(tokenized: Tokenized) -> None:
    assert tokenized.there() == ["EVIDENCE_LEFT_OUT"]
    table = tokenized.table()
    for row in table["cases"]:
        del row["engines"]["native-scalar"]
    assert tokenized.there(tokenized.put(table)) == ["EVIDENCE_LEFT_OUT"]


def test_an_engine_that_is_not_here_is_no_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent(_: Any) -> Any:
        raise EngineMissingError(where="native-scalar", reason="no compiler", remedy="install one")

    monkeypatch.setitem(tokenizer_engines.ENGINES["native"], "TOK2", absent)
    tokenized = Tokenized(tmp_path, copy.deepcopy(DOCUMENTS["bytes"]))
    said = "the tokenizer is not here: ENGINE_MISSING"
    assert tokenized.claims(tokenized.probe)[-1] == ("native-scalar", Outcome.NOT_SUPPORTED, said)
    assert tokenized.there(tokenized.probe) == []


def test_a_tokenizer_that_does_not_compile(
    tokenized: Tokenized, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusal = tokenized.store.put_value({"code": "TOK2_COMPILE"})
    node = tokenizer_probe(tokenized.store, tokenized.node, {"refusal_blob": refusal})
    said = "the tokenizer does not compile: TOK2_COMPILE"
    assert tokenized.claims(node) == [("source", Outcome.NOT_SUPPORTED, said)]
    assert tokenized.found(node) == []
