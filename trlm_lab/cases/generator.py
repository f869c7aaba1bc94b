"""Seeded random token ids: the same on every machine, no id reserved or avoided."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trlm_lab.base.records import Case, CaseSuite
from trlm_lab.base.records.checks import require


def random_cases(vocab: int, lengths: Sequence[int], seed: int) -> CaseSuite:
    """One case a length, ids uniform below `vocab`; case `random-SEED-INDEX-LENGTH`.

    Raises:
        RecordError: the vocabulary, a length or the seed is out of range.
    """
    require(0 < vocab < 2**31, "vocab", f"{vocab} is out of range")
    require(0 <= seed < 2**63, "seed", f"{seed} is out of range")
    require(len(lengths) > 0, "lengths", "no length is given")
    cases = []
    for index, length in enumerate(lengths):
        require(0 < length < 2**31, "lengths", f"{length} is out of range")
        ids = tuple(_uniform_ids(vocab, length, seed, index))
        cases.append(Case(f"random-{seed}-{index}-{length}", ids))
    return CaseSuite(f"random-{seed}", tuple(cases))


def _uniform_ids(vocab: int, count: int, seed: int, stream: int) -> list[int]:
    """Rejection sampling of 31-bit integers, so that no id is favoured."""
    bits = np.random.Philox(key=[seed, stream])
    limit = 2**31 - 2**31 % vocab
    ids: list[int] = []
    while len(ids) < count:
        words = bits.random_raw(count - len(ids)) >> np.uint64(33)
        ids.extend(int(word) % vocab for word in words if int(word) < limit)
    return ids
