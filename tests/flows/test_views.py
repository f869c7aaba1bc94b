"""How records look in Jupyter: the facts are in the markup, and nothing is trusted as markup."""

from pathlib import Path

import pytest

import trlm_lab
from tests.flows.conftest import SmallRun
from tests.plots.test_figures import POLICY, comparison
from trlm_lab.base.records import Mismatch, Outcome
from trlm_lab.flows import views
from trlm_lab.flows.exploring import channel_rows, lens_rows, readable_case, weight_rows
from trlm_lab.flows.run import Run
from trlm_lab.flows.source_tables import conflict_rows, declaration_rows, ledger_rows, shown
from trlm_lab.flows.tables import Words, table, text_of, unbroken


def test_a_comparison_shows_its_cases_and_its_worst_places() -> None:
    page = views.comparison_html(comparison())
    assert "DRIFT" in page
    assert "layers.0.input" in page


def test_a_mismatch_shows_both_words() -> None:
    found = Mismatch(
        Outcome.WRONG, boundary="layers.1.q_rope", reference_bits="3f800000",
        candidate_bits="3f800001", index=(0, 1),
    )  # fmt: skip
    page = views.mismatch_html(found)
    for part in ("layers.1.q_rope", "3f800000", "3f800001", "<mark>1</mark>"):
        assert part in page
    assert "<mark>" not in views.mismatch_html(Mismatch(Outcome.MATCH))


def test_a_policy_shows_factor_and_limits() -> None:
    page = views.policy_html(POLICY)
    assert POLICY.policy_id[:12] in page
    assert "4 times" in page


def test_every_view_belongs_to_a_class_that_exists() -> None:
    from importlib import import_module

    for module, name, _ in views.VIEWS:
        assert hasattr(import_module(module), name), (module, name)


def test_without_jupyter_there_is_nothing_to_tell() -> None:
    assert views.register() is False


def test_jupyter_is_told() -> None:
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell.instance()
    try:
        assert trlm_lab.Outcome is Outcome
        data, _ = shell.display_formatter.format(Mismatch(Outcome.WRONG, boundary="logits"))
        assert "logits" in data["text/html"]
    finally:
        InteractiveShell.clear_instance()


def test_text_in_tables_is_never_markup() -> None:
    page = table([{"<b>": "<script>"}])._repr_html_()
    assert "<script>" not in page
    assert "<b>" not in page
    assert "scope='col'" in page
    assert Words("<i>")._repr_html_() == "<p>&lt;i&gt;</p>"


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, ""), (12345, "12,345"), (True, "True"), (1.5e-7, "1.500e-07"), (float("inf"), "inf"),
     (0.25, "0.25"), (0.0, "0")],
)  # fmt: skip
def test_a_value_in_a_cell(value: object, text: str) -> None:
    assert text_of(value) == text


def test_long_words_break_and_sentences_do_not() -> None:
    assert unbroken("a" * 64)
    assert not unbroken("many short words " * 8)


def test_what_is_null_says_so_and_long_lists_are_cut() -> None:
    assert shown(None) == "none"
    assert shown([0]) == "[0]"
    assert shown(list(range(20))).endswith("… 20 entries]")


@pytest.mark.slow
@pytest.mark.xdist_group("flows")
def test_the_tables_of_a_run(small_run: SmallRun) -> None:
    run = Run.open(small_run.out)
    fields = {row["field"]: row for row in conflict_rows(run)}
    assert "eos_token_id" in fields
    assert set(fields["eos_token_id"]) == {
        "field", "publisher declares", "source implements", "nobody declares", "chosen",
    }  # fmt: skip
    assert all(row["origin"] for row in declaration_rows(run))
    ledger = run.packed["q8_r128"].ledger
    assert len(ledger_rows(ledger, first=2, last=1)) == 3
    assert len(ledger_rows(ledger, first=500)) == len(ledger.entries)


@pytest.mark.slow
@pytest.mark.xdist_group("flows")
def test_the_lens_ends_with_the_oracles_own_choice(small_run: SmallRun) -> None:
    run = Run.open(small_run.out)
    case = readable_case(run)
    rows = lens_rows(run, "f32", case)
    last = max(r["layer"] for r in rows)
    ends = {r["position"]: r["token_id"] for r in rows if r["layer"] == last}
    greedy = run.trace("torch", "f32").read(case.case_id, "logits").argmax(axis=-1)
    assert ends == {position: greedy[position] for position in ends}


@pytest.mark.slow
@pytest.mark.xdist_group("flows")
def test_channels_and_weights_are_the_runs_own(small_run: SmallRun) -> None:
    run = Run.open(small_run.out)
    channels, weights = channel_rows(run, "f32"), weight_rows(run, "f32")
    layers = run.described.config.num_hidden_layers
    assert [r["layer"] for r in channels] == list(range(layers))
    assert all(r["largest"] >= r["second"] >= r["median"] for r in channels)
    assert len(weights) == 7 * layers
    assert all(r["max"] >= r["p999"] >= r["rms"] > 0 for r in weights)
    assert all(r["peak"] >= 1.0 for r in weights)


def test_the_notebooks_hold_no_code_of_their_own() -> None:
    import json

    for path in sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb")):
        cells = json.loads(path.read_text())["cells"]
        code = ["".join(c["source"]) for c in cells if c["cell_type"] == "code"]
        assert not any(line.startswith(("def ", "class ")) for c in code for line in c.split("\n"))
        assert not any(c.get("outputs") for c in cells)
        assert sum("parameters" in c["metadata"].get("tags", ()) for c in cells) == 1, path.name
