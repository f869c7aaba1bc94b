"""Cases that the engines of the exact profile run side by side, and what is compared of them."""

from collections.abc import Callable
from pathlib import Path

from trlm_lab.base.interfaces import Runner
from trlm_lab.base.records import ArrayDigest, Case, Observation

Observe = Callable[[Runner, Path, Case], dict[str, Observation]]
TOKENS = (5, 66, 0, 17, 3, 3, 41, 20, 9, 33, 12)
CASE = Case("plain", TOKENS)
ODD_CASE = Case("odd", TOKENS[:5], position_ids=(0, 0, 1, 7, 2), attention_mask=(1, 0, 1, 1, 0))


def digests(seen: dict[str, Observation]) -> list[ArrayDigest]:
    """Names, shapes and hashes, in order."""
    return [ArrayDigest.of(o) for o in seen.values()]
