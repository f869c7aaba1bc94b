"""One case walked through the oracle, and the notebook that shows it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from trlm_lab import plots
from trlm_lab.base.model_parts import ladder_of, layer_ops
from trlm_lab.errors import TokenRangeError, UnknownNameError
from trlm_lab.flows.notebooks import run_notebook
from trlm_lab.flows.oracle_views import Walk, spread_rows
from trlm_lab.flows.progress import Board
from trlm_lab.flows.workspace import Workspace

pytestmark = pytest.mark.xdist_group("flows")
GEMMA3 = "synthetic:gemma3-tiny"


@pytest.fixture(scope="module")
def walk() -> Walk:
    return Walk.of(GEMMA3, tokens=9, layer=1)


def test_every_checkpoint_has_a_row_and_one_layer_its_arrays(walk: Walk) -> None:
    assert [row["checkpoint"] for row in walk.rows] == ladder_of(walk.config)
    assert [name.split(".")[-1] for name in walk.kept] == list(layer_ops(walk.config))
    assert len(walk.nearby()) == len(walk.kept) + 3
    values = walk.kept["layers.1.q_proj"]
    row = next(row for row in walk.rows if row["checkpoint"] == "layers.1.q_proj")
    assert (row["shape"], row["axes"], row["masked"]) == ("9×64", "T HE", 0)
    assert row["max"] == float(values.max())
    assert row["rms"] == pytest.approx(float(np.sqrt(np.mean(values.astype(np.float64) ** 2))))
    assert "5 slide" in walk.about()["layers"]


def test_masked_scores_are_counted_apart(walk: Walk) -> None:
    row = next(row for row in walk.rows if row["checkpoint"] == "layers.1.attn_masked")
    # A window of six: the first six queries see 1 to 6 keys, the other three six each.
    assert row["masked"] == 4 * (81 - (21 + 18))
    assert abs(row["min"]) < 1e3


def test_a_case_that_is_given_and_what_the_model_lacks() -> None:
    assert Walk.of("synthetic:gpt2-tiny", [3, 1, 4]).case.token_ids == (3, 1, 4)
    with pytest.raises(UnknownNameError, match="known: 0 to 1"):
        Walk.of("synthetic:gpt2-tiny", layer=2)
    with pytest.raises(TokenRangeError):
        Walk.of("synthetic:gpt2-tiny", [512])


def test_figures_read_what_they_show(walk: Walk) -> None:
    ladder = plots.ladder_walk(walk.rows, subject="tiny")
    assert ladder.reading.startswith(f"{len(walk.rows)} checkpoints.")
    pictures = walk.pictures(head=1)
    assert pictures["q_rope"].shape == (9, 64)
    assert pictures["attn_probs"].shape == (9, 9)
    shown = plots.layer_pictures(pictures, subject="tiny")
    hidden = {row["operator"]: row["hidden"] for row in shown.table if row["hidden"]}
    assert hidden == {"attn_masked": 81 - 39}
    assert "42 entries of attn_masked" in shown.reading
    maps = plots.attention_maps(walk.attention(heads=2), ["t"] * 9)
    assert [row["panel"] for row in maps.table] == ["layer 1, head 0", "layer 1, head 1"]


def test_the_floor_names_what_moved_and_what_did_not(walk: Walk) -> None:
    ladder = [row["checkpoint"] for row in walk.rows]
    drift = walk.drift(["sdpa"])
    rows = spread_rows(drift)
    assert {(row["condition"], row["checkpoint"]) for row in rows} == {("sdpa", "logits")}
    reasons = {standing.name: standing.reason for standing in drift.standings}
    figure = plots.noise_floor(rows, ladder, reasons)
    assert figure.reading.startswith("logits moves the farthest")
    assert figure.figure.axes[0].texts[0].get_text().endswith("under: again")
    still = plots.noise_floor([], ladder, {"again": "", "capability-avx512": "no such machine"})
    assert still.reading == (
        "Not one bit differs under again. Not measured here: capability-avx512."
    )


@pytest.mark.slow
@pytest.mark.parametrize("family", ["gpt2", "gemma3"])
def test_the_notebook_walks_a_family(tmp_path: Path, family: str) -> None:
    ws = Workspace(tmp_path / "run", Board(quiet=True))
    given = {"source": f"synthetic:{family}-tiny", "conditions": ["batched"], "layer": 1}
    done = run_notebook(ws, "10_oracle", given, [])
    assert done.evidence["repeats"] is True
    assert done.evidence["checkpoints"] == {"gpt2": 35, "gemma3": 141}[family]
