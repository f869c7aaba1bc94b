"""Golden vectors of tokenizers: the minimum corpus, what follows from it, and judging by it."""

from __future__ import annotations

from trlm_lab.text.vectors.corpus import FINITE, LEAST, samples
from trlm_lab.text.vectors.judging import OFFSET_KEYS, Parting, first_parting
from trlm_lab.text.vectors.making import vector_of, vector_set
from trlm_lab.text.vectors.record import Failure, TokenizerBytes, Vector, VectorSet
from trlm_lab.text.vectors.samples import AnyTokenizer, Sample

__all__ = [
    "FINITE",
    "LEAST",
    "OFFSET_KEYS",
    "AnyTokenizer",
    "Failure",
    "Parting",
    "Sample",
    "TokenizerBytes",
    "Vector",
    "VectorSet",
    "first_parting",
    "samples",
    "vector_of",
    "vector_set",
]
