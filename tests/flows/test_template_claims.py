"""Claim C2: what each engine renders of the run's template, and how a forged table is found."""

import copy
from pathlib import Path
from typing import Any

import pytest

from tests.flows.test_template_node import OUTSIDE, SOURCE, Evidence
from tests.receipts.nodes import grow, put_loose
from trlm_lab.base.records import Outcome
from trlm_lab.flows.claim_rows import claims_of
from trlm_lab.flows.evidence_graph import EvidenceGraph
from trlm_lab.flows.plan import RunPlan
from trlm_lab.flows.template_claims import special_texts, template_probe, template_table
from trlm_lab.flows.template_corpus import CONVERSATIONS
from trlm_lab.flows.verification_dossier import Dossier
from trlm_lab.flows.verification_rendered import check_rendered_there
from trlm_lab.receipts import VerifyReport

PLAN = RunPlan(exact=("reference", "wasm-scalar@wasmtime", "wasm-scalar@chromium"))
CASES = 4 * len(CONVERSATIONS)


class Rendered(Evidence):
    """The table of a template's conversations in a store."""

    def __init__(self, root: Path, text: str, engines: tuple[str, ...] = ()) -> None:
        super().__init__(root, text)
        table = template_table(self.store, root, self.node, engines)
        self.probe = template_probe(self.store, self.node, table)

    def table(self) -> dict[str, Any]:
        blob = self.store.get(self.probe).metadata["rendered_blob"]
        return copy.deepcopy(self.store.get_value(blob))

    def put(self, table: dict[str, Any]) -> str:
        facts = {"probe": "template", "rendered_blob": self.store.put_value(table)}
        return put_loose(self.store, "probe", facts, [self.node])

    def claims(self, node: str) -> list[tuple[str, Outcome, str]]:
        rows = claims_of(EvidenceGraph(self.store), [node], PLAN)
        assert {row.level for row in rows} == {"C2 template"}
        assert {row.evidence for row in rows} == {node}
        return [(row.engine, row.outcome, row.detail) for row in rows]

    def there(self, *below: str) -> list[str]:
        """What is said of a promotion over these nodes."""
        promotion = put_loose(self.store, "promotion", {}, [*below, self.node])
        report, graph = VerifyReport(), EvidenceGraph(self.store)
        dossier = Dossier(self.root, report, promotion, graph, ())
        check_rendered_there(dossier, promotion, PLAN)
        return [one.code for one in report.findings]


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> Rendered:
    """Nothing in the store changes: what a test forges stands beside it."""
    return Rendered(tmp_path_factory.mktemp("rendered"), SOURCE, PLAN.exact)


def test_every_engine_that_renders_makes_a_claim(rendered: Rendered) -> None:
    said = f"{CASES} of {CASES} conversations, 0 refused by both"
    assert rendered.claims(rendered.probe) == [
        ("reference", Outcome.MATCH, said),
        ("wasm-scalar@wasmtime", Outcome.MATCH, said),
    ]
    assert rendered.found(rendered.probe) == []
    assert rendered.there(rendered.probe) == []


def test_an_engine_of_other_bytes_or_owners_is_wrong(rendered: Rendered) -> None:
    for key in ("text_sha256", "owners_sha256"):
        table = rendered.table()
        table["cases"][3]["engines"]["wasm-scalar@wasmtime"][key] = "00" * 32
        (_, outcome, detail) = rendered.claims(rendered.put(table))[1]
        assert outcome is Outcome.WRONG
        assert detail.endswith(f"; first parting: {table['cases'][3]['case']}")


def test_a_forged_table_is_found(rendered: Rendered) -> None:
    for engine in ("source", "reference"):
        table = rendered.table()
        row = table["cases"][5]
        (row["source"] if engine == "source" else row["engines"][engine])["text_sha256"] = "00" * 32
        assert rendered.found(rendered.put(table)) == [("RECORD_ID", "rendered_blob")]
    table = rendered.table()
    del table["cases"][7]
    assert rendered.found(rendered.put(table)) == [("RECORD_ID", "cases")]
    table = rendered.table()
    del table["cases"][7]["engines"]["wasm-scalar@wasmtime"]
    assert rendered.found(rendered.put(table)) == [("RECORD_ID", "rendered_blob")]


def test_a_table_or_an_engine_that_was_left_out(rendered: Rendered) -> None:
    assert rendered.there() == ["EVIDENCE_LEFT_OUT"]
    table = rendered.table()
    for row in table["cases"]:
        del row["engines"]["wasm-scalar@wasmtime"]
    assert rendered.there(rendered.put(table)) == ["EVIDENCE_LEFT_OUT"]


def test_an_engine_that_is_not_here_is_no_pass(rendered: Rendered) -> None:
    table = rendered.table()
    for row in table["cases"]:
        del row["engines"]["wasm-scalar@wasmtime"]
    table["missing"] = {"wasm-scalar@wasmtime": "ENGINE_MISSING"}
    claims = rendered.claims(rendered.put(table))
    said = "the renderer is not here: ENGINE_MISSING"
    assert claims[1] == ("wasm-scalar@wasmtime", Outcome.NOT_SUPPORTED, said)
    assert rendered.there(rendered.put(table)) == []


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("{{ nope.x }}", "none is rendered"),
        ("{{ raise_exception('no') }}", "none is rendered"),
        ("{{ 2 ** -1 if messages else '' }}", "outside the subset or its bounds"),
    ],
)
def test_what_no_engine_renders_is_no_pass(tmp_path: Path, source: str, said: str) -> None:
    rendered = Rendered(tmp_path, source)
    for _, outcome, detail in rendered.claims(rendered.probe):
        assert outcome is Outcome.NOT_SUPPORTED
        assert detail.endswith(said)
    assert rendered.found(rendered.probe) == []


def test_a_template_that_does_not_compile(tmp_path: Path) -> None:
    evidence = Evidence(tmp_path, OUTSIDE)
    (claim,) = claims_of(EvidenceGraph(evidence.store), [evidence.node], PLAN)
    assert (claim.level, claim.outcome) == ("C2 template", Outcome.NOT_SUPPORTED)
    assert claim.detail == "the template does not compile: TEMPLATE_UNSUPPORTED"


def test_without_a_template_there_is_no_claim(rendered: Rendered) -> None:
    tree = grow(rendered.store, "source_tree")
    rows = claims_of(EvidenceGraph(rendered.store), [tree], PLAN)
    assert "C2 template" not in {row.level for row in rows}


def test_the_special_tokens_that_the_source_gives(tmp_path: Path) -> None:
    assert special_texts(tmp_path) == {}
    row = '{"bos_token": {"content": "<s>"}, "eos_token": "</s>", "pad_token": null}'
    (tmp_path / "tokenizer_config.json").write_text(row)
    assert special_texts(tmp_path) == {"bos_token": "<s>", "eos_token": "</s>"}
