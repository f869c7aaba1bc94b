"""The table of invalidation, on the graph of a real run."""

from pathlib import Path

import pytest

from tests.flows.conftest import SmallRun
from tests.receipts.nodes import grow
from trlm_lab.base.interfaces import Subject
from trlm_lab.base.records import Case, CaseSuite
from trlm_lab.compare import COMPARATOR
from trlm_lab.errors import NothingChangedError
from trlm_lab.flows.engines import runner
from trlm_lab.flows.execution import Task, run_task
from trlm_lab.flows.progress import Board
from trlm_lab.flows.receipts_change import cause_rows, stale_rows
from trlm_lab.flows.workspace import Workspace
from trlm_lab.receipts import ReceiptStore
from trlm_lab.receipts.invalidation import RECOMPUTE

pytestmark = pytest.mark.xdist_group("flows")


def invalid(run: SmallRun, *changed: str) -> dict[str, int]:
    kinds: dict[str, int] = {}
    for row in stale_rows(run.out, list(changed)):
        kinds[row["type"]] = kinds.get(row["type"], 0) + 1
    return kinds


def test_another_source_invalidates_everything_below_it(small_run: SmallRun) -> None:
    kinds = invalid(small_run, "source_tree")
    assert {"acquisition", "effective_config", "artifact", "oracle_run", "trace", "comparison",
            "promotion", "report"} <= set(kinds)  # fmt: skip
    assert not {"file", "environment", "runtime_build", "engine_profile"} & set(kinds)


def test_another_configuration_spares_the_source(small_run: SmallRun) -> None:
    kinds = invalid(small_run, "effective_config")
    assert {"artifact", "trace", "oracle_run", "comparison"} <= set(kinds)
    assert not {"source_tree", "acquisition", "provenance", "conflict"} & set(kinds)


def test_another_quantization_spares_the_other_artifact(small_run: SmallRun) -> None:
    both = invalid(small_run, "quant_profile")
    one = invalid(small_run, "quant_profile:q8_r128")
    assert both["artifact"] == 2
    assert one["artifact"] == 1
    assert 0 < one["trace"] < both["trace"]


def test_another_oracle_environment_spares_artifacts_and_engines(small_run: SmallRun) -> None:
    kinds = invalid(small_run, "environment")
    assert {"oracle_run", "comparison", "tolerance_policy"} <= set(kinds)
    assert not {"artifact", "trace", "inspection"} & set(kinds)


def test_another_build_of_one_engine_spares_the_others(small_run: SmallRun) -> None:
    every = invalid(small_run, "artifact")["trace"]
    kinds = invalid(small_run, "runtime_build:native-scalar")
    assert 0 < kinds["trace"] < every
    assert not {"artifact", "oracle_run", "tolerance_policy"} & set(kinds)


def test_another_policy_runs_no_engine_on_judged_cases(small_run: SmallRun) -> None:
    rows = stale_rows(small_run.out, ["tolerance_policy"])
    kinds = {row["type"] for row in rows}
    assert "comparison" in kinds
    assert not {"trace", "oracle_run", "artifact"} & kinds
    assert {r["action"] for r in rows if r["type"] in ("comparison", "promotion")} == {RECOMPUTE}


def test_each_row_says_why(small_run: SmallRun) -> None:
    for row in stale_rows(small_run.out, ["effective_config"]):
        assert row["because"][-1].startswith("effective_config ")


def test_nothing_changed(small_run: SmallRun) -> None:
    with pytest.raises(NothingChangedError):
        stale_rows(small_run.out, ["runtime_build:no-such-engine"])


def test_a_receipt_does_not_differ_from_itself(small_run: SmallRun) -> None:
    assert cause_rows(small_run.out, small_run.out) == []


def test_text_cases_rest_on_the_tokenizer_and_ids_do_not(
    small_run: SmallRun, tmp_path: Path
) -> None:
    ws = Workspace(tmp_path / "run", Board(quiet=True))
    tokenizer = grow(ws.store, "tokenizer_profile")
    suite = CaseSuite("two", (Case("ids", (1, 2)), Case("text", (1, 3), text="x")))
    found = sorted((small_run.out / "traces").glob("native*"))
    assert found
    artifact = _artifact(small_run)
    task = Task("reference", "f32", runner("reference"), Subject(artifact, None, {"a": "b"}), suite,
                parents=(grow(ws.store, "artifact"),), tokenizer=tokenizer)  # fmt: skip
    node = ws.store.get(run_task(ws, task).node)
    cases = [ws.store.get(c) for c in node.children if ws.store.get(c).type == "case"]
    assert [c.children for c in cases] == [(), (tokenizer,)]


def _artifact(run: SmallRun) -> Path:
    from trlm_lab.flows.run import Run

    whole = Run(run.plan, Workspace(run.out, Board(quiet=True), trusted=True))
    return whole.packed["f32"].artifact.path


def test_the_store_still_verifies_after_looking(small_run: SmallRun) -> None:
    before = set(ReceiptStore(small_run.out))
    stale_rows(small_run.out, ["artifact"])
    assert set(ReceiptStore(small_run.out)) == before


def test_another_comparator_spares_every_run(small_run: SmallRun) -> None:
    kinds = invalid(small_run, f"comparison:{COMPARATOR}")
    assert {"promotion", "report"} <= set(kinds)
    assert not {"trace", "oracle_run", "artifact", "tolerance_policy"} & set(kinds)
