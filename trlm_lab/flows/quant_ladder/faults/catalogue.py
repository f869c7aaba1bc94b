"""Every ladder fault by name, and the rung at which each must be named."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files

from trlm_lab.base.registry import Registry
from trlm_lab.errors import FaultNotApplicableError
from trlm_lab.flows.quant_ladder.faults import engine, packer, planes, reader
from trlm_lab.flows.quant_ladder.faults.fault import LadderFault
from trlm_lab.flows.quant_ladder.route import Route, Span
from trlm_lab.flows.quant_ladder.subject import LadderSubject

LADDER_FAULTS: Registry[LadderFault] = Registry("ladder fault")
for room in (packer, planes, reader, engine):
    for entry in room.FAULTS:
        LADDER_FAULTS.register(entry.name, entry)


@cache
def expected_rungs() -> dict[str, str]:
    """The committed table `data/faults/ladder.json`: fault to rung."""
    resource = files("trlm_lab") / "data" / "faults" / "ladder.json"
    table: dict[str, str] = json.loads(resource.read_text(encoding="utf-8"))["faults"]
    return table


def fault_refusal(name: str, subject: LadderSubject, span: Span) -> str | None:
    """Why a fault cannot stand in these rows, or None. Raises UnknownNameError."""
    fault = LADDER_FAULTS[name]
    if subject.codes is not None and expected_rungs()[name] in ("parameters", "codes"):
        return "its scales and codes are an input"
    return fault.refusal(subject, span)


def planted_route(name: str, subject: LadderSubject, span: Span) -> Route:
    """The route with the fault in it.

    Raises:
        UnknownNameError: no such fault.
        FaultNotApplicableError: these rows cannot have it.
    """
    why = fault_refusal(name, subject, span)
    if why:
        raise FaultNotApplicableError(where=subject.name, fault=name, detail=why)
    return LADDER_FAULTS[name].plant(subject)
