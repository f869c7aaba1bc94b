"""A drawn figure with the table behind it."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DOTS_PER_INCH = 144


@dataclass(frozen=True)
class PlotResult:
    """`figure` for the eye, `table` (rows of equal keys) for the record; Jupyter shows it."""

    name: str
    figure: Figure
    table: list[dict[str, Any]]

    def png(self) -> bytes:
        """The figure as PNG bytes, without a creation time."""
        buffer = io.BytesIO()
        self.figure.savefig(
            buffer, format="png", dpi=DOTS_PER_INCH, metadata={"Software": None}, facecolor="white"
        )
        return buffer.getvalue()

    def csv(self) -> str:
        """The table as CSV text."""
        buffer = io.StringIO()
        if self.table:
            writer = csv.DictWriter(buffer, list(self.table[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(self.table)
        return buffer.getvalue()

    def save(self, directory: Path) -> PlotResult:
        """Write `<name>.png` and `<name>.csv`; returns itself, so a notebook cell shows it."""
        directory.mkdir(parents=True, exist_ok=True)
        (directory / f"{self.name}.png").write_bytes(self.png())
        (directory / f"{self.name}.csv").write_text(self.csv())
        return self

    def _repr_png_(self) -> bytes:
        return self.png()
