"""The two stages of profile 3: the normalizer of a SentencePiece model, and how it is decoded."""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

from trlm_lab.errors import Tok2CompileError
from trlm_lab.text.charsmap import Charsmap
from trlm_lab.text.clusters import NO_CLUSTERS
from trlm_lab.text.sentencepiece.model_file import NormalizerSpec
from trlm_lab.text.sentencepiece.whole_keys import has_whole_keys
from trlm_lab.text.tok2.tables import Units

#: What each opcode is called: pointer and kind.
NAMES = {
    11: ("/normalizer_spec", "SentencePiece"),
    60: ("/denormalizer_spec", "SentencePiece"),
}
_SWITCHES = ("add_dummy_prefix", "remove_extra_whitespaces", "escape_whitespaces")


class PieceNormalizer(NamedTuple):
    """The switches of the normalizer; `suffix` puts the dummy space at the end."""

    spec: NormalizerSpec
    suffix: bool


class PieceSurface(NamedTuple):
    """What an unknown piece is shown as, and what the decoded text goes through."""

    unknown: str
    denormalizer: NormalizerSpec | None


def take_normalizer(one: PieceNormalizer) -> tuple[int, tuple[Any, ...]]:
    """Flags and operands."""
    return _flags(one.spec) | one.suffix << len(_SWITCHES), (_units(one.spec),)


def make_normalizer(flags: int, row: tuple[Any, ...]) -> PieceNormalizer:
    """The stage of them."""
    return PieceNormalizer(_spec(flags, row[0]), bool(flags >> len(_SWITCHES)))


def take_surface(one: PieceSurface) -> tuple[int, tuple[Any, ...]]:
    """Flags and operands."""
    if one.denormalizer is None:
        return 0, (one.unknown, None)
    return _flags(one.denormalizer), (one.unknown, _units(one.denormalizer))


def make_surface(flags: int, row: tuple[Any, ...]) -> PieceSurface:
    """The stage of them; without a table nothing is denormalized."""
    unknown, table = row
    return PieceSurface(unknown, None if table is None else _spec(flags, table))


def _flags(spec: NormalizerSpec) -> int:
    return sum(getattr(spec, name) << bit for bit, name in enumerate(_SWITCHES))


def _spec(flags: int, table: Units | None) -> NormalizerSpec:
    charsmap = b""
    if table:
        size = len(table.units)
        charsmap = struct.pack(f"<{1 + size}I", 4 * size, *table.units) + table.texts
    return NormalizerSpec(charsmap, *(bool(flags >> bit & 1) for bit in range(len(_SWITCHES))))


def _units(spec: NormalizerSpec) -> Units | None:
    if not spec.charsmap:
        return None
    table = Charsmap.of(spec.charsmap, NO_CLUSTERS)
    if not has_whole_keys(table.units):
        raise Tok2CompileError(
            what="a table of characters", got="a key that ends within a character",
            limit="keys of whole characters",
        )  # fmt: skip
    return Units(table.units, table.texts)
