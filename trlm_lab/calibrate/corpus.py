"""The text that a quantizer is calibrated on, with its lineage: a content-addressed record.

A record is a window of consecutive ids of one document. `corpus_id` covers sources, licences,
filtering, every record and what it was held against, so that any change of these is another corpus,
and an artifact made of it another artifact even where its bytes are the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from trlm_lab.base import canon
from trlm_lab.base.records.checks import require, require_sha256
from trlm_lab.calibrate.overlap import Judged, shared_ngram
from trlm_lab.errors import CalibrationRecordError, CalibrationTextOverlapError, RecordError

SCHEMA: Final = "trlm.calibration_corpus.v1"
Ids = tuple[int, ...]


@dataclass(frozen=True)
class TextSource:
    """Where documents come from."""

    name: str
    package: str
    version: str
    archive_sha256: str
    licence: str


@dataclass(frozen=True)
class TextRecord:
    """`ids` are those from `first` on of the document, begin-of-text id included."""

    document: str
    document_sha256: str
    first: int
    ids: Ids

    @property
    def sha256(self) -> str:
        """SHA-256 of the ids as little-endian int64."""
        return hashlib.sha256(np.asarray(self.ids, "<i8").tobytes()).hexdigest()


@dataclass(frozen=True)
class Filtering:
    """How documents became records, in this order.

    Documents of `part`; windows of `window` ids from the document's start, the last short one left
    out; at most `per_document` of each; without those that share an n-gram of `ngram` ids with what
    is judged (`dropped` of them); the first `wanted` in the order of their SHA-256.
    """

    part: str
    window: int
    per_document: int
    ngram: int
    wanted: int
    dropped: int


@dataclass(frozen=True)
class Corpus:
    """Calibration records and their lineage."""

    sources: tuple[TextSource, ...]
    tokenizer_sha256: str
    filtering: Filtering
    records: tuple[TextRecord, ...]
    against: tuple[Mapping[str, Any], ...]

    @property
    def lineage(self) -> dict[str, Any]:
        """Everything but the ids themselves, of which every record has the hash."""
        return {
            "schema": SCHEMA,
            "sources": [dict(vars(source)) for source in self.sources],
            "tokenizer_sha256": self.tokenizer_sha256,
            "filtering": dict(vars(self.filtering)),
            "records": [
                {
                    "document": one.document,
                    "document_sha256": one.document_sha256,
                    "first": one.first,
                    "tokens": len(one.ids),
                    "sha256": one.sha256,
                }
                for one in self.records
            ],
            "against": [dict(row) for row in self.against],
        }

    @property
    def corpus_id(self) -> str:
        """Content id of the lineage."""
        return canon.content_id(self.lineage)

    def to_map(self) -> dict[str, Any]:
        """The document of a file: the lineage, and the ids of every record."""
        return {**self.lineage, "ids": [list(one.ids) for one in self.records]}

    @classmethod
    def from_map(cls, row: Mapping[str, Any], where: str) -> Corpus:
        """A document read back; the hash of every record is computed again.

        Raises:
            CalibrationRecordError: a field is missing or of another kind, or a record's ids are not
                those of its hash.
        """
        try:
            require(row["schema"] == SCHEMA, where, "unknown schema")
            require_sha256(row["tokenizer_sha256"], where)
            records = tuple(
                TextRecord(r["document"], r["document_sha256"], r["first"], tuple(ids))
                for r, ids in zip(row["records"], row["ids"], strict=True)
            )
            found = cls(
                tuple(TextSource(**source) for source in row["sources"]),
                row["tokenizer_sha256"],
                Filtering(**row["filtering"]),
                records,
                tuple(row["against"]),
            )
            hashes = [one.sha256 for one in records]
        except (KeyError, TypeError, ValueError, OverflowError, RecordError) as error:
            detail = f"{type(error).__name__}: {error}"
            raise CalibrationRecordError(where=where, detail=detail) from error
        for number, (own, said) in enumerate(zip(hashes, row["records"], strict=True)):
            if own != said["sha256"] or len(records[number].ids) != said["tokens"]:
                detail = f"record {number} is not that of its hash"
                raise CalibrationRecordError(where=where, detail=detail)
        return found

    def check_disjoint(self, judged: Sequence[Judged], where: str) -> None:
        """Refuse judged sequences that share an n-gram with a record.

        Raises:
            CalibrationTextOverlapError: naming both and the first shared id.
        """
        for one in judged:
            for number, record in enumerate(self.records):
                found = shared_ngram(record.ids, one, self.filtering.ngram)
                if found is not None:
                    raise CalibrationTextOverlapError(
                        where=where, record=f"record {number} ({record.document})",
                        judged=one.name, ngram=self.filtering.ngram, at=record.first + found,
                    )  # fmt: skip
