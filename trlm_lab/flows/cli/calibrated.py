"""`trlm corpus`, `trlm quantize`: calibration text, and codes made with it."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer

from trlm_lab.flows.cli.output import emit_json, emit_table
from trlm_lab.flows.cli.reviewed import takes_reviewed
from trlm_lab.flows.cli.runs import Json
from trlm_lab.flows.reviewed_files import Reviewed


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(corpus)
    app.command()(quantize)


@takes_reviewed
def corpus(
    source: Annotated[str, typer.Argument(help="Any SOURCE, whose tokenizer is used.")],
    out: Annotated[Path, typer.Option(help="The corpus (JSON) to write.")],
    reviewed: Reviewed,
    against: Annotated[
        list[str] | None, typer.Option(help="A suite or case file that is judged.")
    ] = None,
    records: Annotated[int, typer.Option(help="How many windows of text.")] = 96,
    window: Annotated[int, typer.Option(help="Ids of a window.")] = 256,
    json: Json = False,
) -> int:
    """Calibration text of the pinned public-domain texts, disjoint from what is judged."""
    from trlm_lab.base import strict_json
    from trlm_lab.base.blobs import write_atomically
    from trlm_lab.base.output_file import require_output
    from trlm_lab.flows.acquisition import admit_source
    from trlm_lab.flows.calibrated import text_corpus
    from trlm_lab.flows.progress import Board
    from trlm_lab.flows.reviewed_source import reviewed_workspace

    require_output(out)
    with tempfile.TemporaryDirectory() as scratch, Board() as board:
        ws = reviewed_workspace(Path(scratch), board, reviewed)
        acquired, described = admit_source(ws, source)
        made = text_corpus(
            acquired.root, described.config, against or (), records=records, window=window
        )
    write_atomically(out, strict_json.pretty(made.to_map()))
    row: dict[str, Any] = {
        "path": str(out),
        "calibration_id": made.corpus_id,
        "records": len(made.records),
        "tokens": sum(len(one.ids) for one in made.records),
        "dropped": made.filtering.dropped,
        "against": [one["name"] for one in made.against],
    }
    _shown(row, json)
    return 0


@takes_reviewed
def quantize(
    source: Annotated[str, typer.Argument(help="Any SOURCE.")],
    quant: Annotated[str, typer.Option(help="A calibrated profile of docs/quantization.md.")],
    calibration: Annotated[Path, typer.Option(help="A corpus of `trlm corpus`.")],
    out: Annotated[Path, typer.Option(help="The codes (safetensors) to write.")],
    reviewed: Reviewed,
    against: Annotated[
        list[str] | None, typer.Option(help="A suite or case file that is judged.")
    ] = None,
    json: Json = False,
) -> int:
    """Codes and scales by a calibrated quantizer, to be packed with `trlm pack --codes`."""
    from trlm_lab.base.output_file import require_output
    from trlm_lab.flows.acquisition import admit_source
    from trlm_lab.flows.calibrated import calibrated_codes, read_corpus
    from trlm_lab.flows.leftovers import aside
    from trlm_lab.flows.progress import Board
    from trlm_lab.flows.reviewed_source import reviewed_workspace

    require_output(out, calibration)
    text = read_corpus(calibration)
    with tempfile.TemporaryDirectory() as scratch, Board() as board:
        ws = reviewed_workspace(Path(scratch), board, reviewed)
        acquired, described = admit_source(ws, source)
        codes = calibrated_codes(acquired, described, quant, text, board, against or ())
        with aside(out) as part:
            shutil.copyfile(codes.path, part)
            part.replace(out)
    row = {
        "path": str(out),
        "codes_id": codes.codes_id,
        "calibration_id": codes.calibration_id,
        "profile": quant,
        "tensors": len(codes.record["tensors"]),
    }
    _shown(row, json)
    return 0


def _shown(row: dict[str, Any], json: bool) -> None:
    if json:
        emit_json(row)
    else:
        emit_table([{"": k, "value": v} for k, v in row.items()])
