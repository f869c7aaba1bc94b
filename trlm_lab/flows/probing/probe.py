"""Ask an engine, and put what it answered beside everything that it computes."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import Any

from trlm_lab.base import canon
from trlm_lab.base.interfaces import BatchSession, Runner
from trlm_lab.base.records import Case, EngineIdentity, Observation
from trlm_lab.errors import ProbeAnswerError, TrlmError
from trlm_lab.flows.probing.halves import rounding_to_f16
from trlm_lab.flows.probing.model import VOCAB, write_probe_model
from trlm_lab.flows.probing.reading import F32, read_logits
from trlm_lab.flows.probing.record import CASES, SCHEMA


def probe_engine(engine: Runner) -> dict[str, Any]:
    """Run the probe model in an engine; the record binds name, version, profile and build.

    Raises:
        InfrastructureError: the engine is missing, fails, or yields no logits.
        Refused: it refuses the model.
    """
    cases = [Case(name, (VOCAB - 1,) * tokens) for name, tokens in CASES.items()]
    with tempfile.TemporaryDirectory() as room:
        model = write_probe_model(Path(room))
        with engine.open(model.subject) as session:
            if isinstance(session, BatchSession):
                session.prepare(cases)
            facts = {c.case_id: read_logits(_logits(session.run(c), engine.name)) for c in cases}
            identity = session.identity
    return {
        "schema": SCHEMA,
        "engine": identity.name,
        "version": identity.version,
        "profile": identity.profile,
        "build_sha256": identity.build_sha256,
        **facts,
        "to_f16": rounding_to_f16(engine.name),
    }


def _logits(observations: Iterable[Observation], engine: str) -> F32:
    """The last position's; everything is consumed, as a session expects."""
    found: list[F32] = [seen.values[-1] for seen in observations if seen.name == "logits"]
    if not found:
        raise ProbeAnswerError(where=engine)
    return found[0]


_KNOWN: dict[str, dict[str, Any]] = {}
#: Two engines of one run would ask the same engine twice.
_ONE_AT_A_TIME = Lock()


def probed(engine: Runner, identity: EngineIdentity) -> EngineIdentity:
    """The identity with what the probe found in its details, so that it binds every trace.

    An engine that cannot run the probe model keeps the code of its refusal there. Each identity is
    asked once in the life of the process.
    """
    key = canon.content_id(identity.to_map())
    with _ONE_AT_A_TIME:
        if key not in _KNOWN:
            _KNOWN[key] = _facts(engine)
    return replace(identity, details={**identity.details, "probe": _KNOWN[key]})


def _facts(engine: Runner) -> dict[str, Any]:
    """The record without what the identity already says."""
    if engine.name.startswith("process:"):
        # Somebody's command is started once for all cases, and may know one model alone.
        return {"schema": SCHEMA, "refused": "NOT_ASKED"}
    try:
        record = probe_engine(engine)
    except TrlmError as error:
        return {"schema": SCHEMA, "refused": error.code}
    return {name: record[name] for name in ("schema", *CASES, "to_f16")}
