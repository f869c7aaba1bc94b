"""A drawn figure with the table behind it."""

from __future__ import annotations

import base64
import csv
import html
import io
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DOTS_PER_INCH = 144


@dataclass(frozen=True)
class PlotResult:
    """`figure` for the eye, `table` (rows of equal keys) for the record; Jupyter shows it.

    `reading` says in words what the figure shows, computed from the table: it is the caption's
    last sentence and the alternative text for readers who do not see the picture.
    """

    name: str
    figure: Figure
    table: list[dict[str, Any]]
    reading: str = ""

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
        """Write `<name>.png`, `.csv` and `.txt` (the reading); returns itself, for a cell's end."""
        directory.mkdir(parents=True, exist_ok=True)
        (directory / f"{self.name}.png").write_bytes(self.png())
        (directory / f"{self.name}.csv").write_text(self.csv())
        (directory / f"{self.name}.txt").write_text(self.reading + "\n")
        return self

    def _repr_html_(self) -> str:
        data = base64.b64encode(self.png()).decode()
        words = html.escape(self.reading or self.name)
        return (
            f'<figure style="margin:0"><img alt="{words}" style="max-width:100%;background:#fff" '
            f'src="data:image/png;base64,{data}"><figcaption>{html.escape(self.reading)}'
            "</figcaption></figure>"
        )
