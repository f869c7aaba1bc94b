"""`trlm slmset split`, `join`, `prove` and `verify`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from trlm_lab.flows.cli.output import emit_json, emit_table
from trlm_lab.flows.cli.runs import Json

group = typer.Typer(no_args_is_help=True, help="An SLM2 file as a directory of verified pieces.")
Set = Annotated[Path, typer.Argument(metavar="SET", help="The directory of a set.")]


def register(app: typer.Typer) -> None:
    """Add the group."""
    app.add_typer(group, name="slmset")


@group.command()
def split(
    file: Annotated[Path, typer.Argument(help="An SLM2 file.")],
    out: Annotated[Path, typer.Option(help="The directory: new, empty, or an unfinished set.")],
    codec: Annotated[str, typer.Option(help="none, zstd or brotli, of each piece")] = "zstd",
    shard_pieces: Annotated[int, typer.Option(min=1, help="Pieces of 1 MiB in a shard.")] = 64,
    json: Json = False,
) -> int:
    """Cut an SLM2 file into shards of pieces that are verified one by one."""
    from trlm_lab.base.output_file import written_below
    from trlm_lab.flows.progress import Board
    from trlm_lab.slmset import split as write

    with written_below(out), Board() as board:
        made = write(file, out, codec=codec, shard_pieces=shard_pieces, progress=board.report)
    stored = sum(shard.shard_len for shard in made.shards) + made.front_len
    row = {
        "path": str(out),
        "file_sha256": made.file_sha256.hex(),
        "front_sha256": made.front_sha256.hex(),
        "merkle_root": made.merkle_root.hex(),
        "codec": codec,
        "shards": len(made.shards),
        "pieces": len(made.pieces),
        "stored": stored,
        "size": made.file_len,
    }
    return _say(row, json=json)


@group.command()
def join(
    directory: Set,
    out: Annotated[Path, typer.Option(help="The SLM2 file to write.")],
    json: Json = False,
) -> int:
    """Put a set together: every piece verified, the file the very one that was split."""
    from trlm_lab.base.output_file import require_output, written_below
    from trlm_lab.errors import OutputIsInputError
    from trlm_lab.flows.progress import Board
    from trlm_lab.slmset import join as write

    require_output(out)
    if out.resolve().is_relative_to(directory.resolve()):
        raise OutputIsInputError(where=str(out))
    with written_below(out), Board() as board:
        digest = write(directory, out, progress=board.report)
    return _say({"path": str(out), "file_sha256": digest}, json=json)


@group.command()
def prove(
    artifact: Annotated[Path, typer.Argument(help="An SLM2 file, or the directory of a set.")],
    out: Annotated[Path, typer.Option(help="The proof to write, canonical CBOR.")],
    piece: Annotated[int | None, typer.Option(help="A piece, by its number.")] = None,
    tensor: Annotated[str | None, typer.Option(help="Or a tensor, by its name.")] = None,
    rows: Annotated[str, typer.Option(help="Of the tensor, FIRST:END.")] = "0:1",
    json: Json = False,
) -> int:
    """Write an inclusion proof of one piece, or of some rows of one tensor."""
    from trlm_lab.base.blobs import write_atomically
    from trlm_lab.base.output_file import require_output
    from trlm_lab.errors import OutputIsInputError, ProofChoiceError
    from trlm_lab.slmset import prove_piece, prove_rows

    require_output(out, artifact)
    if artifact.is_dir() and out.resolve().is_relative_to(artifact.resolve()):
        raise OutputIsInputError(where=str(out))
    if (piece is None) == (tensor is None):
        raise ProofChoiceError(where="--piece, --tensor", got="both or neither")
    if piece is not None:
        document = prove_piece(artifact, piece)
    else:
        low, _, high = rows.partition(":")
        if not (low.isdecimal() and high.isdecimal() and len(rows) < 40):
            raise ProofChoiceError(where="--rows", got=rows[:80])
        document = prove_rows(artifact, str(tensor), int(low), int(high))
    write_atomically(out, document)
    return _say({"path": str(out), "size": len(document)}, json=json)


@group.command()
def verify(
    proof: Annotated[Path, typer.Argument(help="What `trlm slmset prove` wrote.")],
    root: Annotated[str, typer.Option(help="The trusted Merkle root, hex.")],
    front: Annotated[str, typer.Option(help="The trusted front_sha256, hex, for rows.")] = "",
    pieces: Annotated[
        int | None, typer.Option(min=1, help="The trusted number of pieces, for a piece.")
    ] = None,
    json: Json = False,
) -> int:
    """Check a proof alone, against what is trusted: the root, and the front matter or the count."""
    import hashlib

    from trlm_lab.base.plain_file import read_plain
    from trlm_lab.slmset import verify_proof

    trusted = _hash("--root", root), _hash("--front", front) or None
    proved = verify_proof(read_plain(proof), *trusted, piece_count=pieces)
    digest = hashlib.sha256(b"".join(proved.data)).hexdigest()
    row: dict[str, Any] = {"pieces": list(proved.pieces), "sha256": digest}
    if proved.tensor:
        row |= {"tensor": proved.tensor, "rows": list(proved.rows)}
        row["spans"] = [list(span) for span in proved.spans]
    return _say({"verdict": "accept", **row}, json=json)


def _hash(option: str, text: str) -> bytes:
    from trlm_lab.errors import ProofChoiceError

    try:
        found = bytes.fromhex(text)
    except ValueError as error:
        raise ProofChoiceError(where=option, got=text) from error
    if len(found) not in (0, 32):
        raise ProofChoiceError(where=option, got=text)
    return found


def _say(row: dict[str, Any], *, json: bool) -> int:
    if json:
        emit_json(row)
    else:
        emit_table([{"": name, "value": value} for name, value in row.items()])
    return 0
