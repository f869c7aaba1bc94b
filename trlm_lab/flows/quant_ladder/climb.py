"""The climb: every rung of a span of rows, block by block, each from the claim of the one below."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from trlm_lab.base.records import Case, Outcome
from trlm_lab.cases import random_cases
from trlm_lab.flows.quant_ladder.block import Block, whole_steps
from trlm_lab.flows.quant_ladder.engines import Upper, run_upper
from trlm_lab.flows.quant_ladder.model_use import is_lookup
from trlm_lab.flows.quant_ladder.readers import Readers, open_readers
from trlm_lab.flows.quant_ladder.route import SOUND, Route, Span
from trlm_lab.flows.quant_ladder.rung import Rung
from trlm_lab.flows.quant_ladder.subject import LadderSubject
from trlm_lab.rungs import RUNGS

#: Elements of a block of rows.
BLOCK = 1 << 18
#: Tokens of a case that nobody gave, and its seed.
TOKENS, SEED = 4, 20_261_130
#: Who says what follows, by rung.
CHECKERS = {
    "source": "the file's bytes by a header reader of its own",
    "semantic": "widened bit by bit, rows by the permutation's definition",
    "parameters": "magnitudes as integers, the scale by remainders",
    "codes": "float64 quotients, ties told by the remainder",
    "packed": "the table of bit positions",
    "unpacked": "the table of bit positions, read back",
    "dequantized": "exact products, rounded once",
    "scalar_dot": "an addition at a time",
    "kernel_dot": "an addition at a time, in one lane and in sixteen",
    "operator": "the operator's formula from the dequantized rows",
    "layer": "the reference, behind the engine's operator",
    "logits": "the reference, behind the engine's layer output",
    "token": "the lowest id among the largest logits",
}


@dataclass(frozen=True)
class Ladder:
    """All rungs of a span, and what the case showed; `named` is the first that is wrong."""

    subject: LadderSubject
    span: Span
    rungs: tuple[Rung, ...]
    upper: Upper
    missing: dict[str, str]

    @property
    def named(self) -> str | None:
        """The lowest rung whose claims are not what follows from the rung below."""
        return next((r.name for r in self.rungs if r.outcome is Outcome.WRONG), None)

    def rung(self, name: str) -> Rung:
        """The rung of a name."""
        return self.rungs[RUNGS.index(name)]


def climb(
    subject: LadderSubject,
    row: int | None = None,
    *,
    tokens: tuple[int, ...] = (),
    route: Route = SOUND,
    source: bool = True,
    readers: Readers | None = None,
    upper: Upper | None = None,
) -> Ladder:
    """Climb one row, or all; the case is `tokens`, or a few seeded ones.

    Whoever climbs often keeps `readers` open, and `upper` where no engine changes. Without `source`
    the source's own weights are not run for comparison.

    Raises:
        LadderRowError: no such row.
        Refused, InfrastructureError: an engine cannot run the artifact or the case.
    """
    span = subject.span(row)
    if readers is None:
        with open_readers() as opened:
            return climb(subject, row, tokens=tokens, route=route, source=source, readers=opened,
                         upper=upper)  # fmt: skip
    if upper is None:
        upper = run_upper(subject, route, case_of(subject, tokens, row), source=source)
    rungs = {name: Rung(name, CHECKERS[name]) for name in RUNGS}
    blocks = list(_blocks(subject, span))
    # What a fault makes of numbers is compared, whatever it is.
    with np.errstate(all="ignore"):
        for block in blocks:
            for step in Block(subject, route, readers, upper, block).steps():
                rungs[step.name].add(step, block[0], keep=len(blocks) == 1)
        for step in whole_steps(subject, route, upper):
            rungs[step.name].add(step, 0, keep=True)
    if subject.codes is not None:
        for name in ("parameters", "codes"):
            rungs[name].checked_by = "an input: the codes of a calibrated quantizer"
    for name in ("layer", "logits"):
        rungs[name].unchecked = upper.alone
    if upper.refused:
        for name in ("layer", "logits", "token"):
            rungs[name].unreached = "no engine runs the artifact"
    if is_lookup(subject) and not upper.refused and not rungs["operator"].elements:
        rungs["operator"].note = "no token of the case looks up one of these rows"
    return Ladder(subject, span, tuple(rungs.values()), upper, readers.missing)


def case_of(subject: LadderSubject, tokens: tuple[int, ...], row: int | None) -> Case:
    """The case that was given, or seeded tokens; an embedding's row is looked up in it."""
    if tokens:
        return Case("given", tokens)
    found = random_cases(subject.config.vocab_size, [TOKENS], SEED).cases[0]
    if row is None or subject.role != "embedding":
        return found
    return Case("looked-up", (*found.token_ids[:-1], row))


def _blocks(subject: LadderSubject, span: Span) -> Iterator[Span]:
    step = max(1, BLOCK // subject.cols)
    if subject.stored.rotary:
        step = max(1, step // subject.stored.rotary) * subject.stored.rotary
    for low in range(span[0], span[1], step):
        yield low, min(low + step, span[1])
