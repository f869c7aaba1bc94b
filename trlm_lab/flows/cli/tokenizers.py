"""`trlm tokenize` and `trlm decode`."""

from __future__ import annotations

import json as json_text
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from trlm_lab.flows.cli.runs import Json

TokenizerFile = Annotated[
    Path, typer.Option("--tokenizer", help="tokenizer.json, GGUF, SentencePiece, TOK2 or .slm.")
]
Engine = Annotated[
    str,
    typer.Option(
        help="python (the reference), native, wasm; hf, llama.cpp, sentencepiece (the sources)."
    ),
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(tokenize)
    app.command()(decode)


def tokenize(
    tokenizer: TokenizerFile,
    engine: Engine = "python",
    trace: Annotated[bool, typer.Option("--trace", help="Every stage with its offsets.")] = False,
    add_special_tokens: Annotated[
        bool, typer.Option("--add-special-tokens", help="What the post-processor puts around.")
    ] = False,
    json: Json = False,
) -> int:
    """Texts to ids and offsets, JSON lines from standard input to standard output."""
    from trlm_lab.flows.lines import bounded_lines
    from trlm_lab.flows.tokenizer_engines import tokenizer_opened
    from trlm_lab.flows.tokenizing import tokenize_lines

    wanted = {"add_special_tokens": add_special_tokens, "trace": trace}
    with tokenizer_opened(tokenizer, engine) as opened:
        _say(opened.notes)
        return _write(tokenize_lines(bounded_lines(sys.stdin.buffer), opened, **wanted))


def decode(
    tokenizer: TokenizerFile,
    engine: Engine = "python",
    mode: Annotated[str, typer.Option(help="raw, visible or diagnostic.")] = "raw",
    stream: Annotated[
        bool, typer.Option("--stream", help="A line a token: what is certain, what is held back.")
    ] = False,
    json: Json = False,
) -> int:
    """Ids to bytes and text, JSON lines from standard input to standard output."""
    from trlm_lab.flows.lines import bounded_lines
    from trlm_lab.flows.tokenizer_engines import require_mode, tokenizer_opened
    from trlm_lab.flows.tokenizing import decode_lines, stream_lines

    require_mode(mode)
    answer = stream_lines if stream else decode_lines
    with tokenizer_opened(tokenizer, engine) as opened:
        return _write(answer(bounded_lines(sys.stdin.buffer), opened, mode))


def _say(notes: Iterable[str]) -> None:
    for note in notes:
        print(f"trlm: {note}", file=sys.stderr)


def _write(rows: Iterable[dict[str, Any]]) -> int:
    """One line an answer; 3 if any line is refused."""
    refused = False
    for row in rows:
        refused = refused or "error" in row
        sys.stdout.write(json_text.dumps(row, ensure_ascii=False) + "\n")
    return 3 if refused else 0
