"""Golden vectors made by the reference: every sample with all that follows from it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from trlm_lab.base.records.tokenizer_profile import TokenizerProfile
from trlm_lab.errors import Refused
from trlm_lab.text.coordinates import Coordinates, Span
from trlm_lab.text.decoded import MODES
from trlm_lab.text.profile import UNITS
from trlm_lab.text.records import Encoding
from trlm_lab.text.vectors.corpus import FINITE, samples
from trlm_lab.text.vectors.record import (
    SCHEMA,
    TEXT_API,
    DecodedRow,
    Expected,
    Failure,
    StageRow,
    TokenizerBytes,
    Vector,
    VectorSet,
)
from trlm_lab.text.vectors.samples import AnyTokenizer, Sample


def vector_set(
    tokenizer: AnyTokenizer, profile: TokenizerProfile, file: TokenizerBytes
) -> VectorSet:
    """The whole minimum corpus for one tokenizer."""
    return VectorSet(SCHEMA, profile, file, FINITE, tuple(_vectors(tokenizer)))


def _vectors(tokenizer: AnyTokenizer) -> Iterator[Vector]:
    counts: dict[str, int] = {}
    for sample in samples(tokenizer):
        number = counts[sample.group] = counts.get(sample.group, 0) + 1
        yield vector_of(tokenizer, sample, f"{sample.group}/{number}")


def vector_of(tokenizer: AnyTokenizer, sample: Sample, name: str) -> Vector:
    """One vector: a refusal is a result like others."""
    data = sample.data * sample.repeats
    expected: Expected | None = None
    failure: Failure | None = None
    try:
        found = tokenizer.encode_utf8(
            data, add_special_tokens=sample.insert, trace=True, bounds=sample.bounds
        )
        expected = _expected(tokenizer, found)
    except Refused as refused:
        failure = Failure(refused.code, refused.facts.get("index"))
    return Vector(
        name, TEXT_API, sample.data, sample.repeats, sample.insert, sample.bounds.bytes,
        sample.bounds.scalars, expected, failure,
    )  # fmt: skip


def _expected(tokenizer: AnyTokenizer, found: Encoding) -> Expected:
    decoded = {mode: tokenizer.decode(found.ids, mode) for mode in MODES}
    return Expected(
        found.normalized,
        tuple(_stages(found)),
        tuple(found.ids),
        tuple(token.text for token in found.tokens),
        tuple(token.inserted for token in found.tokens),
        {unit: flat(found.offsets(unit)) for unit in UNITS},
        {mode: DecodedRow(one.data, one.text) for mode, one in decoded.items()},
        decoded["raw"].data == found.text.encode(),
    )


def _stages(found: Encoding) -> Iterator[StageRow]:
    place = Coordinates(found.text)
    for one in found.stages:
        yield StageRow(
            one.name,
            one.kind,
            tuple(piece.text for piece in one.pieces),
            flat(place.utf8(piece.span) for piece in one.pieces),
            tuple(piece.id for piece in one.pieces),
        )


def flat(spans: Iterable[Span]) -> tuple[int, ...]:
    """Starts and ends after each other."""
    return tuple(number for span in spans for number in span)
