"""`trlm pack`, `trlm inspect`, `trlm unpack`, `trlm ledger`."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trlm_lab.flows.cli.output import emit_json, emit_line, emit_table
from trlm_lab.flows.cli.reviewed import takes_reviewed
from trlm_lab.flows.cli.runs import Json
from trlm_lab.flows.reviewed_files import Reviewed

if TYPE_CHECKING:
    from trlm_lab.base.records import Ledger
    from trlm_lab.flows.acquisition import Described, Source
    from trlm_lab.flows.progress import Board
    from trlm_lab.pack.codes import Codes


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(pack)
    app.command()(inspect)
    app.command()(unpack)
    app.command()(ledger)


@takes_reviewed
def pack(
    snapshot: Annotated[str, typer.Argument(help="A snapshot directory or any SOURCE.")],
    out: Annotated[Path, typer.Option(help="The `.slm` to write.")],
    reviewed: Reviewed,
    quant: Annotated[str, typer.Option(help="A profile of docs/quantization.md.")] = "q8_r128",
    format: Annotated[str, typer.Option(help="slm2 or slm1")] = "slm2",
    tokenizer: Annotated[
        Path | None, typer.Option(help="A BTOK or BPE1 file, of an SLM1 file its tokenizer.")
    ] = None,
    block: Annotated[int, typer.Option(help="Columns of a q4_0 block in an SLM1 file.")] = 32,
    calibration: Annotated[
        Path | None, typer.Option(help="A corpus of `trlm corpus`, of a calibrated profile.")
    ] = None,
    codes: Annotated[
        Path | None, typer.Option(help="Codes of `trlm quantize`, of a calibrated profile.")
    ] = None,
    json: Json = False,
) -> int:
    """Pack a snapshot into a `.slm`."""
    from trlm_lab.errors import OutputIsInputError, UnknownNameError
    from trlm_lab.flows.acquisition import admit_source
    from trlm_lab.flows.leftovers import aside
    from trlm_lab.flows.licensing import licence_state
    from trlm_lab.flows.packing import pack_artifact
    from trlm_lab.flows.progress import Board
    from trlm_lab.flows.reviewed_source import reviewed_workspace
    from trlm_lab.flows.source_output import require_apart

    require_apart(out, snapshot, *(one for one in (tokenizer, calibration, codes) if one))
    if format not in ("slm2", "slm1"):
        raise UnknownNameError(where="--format", kind="format", name=format, known="slm2, slm1")
    with tempfile.TemporaryDirectory() as scratch, Board() as board:
        ws = reviewed_workspace(Path(scratch), board, reviewed)
        source, described = admit_source(ws, snapshot)
        if out.resolve().is_relative_to(source.root.resolve()):
            raise OutputIsInputError(where=str(out))
        if format == "slm1":
            artifact, ledger_id = _pack_slm1(source, described, quant, out, tokenizer, block, board)
            licence = licence_state(source.snapshot.provenance.get("licence"))
            return _show_packed(out, {**artifact, "licence": licence}, ledger_id, json)
        given = _codes(source, described, quant, calibration, codes, board)
        packed = pack_artifact(ws, source, described, quant, given)
        # A killed copy never stands under the final name.
        with aside(out) as part:
            shutil.copyfile(packed.artifact.path, part)
            part.replace(out)
    row = {k: v for k, v in vars(packed.artifact).items() if k not in ("path", "config")}
    row["licence"] = licence_state(source.snapshot.provenance.get("licence"))
    if given is not None:
        row |= {"codes_id": given.codes_id, "calibration_id": given.calibration_id}
    return _show_packed(out, row, packed.ledger.ledger_id, json)


def _codes(
    source: Source,
    described: Described,
    quant: str,
    calibration: Path | None,
    codes: Path | None,
    board: Board,
) -> Codes | None:
    """The codes that a calibrated profile is packed from; None where none are given.

    Raises:
        CalibrationNeededError: both are given.
    """
    from trlm_lab.errors import CalibrationNeededError
    from trlm_lab.flows.calibrated import calibrated_codes, read_corpus
    from trlm_lab.pack.codes import open_codes

    if calibration is not None and codes is not None:
        detail = "a corpus and codes are given, which were made of one already"
        raise CalibrationNeededError(where="--codes", detail=detail)
    if codes is not None:
        return open_codes(codes)
    if calibration is None:
        return None
    return calibrated_codes(source, described, quant, read_corpus(calibration), board)


def _pack_slm1(
    source: Source,
    described: Described,
    quant: str,
    out: Path,
    tokenizer: Path | None,
    block: int,
    board: Board,
) -> tuple[dict[str, Any], str]:
    """Write the SLM1 file; its facts, and the id of its ledger."""
    from trlm_lab.flows.slm1 import pack_old

    artifact, ledger = pack_old(source, described, quant, out, tokenizer, block, board)
    return {k: v for k, v in vars(artifact).items() if k != "path"}, ledger.ledger_id


def _show_packed(out: Path, row: dict[str, Any], ledger_id: str, json: bool) -> int:
    if json:
        emit_json({"path": str(out), **row, "ledger_id": ledger_id})
    else:
        emit_table([{"": k, "value": v} for k, v in {"path": out, **row}.items()])
    return 0


def inspect(
    path: Path,
    tensor: Annotated[
        str, typer.Option(help="Decode this tensor, of a file without findings.")
    ] = "",
    rows: Annotated[str, typer.Option(help="LOW:HIGH of the tensor; all by default.")] = "",
    values: Annotated[
        Path | None, typer.Option(help="A `.npy` file for the decoded rows (float32).")
    ] = None,
    json: Json = False,
) -> int:
    """Read a `.slm` or `.tok2` with the independent inspector; every hash is recomputed."""
    from trlm_lab.base.output_file import require_output
    from trlm_lab.flows.inspection import inspection_document, slice_document
    from trlm_lab.flows.progress import Board

    if values is not None:
        require_output(values, path)
    with Board() as board:
        document = inspection_document(path, board.report)
    if tensor and document["verdict"] == "accept":
        document["slice"] = slice_document(path, tensor, rows, values)
    if json:
        emit_json(document)
    else:
        _show(document, path)
        emit_table(document["hashes"], "hashes")
        if "slice" in document:
            emit_table([{"": k, "value": v} for k, v in document["slice"].items()], tensor)
        for finding in document["findings"]:
            emit_line(f"{finding['code']} at {finding['where']}: {finding['detail']}")
        print(document["verdict"])
    return 0 if document["verdict"] == "accept" else 3


def _show(document: dict[str, Any], path: Path) -> None:
    """Header, tokenizer and tensors, as far as the file has them."""
    tensors = document["tensors"]
    for rows, title in (
        (document["header"], f"{path}"),
        (document["tokenizer"], "tokenizer"),
        (tensors[:40], f"{len(tensors)} tensors (first 40)"),
        (_shares(document["roles"], document["size"]) if tensors else [], "bytes by role"),
    ):
        if rows:
            emit_table(rows, title)
    effective = document["effective"]
    if effective:
        emit_table(effective["forms"], "storage")
        bits = effective["bits"]
        print(f"{effective['weights']} weights; bits each: {bits['codes']} as codes, "
              f"{bits['scales']} with scales, {bits['body']} with padding, "
              f"{bits['file']} of the file")  # fmt: skip


def _shares(rows: list[dict[str, Any]], size: int) -> list[dict[str, Any]]:
    """Parts of the file with their share as a bar; the notebook draws the same as areas."""
    return [
        {"part": r["part"], "bytes": r["bytes"], "of them scales": r["scales"],
         "share": f"{r['bytes'] / size:6.1%} {'█' * round(40 * r['bytes'] / size)}"}
        for r in rows
    ]  # fmt: skip


def unpack(
    path: Path,
    out: Annotated[Path, typer.Option(help="The `.safetensors` to write (float32).")],
    json: Json = False,
) -> int:
    """Dequantize a `.slm` into float32 safetensors."""
    from trlm_lab.base.output_file import require_output
    from trlm_lab.flows.progress import Board
    from trlm_lab.pack import unpack as write_slm2
    from trlm_lab.pack.slm1 import unpack_slm1
    from trlm_lab.pack.slm1.files import is_slm1

    require_output(out, path)
    with Board() as board:
        write = unpack_slm1 if is_slm1(path) else write_slm2
        sha256 = write(path, out, progress=board.report)
    if json:
        emit_json({"path": str(out), "sha256": sha256})
    else:
        print(f"{out}  {sha256}")
    return 0


@takes_reviewed
def ledger(
    action: Annotated[str, typer.Argument(help="show or verify")],
    subject: Annotated[str, typer.Argument(help="Any SOURCE, or with --source a `.slm`.")],
    reviewed: Reviewed,
    source: Annotated[
        Path | None,
        typer.Option(help="What the `.slm` was made of: a model directory or an SLM1 file."),
    ] = None,
    ledger: Annotated[
        Path | None, typer.Option(help="A ledger (JSON) to verify; without one that of the files.")
    ] = None,
    quant: Annotated[str, typer.Option(help="A profile, of a SOURCE.")] = "q8_r128",
    codes: Annotated[
        Path | None, typer.Option(help="With --source: the codes of a calibrated profile.")
    ] = None,
    json: Json = False,
) -> int:
    """Show what became of each tensor, or prove it by undoing it."""
    from trlm_lab.errors import CalibrationNeededError, UnknownNameError
    from trlm_lab.flows.ledgers import ledger_of, ledger_of_files, verify_files, verify_ledger
    from trlm_lab.flows.migration import migrated_ledger, verify_migrated
    from trlm_lab.flows.progress import Board
    from trlm_lab.flows.slm1 import ledger_of_slm1, verify_slm1
    from trlm_lab.pack.slm1.files import is_slm1

    if action not in ("show", "verify"):
        raise UnknownNameError(kind="action", name=action, known="show, verify")
    if codes is not None and source is None:
        detail = "--codes says what an artifact was packed from, and --source is missing"
        raise CalibrationNeededError(where="--codes", detail=detail)
    with Board() as board:
        if source and is_slm1(Path(subject)):
            if action == "show":
                return _show_ledger(ledger_of_slm1(Path(subject), source, board, reviewed), json)
            return _show_proof(verify_slm1(Path(subject), source, board, reviewed), json)
        if source and source.is_file() and is_slm1(source):
            if action == "show":
                return _show_ledger(migrated_ledger(Path(subject), source), json)
            return _show_proof(verify_migrated(Path(subject), source, ledger, board), json)
        if action == "show" and source:
            return _show_ledger(ledger_of_files(Path(subject), source, board, codes), json)
        if action == "show":
            return _show_ledger(ledger_of(subject, quant, board, reviewed).ledger, json)
        if source:
            return _show_proof(verify_files(Path(subject), source, ledger, board, codes), json)
        return _show_proof(verify_ledger(subject, quant, board, reviewed), json)


def _show_ledger(shown: Ledger, json: bool) -> int:
    from trlm_lab.flows.ledger_views import source_table

    if json:
        emit_json(shown.to_map())
        return 0
    emit_table(source_table(shown))
    for text in shown.exceptions:
        emit_line(text)
    return 0


def _show_proof(findings: list[dict[str, str]], json: bool) -> int:
    if json:
        emit_json({"verdict": "refuse" if findings else "accept", "findings": findings})
    else:
        for finding in findings:
            emit_line(f"{finding['code']} at {finding['where']}: {finding['detail']}")
        print("every entry verifies" if not findings else f"{len(findings)} findings")
    return 1 if findings else 0
