"""The rungs over one block of rows, each from the claim of the one below; and the whole model's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trlm_lab.flows.quant_ladder import own
from trlm_lab.flows.quant_ladder.engines import TOPK, Upper
from trlm_lab.flows.quant_ladder.model_use import (
    ModelUse,
    multiplies,
    operator_rows,
    output_rows,
)
from trlm_lab.flows.quant_ladder.readers import Readers, RustReader
from trlm_lab.flows.quant_ladder.route import SOUND, Route, Span, heads
from trlm_lab.flows.quant_ladder.rung import Claim, Step, claimed
from trlm_lab.flows.quant_ladder.subject import LadderSubject
from trlm_lab.flows.quant_ladder.told import told_codes
from trlm_lab.inspector.codes import BITS, unit_codes
from trlm_lab.rungs import (
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


@dataclass(frozen=True)
class Block:
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
        exact = None if self.upper.refused else self._operated(semantic.flow)
        yield replace(self._operator(weights.flow), exact=exact)

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
        if self.upper.refused:
            nothing = np.zeros((0, 0), np.float32)
            claim = Claim(self.upper.engine, None, self.upper.refused)
            return Step("operator", (claim,), nothing)
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
    if multiplies(subject) and not upper.refused:
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


def whole_steps(subject: LadderSubject, route: Route, upper: Upper) -> Iterator[Step]:
    """The rungs of the whole model: layer, logits, token."""
    if upper.refused:
        return
    layer = ModelUse.of(subject).layer
    for name, checkpoint in (("layer", layer), ("logits", "logits")):
        claim, source = Claim(upper.engine, upper.seen[checkpoint]), upper.source.get(checkpoint)
        yield Step(name, (claim,), upper.follows[checkpoint], source)
    logits, listed = upper.seen["logits"][-1], upper.seen[TOPK][-1].tolist()
    chosen = np.array([route.choose(logits, listed)], np.int64)
    follows = np.array([int(np.flatnonzero(logits == logits.max())[0])], np.int64)
    yield Step("token", (Claim(upper.engine, chosen),), follows)
