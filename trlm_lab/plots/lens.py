"""The logit lens: what the model would say if it stopped after each layer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from trlm_lab.plots.result import PlotResult
from trlm_lab.plots.style import SOFT, blank, title


def logit_lens(
    rows: Sequence[dict[str, Any]], tokens: Sequence[str], *, name: str = "logit_lens"
) -> PlotResult:
    """Layer (up) by position: the likeliest next token, coloured by its probability.

    `rows` have the keys layer, position, token, probability, final; `tokens` are the texts of the
    whole case. Bold where the token is already the one that the last layer chooses.
    """
    positions = sorted({r["position"] for r in rows})
    layers = sorted({r["layer"] for r in rows})
    cells = np.zeros((len(layers), len(positions)))
    width, height = 1.6 + 0.82 * len(positions), 1.5 + 0.235 * len(layers)
    figure, axes = blank(max(5.5, width), max(3.0, height))
    for row in rows:
        y, x = layers.index(row["layer"]), positions.index(row["position"])
        cells[y, x] = row["probability"]
        axes.text(x, y, row["token"][:9], ha="center", va="center", fontsize=7.5, parse_math=False,
                  fontweight="bold" if row["final"] else "normal",
                  color="black" if row["probability"] > 0.5 else "white")  # fmt: skip
    image = axes.imshow(cells, aspect="auto", cmap="cividis", vmin=0, vmax=1, origin="lower")
    axes.set_yticks(range(0, len(layers), max(1, len(layers) // 10)))
    axes.set_xticks(range(len(positions)), [tokens[p][:10] for p in positions], fontsize=8,
                    rotation=40, ha="right", parse_math=False)  # fmt: skip
    axes.set_xlabel("after this token", fontsize=9, color=SOFT)
    axes.set_ylabel("layer", fontsize=9)
    bar = figure.colorbar(image, ax=axes, pad=0.01, shrink=0.7)
    bar.set_label("probability of the likeliest token", fontsize=8.5)
    title(axes, "Logit lens", "final norm and head on the residual stream; bold: the final choice")
    return PlotResult(name, figure, list(rows), _reading(rows, tokens))


def _reading(rows: Sequence[dict[str, Any]], tokens: Sequence[str]) -> str:
    last = max(r["position"] for r in rows)
    mine = sorted((r for r in rows if r["position"] == last), key=lambda r: r["layer"])
    settled = mine[-1]["layer"]
    for row in reversed(mine):
        if not row["final"]:
            break
        settled = row["layer"]
    end = mine[-1]
    return (
        f"After “{tokens[last]}” the model says “{end['token']}” with probability "
        f"{end['probability']:.2f}; from layer {settled} on that is the likeliest token."
    )
