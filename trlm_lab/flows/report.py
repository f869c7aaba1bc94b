"""The HTML report of a run: verdicts first, then figures, then where to look further."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trlm_lab import __version__
from trlm_lab.base.blobs import write_atomically
from trlm_lab.base.records import FAULTS, SOUND, Outcome
from trlm_lab.flows.tables import logit_rows, worst_rows

if TYPE_CHECKING:
    from trlm_lab.flows.promotion import Claim
    from trlm_lab.flows.run import Run

#: Figures in the order of the page, with the words under them.
FIGURES: tuple[tuple[str, str], ...] = (
    (
        "exactness",
        "Each engine read the artifact for itself and computed every checkpoint from it. "
        "A cell counts the arrays whose SHA-256 is the same as the first engine's.",
    ),
    (
        "error_by_depth",
        "Largest difference from the torch float32 oracle in the residual stream. The limit is "
        "four times the noise of float32 against float64 (the oracle's, or the profile's where it "
        "is larger), measured on other cases and frozen before these ran.",
    ),
    (
        "error_by_depth_quantized",
        "The same on the quantized artifact. Its oracle runs the artifact's dequantized weights, "
        "so that this is engine error alone.",
    ),
    (
        "heatmap",
        "Every checkpoint of every layer, the largest over all cases. White is the limit; blue is "
        "below it, red beyond. Where both sides are bit-equal (the lookup) the cell is darkest.",
    ),
    (
        "ulp_histogram",
        "Differences of the residual stream (checkpoint output, all layers and cases) counted in "
        "float32 steps; a label is the lower end of its bin.",
    ),
    (
        "quantization_by_depth",
        "Not an engine error: the oracle on the artifact's weights against the oracle on the "
        "source's, relative to the RMS of the residual stream. Weights that come from a quantized "
        "file say little about what quantization costs a float model.",
    ),
    (
        "receipt_graph",
        "What trlm verify walks: each box is addressed by its content and its children.",
    ),
)


def write_report(run: Run, rows: list[Claim], promotion: str) -> Path:
    """Render `report.html` into the run's directory; returns its path."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("trlm_lab.flows", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    page = environment.get_template("report.html.j2").render(
        version=__version__,
        promotion=promotion,
        source=run.source.snapshot.pin.spelled,
        snapshot=run.source.snapshot.snapshot_id,
        config=run.described.config,
        framework=run.described.defaults.framework,
        on_grid=run.source.on_grid,
        suites=[run.calibration_suite, run.judged_suite],
        artifacts=[p.artifact for p in run.packed.values()],
        claims=[{**c.row(), "mood": mood(c.outcome)} for c in rows],
        planted=run.planted,
        headline=headline(rows),
        logits=logit_rows(run.judged),
        worst={
            f"{engine} on {label}": worst_rows(j.comparison, count=5)
            for (engine, label), j in run.judged.items()
        },
        figures=_figures(run.ws.figures),
        notebooks=sorted(p.name for p in run.ws.notebooks.glob("*.html")),
    )
    path = run.ws.out / "report.html"
    write_atomically(path, page.encode())
    return path


def headline(rows: list[Claim]) -> str:
    """One sentence: how many claims, and how they came out."""
    counts = {o: sum(c.outcome is o for c in rows) for o in Outcome}
    parts = [f"{n} {o.value}" for o, n in counts.items() if n]
    return f"{len(rows)} claims: {', '.join(parts)}."


def mood(outcome: Outcome) -> str:
    """Class of an outcome for the style sheet: sound, fault or neither."""
    if outcome in SOUND:
        return "sound"
    return "fault" if outcome in FAULTS else "open"


def _figures(directory: Path) -> list[dict[str, Any]]:
    found = []
    for name, words in FIGURES:
        path = directory / f"{name}.png"
        if path.exists():
            data = base64.b64encode(path.read_bytes()).decode()
            found.append({"name": name, "words": words, "data": data})
    return found
