"""The walk of the pools: members stand in the order in which they are first referred to."""

from __future__ import annotations

from collections.abc import Iterable

from trlm_lab.errors import Tok2PoolsError

#: Pool, index, and the byte of the block where the reference stands.
Use = tuple[str, int, int]


def require_order(uses: Iterable[Use], sizes: dict[str, int], offsets: dict[str, int]) -> None:
    """Refuse a reference that jumps ahead, and a member that nothing refers to.

    Raises:
        Tok2PoolsError: the first of them.
    """
    seen = dict.fromkeys(sizes, 0)
    for pool, index, place in uses:
        if index > seen[pool]:
            raise Tok2PoolsError(
                where=f"byte {place}", field=f"a reference into {pool}", got=index,
                expected=f"at most {seen[pool]}",
            )  # fmt: skip
        seen[pool] = max(seen[pool], index + 1)
    for pool, size in sizes.items():
        if seen[pool] != size:
            raise Tok2PoolsError(
                where=f"byte {offsets[pool]}", field=f"the members of {pool}", got=size,
                expected=f"the {seen[pool]} that are used",
            )  # fmt: skip
