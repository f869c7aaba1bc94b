"""SLM1 files of sources: packed, with a tokenizer that they can hold; their ledgers; migration."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from trlm_lab.base import strict_json
from trlm_lab.base.plain_file import read_start
from trlm_lab.base.records import EffectiveConfig, Ledger
from trlm_lab.errors import Refused, Slm1CannotHoldError, TokenizerFileError
from trlm_lab.flows.acquisition import Described, Source, admit_source
from trlm_lab.flows.progress import Board
from trlm_lab.flows.reviewed_files import NOTHING, Reviewed
from trlm_lab.flows.reviewed_source import reviewed_workspace
from trlm_lab.pack.slm1 import (
    Slm1Artifact,
    open_checked,
    pack_slm1,
    slm1_ledger,
    slm1_section,
    verify_slm1_ledger,
)
from trlm_lab.pack.slm1.holds import model_reasons
from trlm_lab.pack.source import Sources, open_sources
from trlm_lab.slm1.read import Slm1File
from trlm_lab.text import read_tokenizer

#: The largest BPE1 that is read; one of 2^18 tokens has some ten million bytes.
MAX_SECTION_BYTES = 1 << 28


def pack_old(
    source: Source,
    described: Described,
    quant: str,
    out: Path,
    tokenizer: Path | None,
    block: int,
    board: Board,
) -> tuple[Slm1Artifact, Ledger]:
    """Write the SLM1 file of a described source.

    `tokenizer` names a BTOK or BPE1 file; without one the source's own must be one in substance.

    Raises:
        Slm1CannotHoldError: with every reason, of the model and of its tokenizer.
        BtokError, Bpe1Error: the file is none.
    """
    config = described.config
    reasons = list(model_reasons(config))
    section = b""
    try:
        section = _section(source.root, config, tokenizer)
    except Slm1CannotHoldError as error:
        reasons.append(f"of the tokenizer: {error.facts['reasons']}")
    if reasons:
        raise Slm1CannotHoldError(where=source.spec, reasons="; ".join(reasons))
    return pack_slm1(source.root, config, quant, out, section, block=block, progress=board.report)


def _section(root: Path, config: EffectiveConfig, tokenizer: Path | None) -> bytes:
    if tokenizer is not None:
        section = read_start(tokenizer, MAX_SECTION_BYTES)
        if len(section) > MAX_SECTION_BYTES:
            raise TokenizerFileError(where=str(tokenizer), detail="it is too long for a BPE1")
        return section
    path = root / "tokenizer.json"
    if not path.exists():
        reason = "there is none; name a BTOK or BPE1 file with --tokenizer"
        raise Slm1CannotHoldError(where=root.name, reasons=reason)
    try:
        own = read_tokenizer(strict_json.load_object(path))
    except Refused as error:
        raise Slm1CannotHoldError(where=root.name, reasons=str(error.detail)) from error
    return slm1_section(own, config.vocab_size, config.pad_token_id, config.unk_token_id)


def ledger_of_slm1(
    artifact: Path, source: Path, board: Board, reviewed: Reviewed = NOTHING
) -> Ledger:
    """What became of the tensors of a model directory in an SLM1 file, by the bytes of both."""
    slm1, sources, config = _opened(artifact, source, board, reviewed)
    return slm1_ledger(slm1, sources, config, board.report)


def verify_slm1(
    artifact: Path, source: Path, board: Board, reviewed: Reviewed = NOTHING
) -> list[dict[str, Any]]:
    """Every rule of the ledger, and every tensor stored anew from its source."""
    slm1, sources, config = _opened(artifact, source, board, reviewed)
    found = verify_slm1_ledger(slm1, sources, config, board.report)
    return [one.to_map() for one in found]


def _opened(
    artifact: Path, source: Path, board: Board, reviewed: Reviewed
) -> tuple[Slm1File, Sources, EffectiveConfig]:
    slm1 = open_checked(artifact)
    with tempfile.TemporaryDirectory() as scratch:
        ws = reviewed_workspace(Path(scratch), board, reviewed)
        admitted, described = admit_source(ws, f"dir:{source}")
    return slm1, open_sources(admitted.root, described.config), described.config
