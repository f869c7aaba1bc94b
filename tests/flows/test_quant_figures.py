"""Figures of quantized weights on a tiny model: bits, order, noise, windows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from trlm_lab.flows import quant_figures
from trlm_lab.flows.quant_figures import Measured, half_step_noise, quant_rows, windows_of_text

WINDOWS = [[1, 5, 9, 3, 7, 2, 8], [2, 4, 4, 8, 6, 1, 1]]


@pytest.fixture
def model(tiny_models: Callable[[str], Path]) -> Measured:
    calibration = [[int(n) for n in np.random.default_rng(s).integers(0, 60, 40)] for s in range(6)]
    return Measured(tiny_models("llama"), WINDOWS, calibration)


def test_rows_without_a_peer(model: Measured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quant_figures, "_peer", lambda model, name, informed=False: None)
    rows = quant_rows(model, [("q4_g64", "Q4_0"), ("q8_r128", "Q8_0")])
    source, *ours = rows
    assert (source["mean KL"], source["top-1 agreement"], source["tokens"]) == (0.0, 1.0, 12)
    found = [(row["format"], row["algorithm"]) for row in ours]
    assert found == [
        ("q4_g64", "round"), ("q4_g64", "search"), ("q4_g64", "awq"), ("q4_g64", "gptq"),
        ("q8_r128", "round"), ("q8_r128", "awq"), ("q8_r128", "gptq"),
    ]  # fmt: skip
    assert all(row["95 % interval"] is None for row in rows)
    assert len({row["bits a weight"] for row in ours}) == 2
    assert min(r["mean KL"] for r in ours[:4]) > max(r["mean KL"] for r in ours[4:]) > 0


def test_rows_beside_a_peer(model: Measured, monkeypatch: pytest.MonkeyPatch) -> None:
    """A peer that stores the weights as they are: we are worse by all of our divergence."""
    lossless = quant_figures.Stored(model.matrices, 4 * model.size)
    monkeypatch.setattr(quant_figures, "_peer", lambda model, name, informed=False: lossless)
    _, peer, ours = quant_rows(model, [("q4_g64", "Q4_0")], ["round"])
    assert (peer["bits a weight"], peer["mean KL"]) == (32.0, 0.0)
    assert ours["KL less the peer's"] == ours["mean KL"]
    low, high = ours["95 % interval"]
    assert 0 < low <= ours["mean KL"] <= high


def test_a_peer_that_the_shapes_do_not_fit_is_left_out(model: Measured) -> None:
    assert quant_figures._peer(model, "Q6_K") is None


def test_noise_stays_within_half_a_step() -> None:
    grid = np.random.default_rng(0).integers(-8, 8, (4, 64)).astype(np.float32) * np.float32(0.25)
    grid[3, :32] = 0.5
    noisy = half_step_noise(7)("w", grid)
    gap = np.abs(noisy - grid)
    assert 0.1 < gap[:3].max() <= 0.125
    assert gap[3, :32].max() == 0
    assert np.array_equal(noisy, half_step_noise(7)("w", grid))
    assert not np.array_equal(noisy, half_step_noise(8)("w", grid))


def test_other_weights_are_their_own_reference(tiny_models: Callable[[str], Path]) -> None:
    changed = Measured(tiny_models("llama"), WINDOWS, [], lambda name, w: w * np.float32(0.5))
    assert changed.score({})["kl"].max() == 0


def test_windows_hold_one_id_more() -> None:
    documents = [("a", "", list(range(100))), ("b", "", list(range(5))), ("c", "", list(range(50)))]
    found = windows_of_text(iter(documents), 4, 10, most=3)
    assert [w[0] for w in found] == [0, 10, 20, 0]
    assert {len(w) for w in found} == {11}
