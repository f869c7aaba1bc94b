"""The climb: every rung of a span of rows, block by block, each from the claim of the one below."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trlm_lab.base.records import Case, Outcome
from trlm_lab.cases import random_cases
from trlm_lab.flows.quant_ladder import own
from trlm_lab.flows.quant_ladder.engines import TOPK, Upper, run_upper
from trlm_lab.flows.quant_ladder.model_use import (
    ModelUse,
    is_lookup,
    multiplies,
    operator_rows,
    output_rows,
)
from trlm_lab.flows.quant_ladder.readers import Readers, RustReader, open_readers
from trlm_lab.flows.quant_ladder.route import SOUND, Route, Span, heads
from trlm_lab.flows.quant_ladder.rung import Claim, Rung, Step, claimed
from trlm_lab.flows.quant_ladder.subject import LadderSubject
from trlm_lab.flows.quant_ladder.told import told_codes
from trlm_lab.inspector.codes import BITS, unit_codes
from trlm_lab.rungs import (
    RUNGS,
    lanes_dot,
    pack_rows,
    parameters,
    rounded,
    scalar_dot,
    scale_values,
    unpack_rows,
    values_of,
    words_of,
)

Array = NDArray[Any]

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
            for step in _Block(subject, route, readers, upper, block).steps():
                rungs[step.name].add(step, block[0], keep=len(blocks) == 1)
        for step in _whole(subject, route, upper):
            rungs[step.name].add(step, 0, keep=True)
    if subject.codes is not None:
        for name in ("parameters", "codes"):
            rungs[name].checked_by = "an input: the codes of a calibrated quantizer"
    for name in ("layer", "logits"):
        rungs[name].unchecked = upper.alone
    if is_lookup(subject) and not rungs["operator"].elements:
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


@dataclass(frozen=True)
class _Block:
    """The rungs that go row by row, over one block of rows."""

    subject: LadderSubject
    route: Route
    readers: Readers
    upper: Upper
    span: Span

    def steps(self) -> Iterator[Step]:
        """From the source's words to the operator, each from the flow of the one before."""
        subject, storage = self.subject, self.subject.stored.storage
        source = self._source()
        yield source
        semantic = self._semantic(source.flow)
        yield semantic
        words = self._parameters(semantic.flow)
        yield words
        scales = scale_values(words.flow, storage.scales)
        data = self._plane(semantic.flow, words.flow)
        codes = self._codes(semantic.flow, words.flow, scales, data)
        yield codes
        packed = Step(
            "packed",
            (
                Claim("artifact", data),
                claimed("packer", lambda: SOUND.pack(subject, codes.flow)),
            ),
            pack_rows(codes.flow, storage),
        )
        yield packed
        unpacked = self._unpacked(packed.flow)
        yield unpacked
        held = unpacked.flow[:, : subject.cols]
        weights = self._dequantized(packed.flow, words.flow, held, scales)
        yield replace(weights, exact=semantic.flow)
        x = activations(subject, self.upper)
        yield replace(
            self._scalar(x, weights.flow), exact=_rows_first(scalar_dot(x, semantic.flow))
        )
        yield self._kernels(x, packed.flow, words.flow, weights.flow)
        yield replace(self._operator(weights.flow), exact=self._operated(semantic.flow))

    def _source(self) -> Step:
        got = claimed("packer", lambda: own.as_words(self.route.read(self.subject, self.span)))
        return Step(
            "source", (got,), own.source_words(self.subject, heads(self.subject, self.span))
        )

    def _semantic(self, words: Array) -> Step:
        native = own.as_stored(self.subject, words)
        got = claimed("packer", lambda: self.route.semantic(self.subject, self.span, native))
        return Step("semantic", (got,), own.semantic_rows(self.subject, self.span, words))

    def _parameters(self, rows: Array) -> Step:
        given = self.subject.given(self.span)
        if given is not None:
            words = Claim("artifact", self.subject.stored.words(*self.span))
            return Step("parameters", (words,), given[1])
        subject, check = self.subject, parameters(rows, self.subject.stored.storage).words
        claims = [claimed("packer", lambda: SOUND.scales(subject, rows))]
        held = (
            claimed("artifact", lambda: self.route.scales(subject, rows))
            if self.route.writes
            else Claim("artifact", subject.stored.words(*self.span))
        )
        return Step("parameters", (held, *claims), check)

    def _plane(self, rows: Array, words: Array) -> Array:
        """The stored bytes: the file's, or what a packer with a fault would have written."""
        if not self.route.writes:
            return self.subject.stored.plane(*self.span)
        given = self.subject.given(self.span)
        codes = given[0] if given else self.route.quantize(self.subject, rows, words)
        return self.route.pack(self.subject, codes)

    def _codes(self, rows: Array, words: Array, scales: Array, data: Array) -> Step:
        storage, subject = self.subject.stored.storage, self.subject
        given = subject.given(self.span)
        if given is not None:
            return Step("codes", (Claim("codes file", given[0]),), given[0])
        if storage.dense:
            check = words_of(rows, storage)
            nearest = check.astype(np.float64)
        else:
            made = rounded(rows, scales, storage)
            check, nearest = made.codes, made.nearest
        told = told_codes(data, check, nearest, storage)
        packer = claimed("packer", lambda: SOUND.quantize(subject, rows, words))
        claims = (packer,) if told is None else (Claim("artifact", told), packer)
        return Step("codes", claims, check)

    def _unpacked(self, data: Array) -> Step:
        subject, stored = self.subject, self.subject.stored
        claims = [claimed("reader", lambda: self.route.unpack(subject, data))]
        check = unpack_rows(data, stored.storage)
        if stored.storage.name in BITS:
            inspected = unit_codes(stored.storage.name, data).astype(np.int64)
            claims.append(Claim("inspector", inspected))
        # Rust shows no padding, and refuses any that is not zero.
        claims += self._rust(lambda rust: _wide(rust.codes(stored, data), check))
        return Step("unpacked", tuple(claims), check)

    def _dequantized(self, data: Array, words: Array, codes: Array, scales: Array) -> Step:
        subject, stored = self.subject, self.subject.stored
        claims = [claimed("reader", lambda: self.route.dequantize(subject, data, words))]
        claims += self._rust(lambda rust: rust.values(stored, data, words))
        return Step("dequantized", tuple(claims), values_of(codes, scales, stored.storage))

    def _scalar(self, x: Array, weights: Array) -> Step:
        claims = [claimed("reference", lambda: _rows_first(self.route.dot(x, weights)))]
        claims += [
            claimed(rust.name, partial(_transposed, rust.plain_products, x, weights))
            for rust in self.readers.rust
        ]
        return Step("scalar_dot", tuple(claims), _rows_first(scalar_dot(x, weights)))

    def _kernels(self, x: Array, data: Array, words: Array, weights: Array) -> Step:
        """Kernels side by side: packed bytes in one lane, rows in sixteen, packed in sixteen.

        The third is the product inside the vectorised engine, from that engine's own input.
        """
        stored, route, lanes_seen = self.subject.stored, self.route, self.upper.lanes
        products = [scalar_dot(x, weights), lanes_dot(x, weights)]
        if lanes_seen:
            use = ModelUse.of(self.subject)
            products.append(lanes_dot(lanes_seen[use.inputs], weights))
        check = _planes(products)
        lanes = claimed(
            "reference, sixteen lanes", lambda: _rows_first(route.kernel(x, weights)), 1
        )
        packed = self._rust(lambda rust: _rows_first(rust.products(stored, x, data, words)), 0)
        engine = []
        if lanes_seen:
            tokens = self.upper.case.token_ids
            shown = output_rows(self.subject, lanes_seen, tokens, self.span)
            engine = [Claim("native-simd", shown, part=2)]
        return Step("kernel_dot", (lanes, *packed, *engine), check)

    def _rust(self, say: Callable[[RustReader], Array], part: int | None = None) -> list[Claim]:
        """What every build of the runtime that serves the format says."""
        served = self.readers.of_planes(self.subject.stored)
        return [claimed(rust.name, partial(say, rust), part) for rust in served]

    def _operator(self, weights: Array) -> Step:
        upper, subject = self.upper, self.subject
        tokens = upper.case.token_ids
        held = Claim(upper.engine, output_rows(subject, upper.seen, tokens, self.span))
        return Step("operator", (held,), self._operated(weights))

    def _operated(self, weights: Array) -> Array:
        """The operator from rows of weights and what the engine put into it."""
        upper, tokens = self.upper, self.upper.case.token_ids
        return operator_rows(self.subject, weights, upper.seen, tokens, self.span, upper.beside)


def activations(subject: LadderSubject, upper: Upper) -> Array:
    """What the operator multiplies with, or a seeded probe where there is no product; (T, C)."""
    if multiplies(subject):
        return upper.seen[ModelUse.of(subject).inputs]
    return own.probe(subject.name, subject.cols)


def _rows_first(products: Array) -> Array:
    return np.ascontiguousarray(products.T)


def _transposed(multiply: Callable[[Array, Array], Array], x: Array, rows: Array) -> Array:
    return _rows_first(multiply(x, rows))


def _planes(products: list[Array]) -> Array:
    """Products (T, R) of several kernels as (R, kernels, T)."""
    return np.ascontiguousarray(np.stack([one.T for one in products], axis=1))


def _wide(codes: Array, like: Array) -> Array:
    found = np.zeros_like(like)
    found[:, : codes.shape[1]] = codes
    return found


def _whole(subject: LadderSubject, route: Route, upper: Upper) -> Iterator[Step]:
    """The rungs of the whole model: layer, logits, token."""
    layer = ModelUse.of(subject).layer
    for name, checkpoint in (("layer", layer), ("logits", "logits")):
        claim, source = Claim(upper.engine, upper.seen[checkpoint]), upper.source.get(checkpoint)
        yield Step(name, (claim,), upper.follows[checkpoint], source)
    logits, listed = upper.seen["logits"][-1], upper.seen[TOPK][-1].tolist()
    chosen = np.array([route.choose(logits, listed)], np.int64)
    follows = np.array([int(np.flatnonzero(logits == logits.max())[0])], np.int64)
    yield Step("token", (Claim(upper.engine, chosen),), follows)
