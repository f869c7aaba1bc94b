"""Rows behind the figures of the ladder, and its notebook."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.flows.ladder_models import ladder_config, source, subject
from trlm_lab.flows.acquisition import Source
from trlm_lab.flows.notebooks import NOTEBOOKS, run_notebook
from trlm_lab.flows.quant_ladder.climb import climb
from trlm_lab.flows.quant_ladder.readers import Readers
from trlm_lab.flows.quant_ladder.views import (
    Quantizable,
    cost_rows,
    error_pictures,
    waterfall_steps,
)
from trlm_lab.flows.workspace import Workspace
from trlm_lab.pack.source import open_sources

pytestmark = pytest.mark.xdist_group("flows")


@pytest.fixture
def model(tmp_path: Path) -> Quantizable:
    config = ladder_config()
    root = source(tmp_path / "source", config)
    return Quantizable(root, config, open_sources(root, config))


def test_a_weight_in_steps_of_its_scale(tmp_path: Path) -> None:
    ladder = climb(subject(tmp_path, "q4_g64"), 3, source=False, readers=Readers())
    rows = waterfall_steps(ladder, 2)
    assert [(r["step"], r["value"]) for r in rows] == [
        ("weight", 2.5), ("rounded", 2.0), ("saturated", 2.0), ("weight stored", 2.0),
    ]  # fmt: skip
    assert [r["rung"] for r in cost_rows(ladder)] == ["dequantized", "scalar_dot", "operator"]


def test_errors_of_a_tensor_stay_within_half_a_step(tmp_path: Path) -> None:
    held = subject(tmp_path, "q5_g64")
    maps = error_pictures(climb(held, source=False, readers=Readers()))
    assert maps["steps"].shape == (32, 128)
    assert maps["by_group"].shape == (32, 4)
    # The scale's own rounding may carry the largest weight of a group a little farther.
    assert 0.4 < np.abs(maps["steps"]).max() < 0.5 + held.stored.storage.q * 2.0**-11


def test_bits_are_those_of_the_planes_and_more_of_them_err_less(model: Quantizable) -> None:
    rows = {r["profile"]: r for r in model.bits_rows(["f32", "q8_r128", "q4_g64", "f16"])}
    assert (rows["f32"]["weight_error"], rows["f32"]["KL"]) == (0, 0)
    assert rows["f32"]["bits"] == 32
    assert 0 < rows["q8_r128"]["weight_error"] < rows["q4_g64"]["weight_error"]
    assert 0 < rows["q8_r128"]["KL"] < rows["q4_g64"]["KL"]
    assert {r["format"] for r in rows.values()} == {"floats", "q8_r128", "q4_g64"}


def test_each_matrix_is_felt_alone(model: Quantizable) -> None:
    rows = model.sensitivity("q4_g64", tokens=(1, 2, 3))
    assert len(rows) == 8  # seven of the layer and the embedding, whose tied head goes with it
    assert all(row["KL"] > 0 and 0 < row["weight_error"] < 0.2 for row in rows)


@pytest.mark.slow
def test_the_notebook_runs_and_states_its_evidence(tmp_path: Path, small_source: Source) -> None:
    cells = json.loads((NOTEBOOKS / "11_pack.ipynb").read_text())["cells"]
    assert not any(cell.get("outputs") for cell in cells)
    done = run_notebook(Workspace(tmp_path), "11_pack", {"tokens": 3}, [])
    assert done.evidence["named"] is None
    assert len(done.evidence["rungs"]) == 13
    assert done.evidence["sensitivities"] == 29
