"""Where a named array lies in a case group, which axes it has, and the order of names.

Layer checkpoints of one operator share one stored array `layers.<op>` with the axis L in front.
What a trace keeps in place of a whole checkpoint has its name with a suffix: `.statistics`, the
figures of `statistics.FIGURES`, and `.picked`, declared heads and query rows of a square.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from trlm_lab.base.names import (
    CHECKPOINT_AXES,
    is_checkpoint,
    ladder_rank,
    parse_checkpoint,
)
from trlm_lab.errors import ObservationError, UnknownNameError

#: Arrays beside the checkpoints: what went in, the best logits, the greedy continuation.
INPUT_NAMES: tuple[str, ...] = ("token_ids", "position_ids", "attention_mask")
AFTER_NAMES: tuple[str, ...] = ("logits.topk_ids", "logits.topk_values", "generated")
OTHER_AXES: dict[str, tuple[str, ...]] = {
    "token_ids": ("T",),
    "position_ids": ("T",),
    "attention_mask": ("T",),
    "logits.topk_ids": ("T", "TOPK"),
    "logits.topk_values": ("T", "TOPK"),
    "generated": ("G",),
}
#: Suffixes of what stands for a checkpoint, and the axes of such an array.
STATISTICS, PICKED = ".statistics", ".picked"
_STAND_INS: dict[str, tuple[str, ...]] = {
    STATISTICS: ("FIGURE",),
    PICKED: ("HEAD", "ROW", "S"),
}
#: Free names, such as `step3.logits` or `logits.chunk0`; none may look like a stacked array.
_FREE_NAME = re.compile(r"(?!layers\.)[a-z][a-z0-9_]{0,63}(\.[a-z0-9_]{1,64}){0,7}\Z")
#: No model has as many layers; what names a higher one would make an index of that length.
MOST_LAYERS = 1 << 16
_STEP = re.compile(r"step(0|[1-9][0-9]{0,8})\.(.+)\Z")


@dataclass(frozen=True)
class Place:
    """A slab of the stored array `array`: the whole of it, or one index on its layer axis.

    `axes` are the axis letters of the slab (without L), or None where the name fixes none.
    """

    array: str
    layer: int | None
    axes: tuple[str, ...] | None

    def dimensions(self, rank: int) -> tuple[str, ...]:
        """Dimension names of the stored array, whose slabs have `rank` axes."""
        axes = self.axes or tuple(f"{self.array}.{i}" for i in range(rank))
        return axes if self.layer is None else ("L", *axes)


@lru_cache(maxsize=4096)
def place_of(name: str) -> Place:
    """Where the array `name` is stored.

    Raises:
        ObservationError: no array of a trace may have this name.
    """
    whole, suffix = stands_for(name)
    if suffix:
        place = place_of(whole)
        return Place(place.array + suffix, place.layer, _STAND_INS[suffix])
    try:
        point = parse_checkpoint(name)
    except UnknownNameError:
        if name not in OTHER_AXES and not _FREE_NAME.match(name):
            raise ObservationError(where=name, detail="a name that is no array name") from None
        return Place(name, None, OTHER_AXES.get(name))
    if point.layer is not None and point.layer >= MOST_LAYERS:
        raise ObservationError(where=name, detail=f"layer {point.layer}")
    if point.layer is None:
        return Place(point.op, None, CHECKPOINT_AXES[point.op])
    return Place(f"layers.{point.op}", point.layer, CHECKPOINT_AXES[point.op])


@lru_cache(maxsize=4096)
def stands_for(name: str) -> tuple[str, str]:
    """The checkpoint that an array stands for, and its suffix; the name itself and "" if none."""
    for suffix in _STAND_INS:
        whole = name.removesuffix(suffix)
        if whole != name and is_checkpoint(whole):
            return whole, suffix
    return name, ""


@lru_cache(maxsize=4096)
def trace_order(name: str) -> tuple[Any, ...]:
    """Sort key of array names: inputs, the ladder, the best logits, decoding steps, the rest."""
    if name in INPUT_NAMES:
        return (0, INPUT_NAMES.index(name))
    if name in AFTER_NAMES:
        return (2, AFTER_NAMES.index(name))
    step = _STEP.match(name)
    if step:
        return (3, int(step[1]), trace_order(step[2]))
    whole, suffix = stands_for(name)
    try:
        return (1, ladder_rank(whole), suffix)
    except UnknownNameError:
        return (4, name)
