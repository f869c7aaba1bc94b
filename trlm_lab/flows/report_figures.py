"""The figures of a report: which, in what order, and the words under them."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

#: File name, heading, and what to look for; what the figure showed is read from beside it.
FIGURES: tuple[tuple[str, str, str], ...] = (
    (
        "exactness",
        "The same bits",
        "Each engine read the artifact for itself and computed every checkpoint from it. "
        "A cell counts the arrays whose SHA-256 is the same as the first engine's.",
    ),
    (
        "error_by_depth",
        "Error against depth",
        "Largest difference from the torch float32 oracle in the residual stream. The limit is "
        "four times the noise of float32 against float64 (the oracle's, or the profile's where it "
        "is larger), measured on other cases and frozen before these ran. Look whether a line "
        "comes near the shaded region.",
    ),
    (
        "error_by_depth_quantized",
        "Error against depth, quantized artifact",
        "The same on the quantized artifact. Its oracle runs the artifact's dequantized weights, "
        "so that this is engine error alone.",
    ),
    (
        "heatmap",
        "Every layer and operator",
        "The largest error over all cases, as a share of its limit. White is the limit; blue is "
        "below it, red beyond. Where both sides are bit-equal (the lookup) the cell is darkest.",
    ),
    (
        "ulp_histogram",
        "Float32 steps",
        "Differences of the residual stream (checkpoint output, all layers and cases) counted in "
        "float32 steps. Near zero a tiny difference is many steps: the tail is no alarm by itself.",
    ),
    (
        "quantization_by_depth",
        "What quantization costs",
        "Not an engine error: the oracle on the artifact's weights against the oracle on the "
        "source's, relative to the RMS of the residual stream.",
    ),
    (
        "outlier_channels",
        "Outlier channels",
        "Why the errors have steps: where one channel is thousands of times larger than the rest, "
        "float32 rounds the whole stream in proportion.",
    ),
    (
        "receipt_graph",
        "What rests on what",
        "What trlm verify walks: each box is addressed by its content and its children. Nodes of "
        "one kind on one level are one box; an edge that a longer path implies is left out.",
    ),
)


def figure_rows(directory: Path, on_grid: str) -> list[dict[str, Any]]:
    """Name, heading, words, reading and PNG (base64) of every figure that is there.

    `on_grid`, the warning about weights from a quantized file, stands under quantization's cost.
    """
    found = []
    for name, heading, words in FIGURES:
        path = directory / f"{name}.png"
        if not path.exists():
            continue
        reading = directory / f"{name}.txt"
        found.append(
            {
                "name": name,
                "heading": heading,
                "words": f"{words} {on_grid}" if name == "quantization_by_depth" else words,
                "reading": reading.read_text().strip() if reading.exists() else "",
                "data": base64.b64encode(path.read_bytes()).decode(),
            }
        )
    return found
