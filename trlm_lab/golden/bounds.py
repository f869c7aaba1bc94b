"""Which arrays of a trace enter a container, and which part of each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from trlm_lab.base.names import CHECKPOINT_AXES, is_checkpoint, parse_checkpoint
from trlm_lab.golden.slices import Slice

INPUTS: Final = ("token_ids", "position_ids", "attention_mask")
TOP_K: Final = ("logits.topk_ids", "logits.topk_values")
#: Axes that a width bounds; heads, keys and the vocabulary stay whole, or rules would lose sense.
_WIDE: Final = ("D", "HE", "KE", "E", "F")


@dataclass(frozen=True)
class Bounds:
    """Layers (None: all), last tokens and first channels that are kept (0: all)."""

    layers: tuple[int, ...] | None = None
    tokens: int = 0
    width: int = 0

    def chosen(self, names: Iterable[str]) -> list[str]:
        """The names that enter, in the order given."""
        return [name for name in names if name in INPUTS + TOP_K or self._has(name)]

    def _has(self, name: str) -> bool:
        if not is_checkpoint(name):
            return False
        layer = parse_checkpoint(name).layer
        return layer is None or self.layers is None or layer in self.layers

    def part(self, name: str, shape: tuple[int, ...]) -> Slice | None:
        """The part of an array that is kept, or None for the whole."""
        if name in INPUTS:
            return None
        axes = ("T", "TOPK") if name in TOP_K else CHECKPOINT_AXES[parse_checkpoint(name).op]
        ranges = tuple(map(self._range, axes, shape))
        whole = tuple((0, size) for size in shape)
        return None if ranges == whole else Slice(ranges, shape)

    def _range(self, axis: str, size: int) -> tuple[int, int]:
        if axis == "T" and self.tokens:
            return max(0, size - self.tokens), size
        if axis in _WIDE and self.width:
            return 0, min(size, self.width)
        return 0, size
