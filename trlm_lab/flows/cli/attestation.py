"""`trlm attest`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trlm_lab.flows.cli.output import emit_json
from trlm_lab.flows.cli.runs import Json


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(attest)


def attest(
    directory: Annotated[Path, typer.Argument(help="A sealed run.")] = Path("reports/demo"),
    key: Annotated[Path | None, typer.Option("--key", help="Private key (PEM) to sign.")] = None,
    new_key: Annotated[Path | None, typer.Option("--new-key", help="Make a key to sign.")] = None,
    json: Json = False,
) -> int:
    """Write the receipts of a run as in-toto statements, signed where a key is given."""
    from trlm_lab.attest import new_signing_key
    from trlm_lab.flows.attestation import attest as write

    if new_key is not None:
        public = new_signing_key(new_key)
        key = new_key
    written = write(directory, key)
    rows = [str(path) for path in written]
    if json:
        facts = {"attestations": rows, "signed": key is not None}
        emit_json(facts | ({"public_key": str(public)} if new_key else {}))
    else:
        print("\n".join(rows))
        if new_key is not None:
            print(f"check them with: trlm verify {directory} --key {public}")
    return 0
