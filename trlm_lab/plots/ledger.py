"""What a packer did: bytes by role, and one matrix before and after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trlm_lab.plots.result import PlotResult
from trlm_lab.plots.style import COLOURS, INK, PALE, blank, grid, title

F32 = NDArray[np.float32]


def ledger_bytes(
    rows: Sequence[dict[str, Any]], *, name: str = "ledger_bytes", subject: str = ""
) -> PlotResult:
    """Bars of bytes in source and artifact, by role; `rows` have role, source, artifact."""
    figure, axes = blank(7.6, 1.2 + 0.34 * len(rows))
    places = np.arange(len(rows))
    for number, side in enumerate(("source", "artifact")):
        sizes = [row[side] / 1e6 for row in rows]
        axes.barh(places + 0.2 - 0.4 * number, sizes, 0.38, color=COLOURS[number], label=side)
    axes.set_yticks(places, [row["role"] for row in rows], fontsize=8.5)
    axes.invert_yaxis()
    axes.set_xlabel("MB", fontsize=9)
    axes.grid(axis="x", color=PALE, linewidth=0.5)
    axes.legend(frameon=False, fontsize=8.5, loc="lower right")
    title(axes, f"Bytes by role, {subject}".strip(" ,"), "a tied head has none")
    return PlotResult(name, figure, list(rows), _bytes_read(rows))


def _bytes_read(rows: Sequence[dict[str, Any]]) -> str:
    before, after = (sum(row[side] for row in rows) for side in ("source", "artifact"))
    top = rows[0]
    return (
        f"{before / 1e6:.2f} MB become {after / 1e6:.2f} MB; most of it is {top['role']}, "
        f"{top['source'] / before:.0%} of the source."
    )


def what_became(
    pictures: Mapping[str, F32], *, name: str = "what_became", subject: str = ""
) -> PlotResult:
    """One matrix in each of its states, on one colour scale that reaches to the largest |w|."""
    figure, panels = grid(9.6, 3.6, 1, len(pictures))
    top = max(float(np.abs(picture).max()) for picture in pictures.values()) or 1.0
    for axes, (words, picture) in zip(panels, pictures.items(), strict=True):
        axes.imshow(picture, cmap="RdBu_r", vmin=-top, vmax=top, interpolation="nearest")
        axes.set_title(words, loc="left", fontsize=9.5, color=INK)
        axes.set_xlabel("column", fontsize=8.5)
    panels[0].set_ylabel("row", fontsize=8.5)
    figure.suptitle(f"What became of {subject}".strip(), x=0.01, ha="left", fontsize=11,
                    fontweight="bold", color=INK)  # fmt: skip
    rows = [
        {"state": words, "rows": picture.shape[0], "columns": picture.shape[1],
         "largest": float(np.abs(picture).max())}
        for words, picture in pictures.items()
    ]  # fmt: skip
    return PlotResult(name, figure, rows, _picture_read(pictures))


def _picture_read(pictures: Mapping[str, F32]) -> str:
    *_, before, after = pictures.values()
    error = float(np.abs(after - before).max())
    if error == 0:
        return "Behind the steps and in the artifact the values shown are the same."
    largest = float(np.abs(before).max())
    return f"Of the values shown none moves by more than {error:.2g}; the largest is {largest:.3g}."
