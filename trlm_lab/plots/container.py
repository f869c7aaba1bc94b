"""The bytes of a container: a treemap by role, and which rule finds a flipped bit where."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trlm_lab.plots.result import PlotResult
from trlm_lab.plots.style import COLOURS, INK, PALE, SOFT, blank, title

Row = dict[str, Any]
Box = tuple[float, float, float, float]
#: What is smaller than this part of the picture has no words in it.
_LEGIBLE = 0.02


def byte_treemap(
    rows: Sequence[Row], *, name: str = "byte_treemap", subject: str = ""
) -> PlotResult:
    """Rectangles as large as the bytes; `rows` have part, data, scales, bytes, largest first.

    The hatched strip of a rectangle is its scales.
    """
    from matplotlib.patches import Rectangle

    figure, axes = blank(8.6, 4.6)
    whole = sum(row["bytes"] for row in rows)
    boxes = squarified([row["bytes"] / whole for row in rows], (0.0, 0.0, 1.0, 1.0))
    for number, (row, (x, y, width, height)) in enumerate(zip(rows, boxes, strict=True)):
        colour = COLOURS[number % len(COLOURS)]
        axes.add_patch(
            Rectangle((x, y), width, height, facecolor=colour, edgecolor="white", lw=1.5)
        )
        strip = height * row["scales"] / row["bytes"]
        axes.add_patch(
            Rectangle((x, y), width, strip, facecolor=colour, edgecolor="white", hatch="////", lw=0)
        )
        if width * height > _LEGIBLE:
            words = f"{row['part']}\n{row['bytes'] / whole:.1%}"
            axes.text(x + 0.01, y + height - 0.015, words, fontsize=8.5, color="white", va="top")
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    axes.axis("off")
    title(axes, f"Where the bytes are, {subject}".strip(" ,"), "hatched: scales")
    return PlotResult(name, figure, list(rows), _tree_read(rows, whole))


def squarified(parts: Sequence[float], box: Box) -> list[Box]:
    """Boxes of these areas, near square: each row of them takes the shorter side of what is left.

    `parts` descend and sum to the box's area (Bruls, Huizing and van Wijk, 2000).
    """
    boxes: list[Box] = []
    left = list(parts)
    x, y, width, height = box
    while left:
        side = min(width, height)
        count = _best(left, side)
        taken, left = left[:count], left[count:]
        depth = sum(taken) / side if side else 0.0
        at = 0.0
        for part in taken:
            length = part / depth if depth else 0.0
            upright = height <= width
            boxes.append((x, y + at, depth, length) if upright else (x + at, y, length, depth))
            at += length
        if height <= width:
            x, width = x + depth, width - depth
        else:
            y, height = y + depth, height - depth
    return boxes


def _best(parts: Sequence[float], side: float) -> int:
    """How many of the first parts make the row whose worst box is nearest to a square."""
    ratios = [_worst(parts[:count], side) for count in range(1, len(parts) + 1)]
    count = 1
    while count < len(ratios) and ratios[count] <= ratios[count - 1]:
        count += 1
    return count


def _worst(row: Sequence[float], side: float) -> float:
    depth = sum(row) / side if side else 0.0
    lengths = [part / depth for part in row if depth]
    return max((max(depth / n, n / depth) for n in lengths if n), default=float("inf"))


def _tree_read(rows: Sequence[Row], whole: int) -> str:
    scales = sum(row["scales"] for row in rows)
    top = rows[0]
    return (
        f"{whole / 1e6:.2f} MB: {top['part']} takes {top['bytes'] / whole:.0%}, "
        f"scales {scales / whole:.1%} in all."
    )


def flipped_bits(
    rows: Sequence[Row], *, name: str = "flipped_bits", subject: str = ""
) -> PlotResult:
    """One line a flipped bit, one column a rule that finds it; `rows` have part and rules."""
    rules = sorted({rule for row in rows for rule in row["rules"].split(", ") if rule})
    figure, axes = blank(2.6 + 1.05 * len(rules), 1.4 + 0.34 * len(rows))
    for y, row in enumerate(rows):
        axes.axhline(y, color=PALE, linewidth=0.6, zorder=0)
        for rule in row["rules"].split(", "):
            if rule:
                axes.plot(rules.index(rule), y, "o", color=COLOURS[1], markersize=8)
    axes.set_yticks(range(len(rows)), [row["part"] for row in rows], fontsize=8.5, color=INK)
    axes.set_xticks(range(len(rules)), rules, fontsize=7.5, color=SOFT)
    axes.set_xlim(-0.5, len(rules) - 0.5)
    axes.invert_yaxis()
    title(axes, f"One flipped bit, {subject}".strip(" ,"), "a mark: this rule finds it")
    return PlotResult(name, figure, list(rows), _flips_read(rows))


def _flips_read(rows: Sequence[Row]) -> str:
    missed = [row["part"] for row in rows if not row["rules"]]
    if missed:
        return f"Not found: {', '.join(missed)}."
    by_hash = sum(row["rules"] == "SLM_HASH" for row in rows)
    return f"Each of {len(rows)} is found; {by_hash} by hashes alone, the others by a rule as well."
