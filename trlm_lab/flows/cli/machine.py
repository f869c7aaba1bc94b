"""`trlm doctor`, `trlm probe`, `trlm bench`, `trlm browser`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trlm_lab.flows.cli.output import emit_json, emit_table
from trlm_lab.flows.cli.runs import Json


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(doctor)
    app.command()(probe)
    app.command()(bench)
    app.command()(browser)


def doctor(json: Json = False) -> int:
    """Every engine of the plan: present with version and features, or how to get it."""
    from trlm_lab.flows.doctor import examine

    document = examine()
    if json:
        emit_json(document)
        return 0
    rows = [
        {
            "engine": row["name"],
            "here": "yes" if row["available"] else "no",
            "version": row["version"],
            "features": ", ".join(row["features"]),
            "how to get it": "; ".join(
                part for part in (document["missing"].get(row["name"], ""), row["fix"]) if part
            ),
        }
        for row in document["engines"]
        if row["name"] not in document["planned"]
    ]
    emit_table(rows, f"trlm_lab {document['trlm_lab']}, Python {document['python']}")
    planned = [{"engine": k, "waits for": v} for k, v in document["planned"].items()]
    emit_table(planned, "planned, not part of this version")
    data = [
        {
            "published tokenizers": row["name"],
            "here": "yes" if row["available"] else "no",
            "package": row["package"],
            "how to get it": row["fix"],
        }
        for row in document["tokenizer_data"]
    ]
    emit_table(data, "for tests and exactness runs")
    return 0


def probe(
    engines: Annotated[list[str], typer.Argument(help="Engines by name; process:COMMAND too.")],
    json: Json = False,
) -> int:
    """How engines compute: subnormals, zeros, fused or not, order of sums, NaN, float16."""
    from trlm_lab.errors import ProbeDeviationError
    from trlm_lab.flows.engines import runner
    from trlm_lab.flows.probing import deviations, probe_engine, shown

    records = [probe_engine(runner(name)) for name in engines]
    if json:
        emit_json(records)
    else:
        for record in records:
            emit_table(shown(record), f"{record['engine']}, {record['profile']}")
    found = [line for record in records for line in deviations(record)]
    if found:
        raise ProbeDeviationError(where=engines[0], deviations="; ".join(found))
    return 0


def bench(
    name: Annotated[
        str,
        typer.Argument(help="demo, capture, pack, tokenizer, tokenizer-browser, quant, quant-grid"),
    ],
    json: Json = False,
) -> int:
    """A named benchmark beside its peer: both figures and the ratio."""
    from trlm_lab.flows.bench import BENCHMARKS

    rows = BENCHMARKS[name]()
    emit_json(rows) if json else emit_table(rows, f"bench {name}")
    return 0


def browser(
    artifact: Annotated[Path | None, typer.Argument(help="A `.slm` to offer on the page.")] = None,
    port: Annotated[int, typer.Option(help="0 picks a free one.")] = 0,
) -> int:
    """Serve the runner page on this machine, to be opened by hand."""
    from trlm_lab.backends.browser import serve

    serve(artifact, port=port)
    return 0
