"""From names to a ladder: the source acquired, the artifact packed or given, the tensor opened."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from trlm_lab.flows.acquisition import admit_source
from trlm_lab.flows.packing import pack_artifact
from trlm_lab.flows.progress import Board
from trlm_lab.flows.quant_ladder.climb import climb
from trlm_lab.flows.quant_ladder.faults import (
    LADDER_FAULTS,
    expected_rungs,
    fault_refusal,
    planted_route,
)
from trlm_lab.flows.quant_ladder.readers import open_readers
from trlm_lab.flows.quant_ladder.subject import LadderSubject, open_ladder
from trlm_lab.flows.reviewed_files import NOTHING, Reviewed
from trlm_lab.flows.reviewed_source import reviewed_workspace
from trlm_lab.pack.codes import open_codes

Row = dict[str, Any]


def ladder_of_source(
    spec: str,
    tensor: str,
    *,
    quant: str = "q8_r128",
    artifact: Path | None = None,
    codes: Path | None = None,
    board: Board | None = None,
    reviewed: Reviewed = NOTHING,
) -> LadderSubject:
    """A tensor of a SOURCE beside an artifact of it: a given one, or one packed by a profile.

    `codes` is the file of a calibrated quantizer that the artifact was, or is, packed from.

    Raises:
        UnknownNameError: no such profile.
        LadderTensorError, LadderResidualError, LadderArtifactError: as `open_ladder`.
        Refused: the source or the artifact breaks a rule.
    """
    board = board or Board(quiet=True)
    with tempfile.TemporaryDirectory() as scratch:
        ws = reviewed_workspace(Path(scratch), board, reviewed)
        source, described = admit_source(ws, spec)
        given = open_codes(codes) if codes else None
        if artifact is None:
            artifact = pack_artifact(ws, source, described, quant, given).artifact.path
        return open_ladder(source.root, described.config, artifact, tensor, given)


def fault_scores(subject: LadderSubject, row: int | None = None) -> list[Row]:
    """Every fault of the catalogue planted in these rows, and the rung at which it is named."""
    span, rows = subject.span(row), []
    with open_readers() as readers:
        sound = climb(subject, row, source=False, readers=readers)
        for name in LADDER_FAULTS:
            fault = LADDER_FAULTS[name]
            found: Row = {
                "fault": name,
                "is": fault.description,
                "expected": expected_rungs()[name],
            }
            why = fault_refusal(name, subject, span)
            if why is None:
                route = planted_route(name, subject, span)
                upper = sound.upper if route.plant is None else None
                ladder = climb(
                    subject, row, route=route, source=False, readers=readers, upper=upper
                )
                found["named"] = ladder.named
            rows.append({"named": None, **found, "not planted": why or ""})
    return rows
