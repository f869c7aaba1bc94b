"""Figures draw what the records say, and return the table behind them."""

import struct
from pathlib import Path

import numpy as np
import pytest

from tests.ladders import llama_ladder
from trlm_lab import plots
from trlm_lab.base.records import (
    CaseComparison,
    CheckpointComparison,
    Comparison,
    Metrics,
    Outcome,
    PolicyEntry,
    TolerancePolicy,
)

LAYERS = 3
NAMES = llama_ladder(LAYERS)
POLICY = TolerancePolicy(
    "p", 1, 4.0, "o", "r", "s", ("c",), tuple(PolicyEntry(n, 0.25, 1.0, "test") for n in NAMES)
)


def point(name: str, error: float, outcome: Outcome = Outcome.DRIFT) -> CheckpointComparison:
    metrics = Metrics(4, error, error, error, 1.0, 1, (error,) * 4, 0, None, error == 0.0)
    return CheckpointComparison(name, outcome, metrics, 1.0, 0.25)


def comparison(wrong_from: int = 99) -> Comparison:
    points = [
        point(n, 4.0 if n.startswith("layers.") and int(n.split(".")[1]) >= wrong_from else 0.5)
        for n in NAMES
    ]
    return Comparison("a", "b", "p", (CaseComparison("c", tuple(points)),))


def size(png: bytes) -> tuple[int, int]:
    assert png.startswith(b"\x89PNG")
    width, height = struct.unpack(">II", png[16:24])
    return width, height


def test_error_by_depth_has_one_row_a_layer() -> None:
    drawn = plots.error_by_depth({"engine": comparison()}, POLICY)
    assert [(r["layer"], r["max_abs"]) for r in drawn.table] == [(i, 0.5) for i in range(LAYERS)]
    assert min(size(drawn.png())) > 300
    labels = [t.get_text() for t in drawn.figure.axes[0].get_legend().get_texts()]
    assert labels == ["engine", "frozen limit", "oracle noise"]


def test_layers_are_whole_numbers() -> None:
    figures = {"rms": 0.1, "p999": 0.5, "max": 1.0, "largest": 9.0, "second": 5.0, "p99": 2.0}
    row = {"operator": "q_proj", "channel": 3, "median": 1.0, **figures}
    rows = [{"layer": i, **row} for i in range(18)]
    named = [p.checkpoint for p in comparison().cases[0].checkpoints]
    deep = [point(n.replace("layers.1", f"layers.{i}"), 0.5) for i in range(18) for n in named]
    depth = plots.error_by_depth(
        {"engine": Comparison("a", "b", "p", (CaseComparison("c", tuple(deep)),))}
    )
    for drawn in (depth, plots.weight_magnitudes(rows), plots.outlier_channels(rows)):
        axes = drawn.figure.axes[0]
        low, high = axes.get_xlim()
        assert high - low > 17
        assert all(float(tick).is_integer() for tick in axes.get_xticks())


def test_the_heatmap_marks_what_is_beyond_the_limit() -> None:
    drawn = plots.layer_operator_heatmap(comparison(wrong_from=2))
    beyond = [r for r in drawn.table if r["ratio"] > 1.0]
    assert {r["layer"] for r in beyond} == {2}
    assert len(beyond) == 19
    marks = [t.get_text() for t in drawn.figure.axes[0].texts if t.get_text() == "×"]
    assert len(marks) == 19


def test_rows_that_are_no_checkpoint_are_left_out() -> None:
    odd = CheckpointComparison("prompt_ids", Outcome.NOT_SUPPORTED, None, None, None)
    found = Comparison("a", "b", None, (CaseComparison("c", (odd, point("layers.0.output", 0.5))),))
    assert len(plots.layer_operator_heatmap(found).table) == 1
    assert len(plots.error_by_depth({"x": found}).table) == 1


def test_ulp_histogram_and_exactness() -> None:
    drawn = plots.ulp_histogram({"f32": [("0", 3), ("1", 1)], "q8": [("0", 4), ("1", 0)]})
    assert sum(r["count"] for r in drawn.table) == 8
    rows = [{"engine": "e", "profile": "p", "artifact": "f32", "equal": 3, "total": 4}]
    shown = plots.exactness_matrix(rows)
    assert "3 of 4" in [t.get_text() for t in shown.figure.axes[0].texts]


def test_receipt_graph() -> None:
    levels = [
        [{"key": "r", "type": "report", "label": "report"}],
        [{"key": "s", "type": "source_tree", "label": "source_tree"}],
    ]
    drawn = plots.receipt_graph(levels, [("r", "s")])
    assert [r["type"] for r in drawn.table] == ["report", "source_tree"]


def test_saving_writes_figure_and_table_and_repeats_to_the_byte(tmp_path: Path) -> None:
    first = plots.error_by_depth({"engine": comparison()}, POLICY).save(tmp_path / "a")
    again = plots.error_by_depth({"engine": comparison()}, POLICY).save(tmp_path / "b")
    for name in ("error_by_depth.png", "error_by_depth.csv"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    assert first.csv().splitlines()[0] == "series,layer,max_abs"
    assert again.png() == first.png()
    assert (tmp_path / "a" / "error_by_depth.txt").read_text().strip() == first.reading


def test_every_figure_says_in_words_what_it_shows() -> None:
    drawn = plots.error_by_depth({"engine": comparison(wrong_from=2)}, POLICY)
    assert "400% of a limit" in drawn.reading
    assert "beyond the limit" in drawn.reading
    page = drawn._repr_html_()
    assert f'alt="{drawn.reading}"' in page
    assert "19 of 57 cells" in plots.layer_operator_heatmap(comparison(wrong_from=2)).reading
    rows = [{"engine": "e", "profile": "p", "artifact": "f32", "equal": 3, "total": 4}]
    assert "e differs on f32 in 1 of 4" in plots.exactness_matrix(rows).reading


def test_an_edge_that_a_longer_path_implies_is_not_drawn() -> None:
    levels = [[{"key": k, "type": "file", "label": k}] for k in "abc"]
    drawn = plots.receipt_graph(levels, [("a", "b"), ("b", "c"), ("a", "c")])
    assert len(drawn.figure.axes[0].patches) == 2


def test_weights_and_channels() -> None:
    rows = [
        {"layer": i, "operator": op, "rms": 0.1, "p999": 0.5, "max": 1.0 + i, "channel": 3,
         "peak": 1.5 + i}
        for i in range(LAYERS) for op in ("q_proj", "up_proj")
    ]  # fmt: skip
    assert "30 times its RMS" in plots.weight_magnitudes(rows).reading
    assert "number 3 of q_proj in layer 2, 3.5 times" in plots.uneven_channels(rows).reading
    channels = [
        {"layer": i, "channel": 7, "largest": 100.0 * (i + 1), "second": 5.0, "p99": 2.0,
         "median": 1.0}
        for i in range(LAYERS)
    ]  # fmt: skip
    assert "layer 2 channel 7 reaches 300" in plots.outlier_channels(channels).reading


def test_attention_and_lens() -> None:
    probs = np.array([[1.0, 0.0], [0.75, 0.25]], dtype=np.float32)
    drawn = plots.attention_maps({"layer 0, head 0": probs}, ["$a", "b"])
    assert "75% of its weight on the first token" in drawn.reading
    rows = [
        {"layer": i, "position": 1, "token_id": i > 0, "token": "$x" if i else "y",
         "probability": 0.25 * (i + 1), "final": i > 0}
        for i in range(LAYERS)
    ]  # fmt: skip
    lens = plots.logit_lens(rows, ["$a", "b"])
    assert "from layer 1 on" in lens.reading
    assert "probability 0.75" in lens.reading
    assert min(size(lens.png())) > 100


def test_an_empty_table_has_an_empty_csv() -> None:
    drawn = plots.error_by_depth({"engine": comparison()}, POLICY)
    assert plots.PlotResult("x", drawn.figure, []).csv() == ""


@pytest.mark.parametrize("name", plots.__all__)
def test_every_public_name_has_a_docstring(name: str) -> None:
    assert getattr(plots, name).__doc__


def test_the_figures_of_the_quantization_ladder() -> None:
    steps = [{"step": "weight", "value": -4.43}, {"step": "rounded", "value": -4.0},
             {"step": "saturated", "value": -4.0}]  # fmt: skip
    rungs = [{"rung": "dequantized", "relative": 0.07}, {"rung": "token", "relative": 0.0}]
    fall = plots.element_waterfall(steps, rungs, subject="q4_g64")
    assert fall.reading.startswith("The stored weight is +0.430 steps")
    assert "The dequantized are 7 %" in fall.reading
    assert [row["name"] for row in fall.table] == [
        "weight", "rounded", "saturated", "dequantized", "token",
    ]  # fmt: skip
    groups = np.array([[0.05, 0.06], [0.09, 0.07]])
    maps = plots.error_maps(np.ones((2, 8)), np.full((2, 8), -0.25), groups)
    assert "group is number 0 of row 1, 9 % off" in maps.reading
    assert maps.table[0]["value"] == 0.25
    felt = [{"tensor": f"t{i}", "KL": 0.1 * i, "weight_error": 0.1} for i in range(4)]
    bars = plots.sensitivity_bars(felt, most=2)
    assert "feels t3 most: KL 0.3 nats, 50 % of the sum over 4" in bars.reading
    assert len(bars.table) == 4
    rows = [
        {"profile": "f32", "format": "floats", "bits": 32.0, "weight_error": 0.0, "KL": 0.0},
        {"profile": "q4", "format": "q4", "bits": 4.25, "weight_error": 0.07, "KL": 0.02},
        {"profile": "q4-bf16", "format": "q4", "bits": 4.25, "weight_error": 0.071, "KL": 0.03},
    ]
    bits = plots.bits_against(rows, error="KL")
    assert bits.reading == "From q4 at 4.25 bits (0.02) to q4 at 4.25 bits (0.02)."
    assert plots.bits_against(rows[:1]).reading == "No profile loses anything."
    for figure in (fall, maps, bars, bits):
        assert len(figure.png()) > 5000
