"""`trlm capture`: the torch oracle over cases into a trace, as much of it as is wished for."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from trlm_lab.base.interfaces import Subject
from trlm_lab.base.model_parts import ladder_of
from trlm_lab.base.names import parse_checkpoint
from trlm_lab.base.records import Case, CaseSuite, EffectiveConfig, TraceRecord
from trlm_lab.cases import require_fit
from trlm_lab.errors import TraceSpaceError
from trlm_lab.flows.acquisition import admit_source
from trlm_lab.flows.probing import probed
from trlm_lab.flows.progress import Board
from trlm_lab.flows.reviewed_files import NOTHING, Reviewed
from trlm_lab.flows.reviewed_source import reviewed_workspace
from trlm_lab.traces import Keeping, TraceWriter


def capture_oracle(
    model: Path,
    suite: CaseSuite,
    out: Path,
    board: Board,
    *,
    threads: int,
    dtype: str = "float32",
    keeping: Keeping = Keeping(),  # noqa: B008 - frozen
    reviewed: Reviewed = NOTHING,
) -> TraceRecord:
    """Run the oracle over a model directory into a trace directory.

    Cases that are there and hold what is wished for are kept; those that hold less run again, and
    must give what is there. `dtype` is that of weights and activations (a key of the oracle's
    `PROFILES`); a trace holds float32 whatever it is, and its engine says which.

    Raises:
        UnknownNameError: no such dtype.
        Refused: the model breaks a rule of sources; nothing was written.
        TraceSubjectError: the directory holds the trace of another model or configuration.
        TraceChangedError: a case that ran again gave other values.
        TraceSpaceError: the disk does not hold it.
        UsageError: a case lacks a declared head or query row.
    """
    from trlm_lab.oracle import TorchRunner

    torch = TorchRunner(threads=threads, dtype=dtype)
    with tempfile.TemporaryDirectory() as scratch:
        ws = reviewed_workspace(Path(scratch), board, reviewed)
        source, described = admit_source(ws, f"dir:{model}")
    require_fit(suite, described.config)
    ids = {"config": described.config.config_id, "snapshot": source.snapshot.snapshot_id}
    with (
        board.meter(f"torch on {suite.name}", suite.tokens, "tokens") as meter,
        torch.open(Subject(model_dir=source.root, ids=ids)) as session,
    ):
        identity = probed(torch, session.identity)
        writer = TraceWriter(out, identity, dict(ids), keeping=keeping, verify_kept=True)
        due = [case for case in suite.cases if writer.kept(case) is None]
        require_space(board, out, planned_bytes(described.config, due, keeping))
        meter.advance(suite.tokens - sum(len(case.token_ids) for case in due))
        for case in due:
            writer.write_case(case, partial(session.observe, case))
            meter.advance(len(case.token_ids))
        return writer.record()


def planned_bytes(config: EffectiveConfig, cases: Sequence[Case], keeping: Keeping) -> int:
    """Bytes of the checkpoints that a capture of these cases stores, at most."""
    return sum(_case_bytes(config, len(case.token_ids), keeping) for case in cases)


def _case_bytes(config: EffectiveConfig, tokens: int, keeping: Keeping) -> int:
    heads, keys = config.num_attention_heads, config.num_key_value_heads
    each = config.head_dim
    sizes = {
        "T": tokens, "S": tokens, "D": config.hidden_size, "F": config.intermediate_size,
        "V": config.vocab_size, "H": heads, "K": keys, "E": each, "HE": heads * each,
        "KE": keys * each,
    }  # fmt: skip
    total = 0
    for name in ladder_of(config):
        shape = tuple(sizes[axis] for axis in parse_checkpoint(name).axes)
        total += keeping.nbytes(name, shape, tokens)
    return total


def require_space(board: Board, out: Path, needed: int) -> None:
    """Say how much is to be stored and what is free; raise TraceSpaceError where it is less."""
    place = next(p for p in (out, *out.resolve().parents) if p.exists())
    free = shutil.disk_usage(place).free
    board.say(f"  up to {needed / 1e6:,.0f} MB to store, {free / 1e6:,.0f} MB free")
    if needed > free:
        raise TraceSpaceError(where=str(out), needed=needed, free=free)
