"""Attention patterns as small multiples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trlm_lab.plots.result import PlotResult
from trlm_lab.plots.style import INK, grid

#: With more tokens than this the axes bear numbers only.
LABELLED = 24


def attention_maps(
    panels: Mapping[str, NDArray[np.float32]],
    tokens: Sequence[str],
    *,
    name: str = "attention",
    columns: int = 3,
    subject: str = "",
) -> PlotResult:
    """Each panel a T x S matrix of probabilities: rows are queries, columns keys.

    The colour runs with the square root of the probability, so that weak attention is seen.
    """
    from matplotlib.colors import PowerNorm

    lines = -(-len(panels) // columns)
    figure, axes = grid(9.6, 3.1 * lines + 0.5, lines, columns)
    image = None
    for number, ((words, values), panel) in enumerate(zip(panels.items(), axes, strict=False)):
        image = panel.imshow(values, cmap="cividis", norm=PowerNorm(0.5, vmin=0.0, vmax=1.0))
        panel.set_title(words, loc="left", fontsize=9.5, fontweight="bold", color=INK)
        _ticks(panel, tokens, left=number % columns == 0, below=number >= len(panels) - columns)
    for panel in axes[len(panels) :]:
        panel.set_visible(False)
    if image is not None:
        bar = figure.colorbar(
            image, ax=axes, shrink=0.6, pad=0.01, ticks=[0, 0.01, 0.1, 0.25, 0.5, 1]
        )
        bar.set_label("probability (square-root scale)", fontsize=8.5)
    figure.suptitle(f"Attention: query (row) to key (column) {subject}".strip(), x=0.01, ha="left",
                    fontsize=11, fontweight="bold", color=INK)  # fmt: skip
    rows = [_row(words, values) for words, values in panels.items()]
    return PlotResult(name, figure, rows, _reading(rows))


def _ticks(panel: Any, tokens: Sequence[str], *, left: bool, below: bool) -> None:
    if len(tokens) > LABELLED:
        return
    places = range(len(tokens))
    style: dict[str, Any] = {"fontsize": 7.5, "parse_math": False}
    panel.set_yticks(places, tokens if left else [""] * len(tokens), **style)
    panel.set_xticks(places, tokens if below else [""] * len(tokens), rotation=90, **style)


def _row(words: str, values: NDArray[np.float32]) -> dict[str, Any]:
    """Mean weight on the first key, on the token itself, and the mean entropy in bits."""
    wide = values.astype(np.float64)
    logs = np.log2(wide, where=wide > 0, out=np.zeros_like(wide))
    return {
        "panel": words,
        "first_key": float(wide[1:, 0].mean()) if len(wide) > 1 else 1.0,
        "itself": float(np.diagonal(wide).mean()),
        "entropy_bits": float(-(wide * logs).sum(axis=-1).mean()),
    }


def _reading(rows: Sequence[dict[str, Any]]) -> str:
    sink = max(rows, key=lambda r: r["first_key"])
    wide = max(rows, key=lambda r: r["entropy_bits"])
    return (
        f"{sink['panel']} puts {sink['first_key']:.0%} of its weight on the first token; the most "
        f"even is {wide['panel']} with {wide['entropy_bits']:.1f} bits. Above the diagonal every "
        "probability is +0: no token looks ahead."
    )
