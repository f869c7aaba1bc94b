"""`trlm oracle third-opinion`: llama.cpp beside the oracle and an engine, and a planted fault.

Two engines that agree may share a mistake. llama.cpp shares no code with either, and reads what
its own exporter makes of the weights; it exposes logits alone. What it must show to be worth
anything is a fault: RoPE with the wrong pairs in one layer stands far outside the limit.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from trlm_lab.backends.faulty import FaultyRunner
from trlm_lab.base.interfaces import Runner, Subject
from trlm_lab.base.records import CaseSuite, EffectiveConfig, EngineIdentity
from trlm_lab.base.records.third_opinion import Distance, OpinionLimit, ThirdOpinion
from trlm_lab.cases import require_fit
from trlm_lab.errors import (
    CaseNotSupportedError,
    EngineMissingError,
    FaultNotApplicableError,
)
from trlm_lab.flows.acquisition import admit_source
from trlm_lab.flows.engines import needs_model_dir, runner
from trlm_lab.flows.execution import prepare
from trlm_lab.flows.opinion_distance import LOGITS, ORACLE, PEER, Logits, distance, rms_of
from trlm_lab.flows.opinion_limits import opinion_limit
from trlm_lab.flows.packing import pack_artifact
from trlm_lab.flows.progress import Board
from trlm_lab.flows.reviewed_files import NOTHING, Reviewed
from trlm_lab.flows.reviewed_source import reviewed_workspace
from trlm_lab.flows.single import suite_of

FAULT = "rope_pairing@first"


def third_opinion(
    model: str,
    cases: str,
    board: Board,
    *,
    engine: str = "reference",
    fault: str = FAULT,
    reviewed: Reviewed = NOTHING,
) -> ThirdOpinion:
    """Ask llama.cpp about a source; `engine` reads the float32 artifact, `fault` may be empty.

    Raises:
        OpinionScaleError: logits of a case are too small to be judged.
        EngineMissingError: llama.cpp or the engine is not here.
        CaseNotSupportedError: the peer runs no case at all.
    """
    with tempfile.TemporaryDirectory() as scratch:
        ws = reviewed_workspace(Path(scratch), board, reviewed)
        source, described = admit_source(ws, model)
        suite = suite_of(cases)
        require_fit(suite, described.config)
        ids = {"snapshot": source.snapshot.snapshot_id, "config": described.config.config_id}
        artifact = pack_artifact(ws, source, described, "f32").artifact.path

        def subject(name: str) -> Subject:
            if needs_model_dir(name):
                return Subject(model_dir=source.root, ids=ids)
            return Subject(artifact=artifact, ids=ids)

        limit = opinion_limit(described.config.hidden_act)
        return _asked(_Question(suite, subject, board), described.config, limit, engine, fault, ids)


class _Question:
    """The cases, and what each engine opens."""

    def __init__(self, suite: CaseSuite, subject: Callable[[str], Subject], board: Board) -> None:
        self.suite = suite
        self.subject = subject
        self.board = board
        self.engines: list[EngineIdentity] = []
        self.unasked: dict[str, str] = {}

    def logits(self, name: str, engine: Runner | None = None) -> dict[str, Logits]:
        """Logits by case; a case that the peer does not run is `unasked`.

        Raises:
            EngineMissingError: it is not here.
            CaseNotSupportedError: it runs no case.
        """
        ran = engine or runner(name)
        here = ran.availability()
        if not here.available:
            raise EngineMissingError(where=name, reason=here.reason, remedy=here.fix)
        cases = [case for case in self.suite.cases if case.case_id not in self.unasked]
        tokens = sum(len(case.token_ids) for case in cases)
        found: dict[str, Logits] = {}
        with (
            self.board.meter(f"{name} on {self.suite.name}", tokens, "tokens") as meter,
            ran.open(self.subject(name)) as session,
        ):
            prepare(session, cases)
            for case in cases:
                try:
                    found[case.case_id] = _of(session.run(case))
                except CaseNotSupportedError as error:
                    if name != PEER or len(self.unasked) + 1 == len(cases):
                        raise
                    self.unasked[case.case_id] = error.facts["detail"]
                meter.advance(len(case.token_ids))
            self.engines.append(session.identity)
        return found


def _of(observations: Any) -> Logits:
    """The logits of a run, which are copied; everything else is let go."""
    kept = [np.array(o.values) for o in observations if o.name == LOGITS]
    found: Logits = kept[0]
    return found


def _asked(
    question: _Question,
    config: EffectiveConfig,
    limit: OpinionLimit,
    engine: str,
    fault: str,
    ids: Mapping[str, str],
) -> ThirdOpinion:
    # The peer first: the others need not run what it refuses.
    peer = question.logits(PEER)
    oracle = question.logits(ORACLE)
    scale = {case: rms_of(logits, case, limit) for case, logits in oracle.items()}
    distances = _distances(ORACLE, oracle, peer, scale)
    del oracle
    distances += _distances(engine, question.logits(engine), peer, scale)
    said, planted = _planted(question, fault, config, peer, scale)
    return ThirdOpinion(
        ids["snapshot"],
        ids["config"],
        config.model_type,
        limit,
        tuple(question.engines),
        tuple(distances),
        said,
        tuple(planted),
        tuple(sorted(question.unasked.items())),
    )


def _planted(
    question: _Question,
    fault: str,
    config: EffectiveConfig,
    peer: Mapping[str, Logits],
    scale: Mapping[str, float],
) -> tuple[str, list[Distance]]:
    """The fault's name and its distances where it can show, or why there are none."""
    if not fault:
        return "none was asked for", []
    faulty = FaultyRunner(fault, config=config)
    planted = faulty.planting(config)
    cases = [case for case in question.suite.cases if len(case.token_ids) >= faulty.fault.tokens]
    if not cases:
        return f"{planted.spec} shows from {faulty.fault.tokens} tokens on, no case has them", []
    asked = _Question(CaseSuite("planted", tuple(cases)), question.subject, question.board)
    asked.unasked = question.unasked
    try:
        found = asked.logits(faulty.name, faulty)
    except FaultNotApplicableError as error:
        return error.text, []
    return planted.spec, _distances(faulty.name, found, peer, scale)


def _distances(
    engine: str,
    found: Mapping[str, Logits],
    peer: Mapping[str, Logits],
    scale: Mapping[str, float],
) -> list[Distance]:
    return [distance(engine, c, rows, peer[c], scale[c]) for c, rows in found.items()]
