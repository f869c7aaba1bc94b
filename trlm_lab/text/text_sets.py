"""The sets of scalars that a tokenizer needs whatever its stages are."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from trlm_lab.text.scalar_sets import ScalarSet
from trlm_lab.text.tables import category, scalar_set

_HIDDEN = ("Cc", "Cf", "Co", "Cn", "Zl", "Zp", "Zs")


@dataclass(frozen=True)
class TextSets:
    """Beside added tokens: word characters and white space. `hidden` has no shape to be shown."""

    word: ScalarSet
    space: ScalarSet
    hidden: ScalarSet


@cache
def text_sets() -> TextSets:
    """The source engine's own; the plain space is not hidden."""
    hidden = ScalarSet.of(span for name in _HIDDEN for span in category(name).ranges)
    shown = hidden & ScalarSet.chars(" ").inverse()
    return TextSets(scalar_set("added_word"), scalar_set("added_space"), shown)
