"""Every stage that TOK2 knows, once: its opcode, its flags and what its operands refer to.

A kind takes a stage apart into flags and operands and puts it together again; the writer and the
reader both go by this table. An operand of None is `NONE` in the file.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from trlm_lab.errors import Tok2CompileError
from trlm_lab.text import decoders, normalizers, pre_tokenizers
from trlm_lab.text.charsmap import Charsmap
from trlm_lab.text.clusters import ClusterSets
from trlm_lab.text.ggml.compiled import Cuts, WordCuts
from trlm_lab.text.ggml.decoding import Pieces, Tidied
from trlm_lab.text.normal_forms import FORMS, FormTables
from trlm_lab.text.pattern import Pattern
from trlm_lab.text.post_processors import Template, TrimOffsets
from trlm_lab.text.scalar_sets import ScalarSet
from trlm_lab.text.splitting import BEHAVIOURS
from trlm_lab.text.tok2 import piece_stages
from trlm_lab.text.tok2.numbers import CHARSMAP, CLASSES, COMPOSITIONS, MAP, RUNS, SCHEMES
from trlm_lab.text.tok2.tables import Units

OPERANDS = 9
#: Stages that only one profile has; the others belong to 1 and 2.
OF_PROFILE = {23: 2, 24: 2, 58: 2, 59: 2, 11: 3, 60: 3}
CUTS_OPCODE, TEMPLATE_OPCODE, SURFACE_OPCODE = 23, 34, 60
#: What operands are: references to pools, scalars, counts, or one of some names.
SET, STRING, PATTERN = "set", "string", "pattern"
#: A string that is not empty.
FILLED = "filled"
SCALAR, COUNT, LENGTH = "scalar", "count", "length"
#: A map that has one scalar for one.
LETTERS = "letters"
#: A charsmap whose keys are whole characters.
RULES = "rules"
Operand = str | int | tuple[str, ...]
Parts = tuple[int, tuple[Any, ...]]
#: Which operands are there, by flags and the first operand; None leaves it to the stage.
Present = Callable[[int, Any], tuple[bool | None, ...]]


class TemplateSpan(NamedTuple):
    """A template before its pieces are read."""

    first: int
    size: int


class PieceFlags(NamedTuple):
    """The decoder of pieces before it is known what each token is."""

    visible: bool
    strip_first: bool


@dataclass(frozen=True)
class StageKind:
    """`list` is one of normalizers, pre_tokenizers, post_processors, decoders."""

    opcode: int
    list: str
    stage: type
    flags: int
    operands: tuple[Operand, ...]
    take: Callable[[Any], Parts]
    make: Callable[[int, tuple[Any, ...]], Any]
    present: Present | None = None

    def wanted(self, flags: int, first: Any) -> tuple[bool | None, ...]:
        """Whether each operand must be there."""
        return self.present(flags, first) if self.present else (True,) * len(self.operands)


_EMPTY = ScalarSet(())
_MOST_CUTS = 8


def _bits(*values: bool) -> int:
    return sum(1 << index for index, value in enumerate(values) if value)


def _form_present(flags: int, form: Any) -> tuple[bool | None, ...]:
    # Asked for the form itself, there is none yet.
    return True, True, bool(form) and "K" in form, True, bool(form) and form.endswith("C")


def _take_form(one: normalizers.Form) -> Parts:
    tables = one.tables
    compatible = tables.compatible if "K" in one.form else None
    composed = tables.composed if one.form.endswith("C") else None
    return 0, (one.form, tables.canonical, compatible, tables.classes, composed)


def _make_form(flags: int, row: tuple[Any, ...]) -> normalizers.Form:
    form, canonical, compatible, classes, composed = row
    return normalizers.Form(form, FormTables(canonical, compatible or {}, classes, composed or {}))


def _bert_present(flags: int, first: Any) -> tuple[bool | None, ...]:
    clean, chinese, accents, lower = (bool(flags >> bit & 1) for bit in range(4))
    return clean, clean, chinese, accents, accents, accents, lower


def _take_bert(one: normalizers.Bert) -> Parts:
    flags = _bits(one.clean_text, one.chinese, one.strip_accents, one.lowercase)
    tables = (one.tables.canonical, one.tables.classes, one.nonspacing)
    values = (one.removed, one.space, one.ideographs, *tables, one.lower)
    wanted = zip(values, _bert_present(flags, None), strict=True)
    return flags, tuple(value if there else None for value, there in wanted)


def _make_bert(flags: int, row: tuple[Any, ...]) -> normalizers.Bert:
    removed, space, ideographs, canonical, classes, nonspacing, lower = row
    clean, chinese, accents, lowercase = (bool(flags >> bit & 1) for bit in range(4))
    return normalizers.Bert(
        clean, chinese, accents, lowercase, removed or _EMPTY, space or _EMPTY,
        ideographs or _EMPTY, FormTables(canonical or {}, {}, classes or {}, {}),
        nonspacing or _EMPTY, lower or {},
    )  # fmt: skip


def _take_charsmap(one: Charsmap) -> Parts:
    borders = [getattr(one.borders, name) for name in ClusterSets.__dataclass_fields__]
    return 0, (Units(one.units, one.texts), *borders)


def _make_charsmap(flags: int, row: tuple[Any, ...]) -> Charsmap:
    return Charsmap(row[0].units, row[0].texts, ClusterSets(*row[1:]))


def _take_cuts(one: Cuts) -> Parts:
    groups = [step for step in one.steps[:1] if isinstance(step, ScalarSet)]
    patterns = one.steps[len(groups) :]
    if len(patterns) > _MOST_CUTS or not all(isinstance(step, Pattern) for step in patterns):
        raise Tok2CompileError(
            what="the steps of a split", got=len(one.steps), limit=f"numbers, {_MOST_CUTS} patterns"
        )
    missing = [None] * (_MOST_CUTS - len(patterns))
    return 0, (groups[0] if groups else None, *patterns, *missing)


def _make_cuts(flags: int, row: tuple[Any, ...]) -> Cuts:
    return Cuts(tuple(step for step in row if step is not None))


def _take_words(one: WordCuts) -> Parts:
    return 0, (one.plain or None, one.space, one.lost, one.apart, one.lower or None)


def _make_words(flags: int, row: tuple[Any, ...]) -> WordCuts:
    return WordCuts(row[0] or {}, row[1], row[2], row[3], row[4] or {})


def _plain(stage: type) -> Callable[[int, tuple[Any, ...]], Any]:
    """A stage whose operands are its fields."""
    return lambda flags, row: stage(*row)


def _fields(one: Any) -> Parts:
    return 0, tuple(getattr(one, name) for name in one.__dataclass_fields__)


_N, _P, _Q, _D = "normalizers", "pre_tokenizers", "post_processors", "decoders"
_CUT = BEHAVIOURS


def _simple(opcode: int, where: str, stage: type, *operands: Operand) -> StageKind:
    return StageKind(opcode, where, stage, 0, operands, _fields, _plain(stage))


KINDS = (
    StageKind(1, _N, normalizers.Form, 0, (FORMS, MAP, MAP, CLASSES, COMPOSITIONS),
              _take_form, _make_form, _form_present),
    _simple(2, _N, normalizers.Lowercase, MAP),
    _simple(3, _N, normalizers.Without, SET),
    _simple(4, _N, normalizers.Nmt, SET, SET),
    StageKind(5, _N, normalizers.Strip, 3, (SET,),
              lambda one: (_bits(one.left, one.right), (one.space,)),
              lambda flags, row: normalizers.Strip(bool(flags & 1), bool(flags & 2), row[0])),
    _simple(6, _N, normalizers.Replace, PATTERN, STRING),
    _simple(7, _N, normalizers.Prepend, FILLED),
    _simple(8, _N, normalizers.Bytes),
    StageKind(9, _N, normalizers.Bert, 15, (SET, SET, SET, MAP, CLASSES, SET, MAP),
              _take_bert, _make_bert, _bert_present),
    StageKind(10, _N, Charsmap, 0, (CHARSMAP, *(SET,) * 7), _take_charsmap, _make_charsmap),
    StageKind(11, _N, piece_stages.PieceNormalizer, 15, (RULES,), piece_stages.take_normalizer,
              piece_stages.make_normalizer, lambda flags, first: (None,)),
    StageKind(17, _P, pre_tokenizers.Split, 1, (PATTERN, _CUT),
              lambda one: (_bits(one.invert), (one.pattern, one.behaviour)),
              lambda flags, row: pre_tokenizers.Split(row[0], row[1], bool(flags))),
    _simple(18, _P, pre_tokenizers.CharSplit, SET, _CUT),
    StageKind(19, _P, pre_tokenizers.ByteLevel, 1, (PATTERN,),
              lambda one: (_bits(one.prefix_space), (one.pattern,)),
              lambda flags, row: pre_tokenizers.ByteLevel(bool(flags), row[0]),
              lambda flags, first: (None,)),
    StageKind(20, _P, pre_tokenizers.Metaspace, 1, (SCALAR, SCHEMES),
              lambda one: (_bits(one.cuts), (one.replacement, one.prepend_scheme)),
              lambda flags, row: pre_tokenizers.Metaspace(row[0], row[1], bool(flags))),
    _simple(21, _P, pre_tokenizers.FixedLength, LENGTH),
    _simple(22, _P, pre_tokenizers.Scripts, RUNS),
    StageKind(23, _P, Cuts, 0, (SET, *(PATTERN,) * _MOST_CUTS), _take_cuts, _make_cuts,
              lambda flags, first: (None,) * (1 + _MOST_CUTS)),
    StageKind(24, _P, WordCuts, 0, (LETTERS, SET, SET, SET, LETTERS), _take_words, _make_words,
              lambda flags, first: (None, True, True, True, None)),
    StageKind(33, _Q, TrimOffsets, 1, (SET,),
              lambda one: (_bits(one.prefix_space), (one.space,)),
              lambda flags, row: TrimOffsets(bool(flags), row[0])),
    # The writer and the reader put the pieces of templates into an array of their own.
    StageKind(34, _Q, Template, 0, (COUNT, COUNT), lambda one: (0, (0, len(one.pieces))),
              lambda flags, row: TemplateSpan(*row)),
    _simple(49, _D, decoders.ByteLevel),
    _simple(50, _D, decoders.ByteFallback),
    StageKind(51, _D, decoders.WordPiece, 1, (STRING,),
              lambda one: (_bits(one.cleanup), (one.prefix,)),
              lambda flags, row: decoders.WordPiece(row[0], bool(flags))),
    _simple(52, _D, decoders.Metaspace, SCALAR, SCHEMES),
    _simple(53, _D, decoders.Bpe, STRING),
    StageKind(54, _D, decoders.Ctc, 1, (STRING, STRING),
              lambda one: (_bits(one.cleanup), (one.pad, one.delimiter)),
              lambda flags, row: decoders.Ctc(row[0], row[1], bool(flags))),
    _simple(55, _D, decoders.Replace, PATTERN, STRING),
    _simple(56, _D, decoders.Fuse),
    # What each token is stands beside the vocabulary.
    StageKind(58, _D, Pieces, 3, (), lambda one: (_bits(one.visible, one.strip_first), ()),
              lambda flags, row: PieceFlags(bool(flags & 1), bool(flags & 2))),
    _simple(59, _D, Tidied),
    _simple(57, _D, decoders.Strip, SCALAR, COUNT, COUNT),
    StageKind(60, _D, piece_stages.PieceSurface, 7, (STRING, RULES), piece_stages.take_surface,
              piece_stages.make_surface, lambda flags, first: (True, None)),
)  # fmt: skip

LISTS = (_N, _P, _Q, _D)
BY_OPCODE = {kind.opcode: kind for kind in KINDS}
BY_STAGE: dict[type, StageKind] = {kind.stage: kind for kind in KINDS}
