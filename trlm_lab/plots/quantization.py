"""Bits against divergence: our formats and algorithms beside llama.cpp's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trlm_lab.plots.result import PlotResult
from trlm_lab.plots.style import COLOURS, INK, MARKERS, PALE, SOFT, blank, title

#: Words and colour of each algorithm, in the order of the legend.
_LOOKS = {
    "llama.cpp": ("llama.cpp", INK, "X"),
    "llama.cpp-imatrix": ("llama.cpp, importance matrix", SOFT, "P"),
    "round": ("rounding", COLOURS[4], MARKERS[0]),
    "search": ("clipping search", COLOURS[3], MARKERS[1]),
    "awq": ("activation-aware", COLOURS[2], MARKERS[2]),
    "gptq": ("error-compensating", COLOURS[1], MARKERS[3]),
}


def bits_against_kl(
    rows: Sequence[dict[str, Any]], *, name: str = "bits_against_kl", subject: str = ""
) -> PlotResult:
    """Bits a weight against mean KL on a log scale, one line an algorithm.

    `rows` are those of `flows.quant_figures.quant_rows`; the source's own row is left out.
    """
    shown = [r for r in rows if r["algorithm"] in _LOOKS and r["mean KL"] > 0]
    figure, axes = blank(7.6, 4.4)
    for algorithm, (words, colour, marker) in _LOOKS.items():
        mine = sorted(
            (r for r in shown if r["algorithm"] == algorithm), key=lambda r: r["bits a weight"]
        )
        if mine:
            axes.plot(
                [r["bits a weight"] for r in mine], [r["mean KL"] for r in mine],
                color=colour, marker=marker, markersize=6, linewidth=1.2, label=words,
            )  # fmt: skip
    for row in shown:
        if row["algorithm"] in ("llama.cpp", "gptq"):
            above = row["algorithm"] == "llama.cpp"
            axes.annotate(
                row["format"], (row["bits a weight"], row["mean KL"]), fontsize=7.5, color=SOFT,
                xytext=(6, 5) if above else (-6, -4), textcoords="offset points",
                ha="left" if above else "right",
            )  # fmt: skip
    axes.set_yscale("log")
    axes.set_xlabel("bits a weight, scales included", fontsize=9)
    axes.set_ylabel("mean KL from float32 weights, nats", fontsize=9)
    axes.grid(color=PALE, linewidth=0.5)
    axes.margins(x=0.09)
    axes.legend(frameon=False, fontsize=8.5)
    tokens = max((r["tokens"] for r in shown), default=0)
    title(
        axes,
        f"Bits against divergence, {subject}".strip(" ,"),
        f"{tokens:,} held-out tokens, all weights run in one float32 engine",
    )
    return PlotResult(name, figure, list(rows), _bits_read(shown))


def _bits_read(rows: Sequence[dict[str, Any]]) -> str:
    parts = []
    for pair in dict.fromkeys(r["pair"] for r in rows):
        mine = [r for r in rows if r["pair"] == pair]
        peer = next((r for r in mine if r["algorithm"] == "llama.cpp"), None)
        ours = [r for r in mine if not r["algorithm"].startswith("llama.cpp")]
        if peer is None or not ours:
            continue
        best = min(ours, key=lambda r: r["mean KL"])
        words = _LOOKS[best["algorithm"]][0]
        parts.append(
            f"{best['format']} by {words} has {best['mean KL'] / peer['mean KL']:.2f} times the "
            f"KL of {peer['format']} at {best['bits a weight']:.2f} and "
            f"{peer['bits a weight']:.2f} bits"
        )
    return "; ".join(parts) + "." if parts else "There is no peer to hold it against."
