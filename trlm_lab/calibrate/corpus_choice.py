"""Which windows of which documents a calibration corpus holds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from trlm_lab.calibrate.corpus import Corpus, Filtering, TextRecord, TextSource
from trlm_lab.calibrate.overlap import Judged, shared_ngram
from trlm_lab.errors import CalibrationRecordError

#: A document: its name, the SHA-256 of its text, its ids with the begin-of-text id.
Encoded = tuple[str, str, Sequence[int]]


def windows_of(document: Encoded, window: int, most: int) -> list[TextRecord]:
    """The first `most` whole windows of a document."""
    name, sha256, ids = document
    starts = range(0, len(ids) - window + 1, window)
    return [
        TextRecord(name, sha256, first, tuple(ids[first : first + window]))
        for first in starts[:most]
    ]


def make_corpus(
    sources: Sequence[TextSource],
    tokenizer_sha256: str,
    documents: Iterable[Encoded],
    judged: Sequence[Judged],
    *,
    part: str = "calibration",
    window: int = 256,
    per_document: int = 8,
    ngram: int = 16,
    wanted: int = 96,
) -> Corpus:
    """Records by the rule of `Filtering`; none of them shares an n-gram with what is judged.

    Raises:
        CalibrationRecordError: fewer than `wanted` records are left.
    """
    seen = [r for d in documents for r in windows_of(d, window, per_document)]
    kept = [r for r in seen if all(shared_ngram(r.ids, one, ngram) is None for one in judged)]
    if len(kept) < wanted:
        detail = f"{len(kept)} records are left of {len(seen)}, {wanted} are wanted"
        raise CalibrationRecordError(where=part, detail=detail)
    records = tuple(sorted(kept, key=lambda one: one.sha256)[:wanted])
    filtering = Filtering(part, window, per_document, ngram, wanted, len(seen) - len(kept))
    proofs = tuple(one.proof(ngram) for one in judged)
    corpus = Corpus(tuple(sources), tokenizer_sha256, filtering, records, proofs)
    corpus.check_disjoint(judged, part)
    return corpus
