"""Stages and added tokens of a TOK2 block under a strict reader."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from trlm_lab.text.added_tokens import AddedToken
from trlm_lab.text.pattern import Pattern
from trlm_lab.text.post_processors import Template, inserted
from trlm_lab.text.records import Token
from trlm_lab.text.scalar_sets import LAST, ScalarSet
from trlm_lab.text.sentencepiece.whole_keys import has_whole_keys
from trlm_lab.text.tok2 import piece_stages
from trlm_lab.text.tok2.numbers import (
    ADDED_FLAGS,
    CHARSMAP,
    COUNT_LIMIT,
    MAP,
    MAX_PIECES,
    MAX_STAGES,
    NONE,
)
from trlm_lab.text.tok2.section import Section
from trlm_lab.text.tok2.stage_kinds import (
    BY_OPCODE,
    COUNT,
    CUTS_OPCODE,
    FILLED,
    LENGTH,
    LETTERS,
    LISTS,
    OF_PROFILE,
    PATTERN,
    RULES,
    SCALAR,
    SET,
    STRING,
    SURFACE_OPCODE,
    TEMPLATE_OPCODE,
    Operand,
    PieceFlags,
    StageKind,
    TemplateSpan,
)
from trlm_lab.text.tok2.walk import Use
from trlm_lab.text.tokenizer import Component

_HEAD, _STAGE, _PIECE = 32, struct.Struct("<HH11I"), 8
_FIRST_OPERAND = 12
#: Flags of added tokens by profile: llama.cpp has neither whole words nor normalized ones.
_ADDED_FLAGS = {1: 0b11111, 2: 0b10110, 3: 0}
#: Least and most stages of each list, and pieces of templates at most, where a profile says so.
_COUNTS = {3: (((1, 1), (0, 0), (0, 0), (1, 1)), 0)}
_ANY_COUNTS = ((0, MAX_STAGES),) * len(LISTS), MAX_PIECES


@dataclass(frozen=True)
class PoolMembers:
    """What references lead to."""

    strings: Sequence[str]
    sets: Sequence[ScalarSet]
    tables: Sequence[tuple[int, Any]]
    patterns: Sequence[Pattern]

    def sizes(self) -> dict[str, int]:
        """The number of members of each pool."""
        return {name: len(getattr(self, name)) for name in self.__dataclass_fields__}


@dataclass
class References:
    """References of one section, looked up and noted for the walk."""

    section: Section
    pools: PoolMembers
    uses: list[Use] = field(default_factory=list)

    def take(self, pool: str, index: int, at: int) -> Any:
        """The member that the reference at a byte of the section names."""
        members = getattr(self.pools, pool)
        if index >= len(members):
            self.section.fail(at, f"a reference into {pool}", index, f"below {len(members)}")
        self.uses.append((pool, index, self.section.offset + at))
        return members[index]

    def optional(self, pool: str, index: int, at: int) -> Any:
        """The same, or None."""
        return None if index == NONE else self.take(pool, index, at)


def read_stages(
    section: Section, pools: PoolMembers, profile: int
) -> tuple[dict[str, tuple[Component, ...]], list[Use]]:
    """Section 5."""
    section.need(_HEAD, 0, "the section")
    *counts, pieces = section.numbers(0, 5).tolist()
    limits, most_pieces = _COUNTS.get(profile, _ANY_COUNTS)
    for index, (count, (least, most)) in enumerate(zip(counts, limits, strict=True)):
        if not least <= count <= most:
            section.fail(4 * index, "the number of stages", count, f"{least} to {most}")
    if pieces > most_pieces:
        section.fail(16, "the number of pieces", pieces, f"at most {most_pieces}")
    section.zeros(20, 12)
    section.exactly(_HEAD + _STAGE.size * sum(counts) + _PIECE * pieces, 0, "the counts")
    return _Stages(section, pools, counts, pieces, profile).read()


class _Stages:
    def __init__(
        self, section: Section, pools: PoolMembers, counts: list[int], pieces: int, profile: int
    ) -> None:
        self._section, self._counts, self._pieces = section, counts, pieces
        self._profile = profile
        self._first_piece = _HEAD + _STAGE.size * sum(counts)
        self._references = References(section, pools)
        self._taken = 0

    def read(self) -> tuple[dict[str, tuple[Component, ...]], list[Use]]:
        """Stages by list, the pieces of templates put in at last."""
        out: dict[str, list[Component]] = {}
        at = _HEAD
        for name, count in zip(LISTS, self._counts, strict=True):
            out[name] = [self._stage(name, at + _STAGE.size * i) for i in range(count)]
            at += _STAGE.size * count
        decoded = sum(isinstance(one.stage, PieceFlags) for one in out["decoders"])
        if decoded != (wanted := int(self._profile == 2)):
            self._section.fail(12, "stages of pieces", decoded, wanted)
        if self._taken != self._pieces:
            self._section.fail(16, "the number of pieces", self._pieces, self._taken)
        pieces = [self._piece(index) for index in range(self._pieces)]
        done = {name: tuple(_filled(one, pieces) for one in rows) for name, rows in out.items()}
        return done, self._references.uses

    def _stage(self, name: str, at: int) -> Component:
        opcode, flags, pointer, called, *numbers = _STAGE.unpack_from(self._section.view, at)
        kind = BY_OPCODE.get(opcode)
        if kind is None or kind.list != name or not self._is_known(opcode):
            self._section.fail(at, "an opcode", opcode, f"one of the {name}")
        if flags & ~kind.flags:
            self._section.fail(at + 2, "flags", flags, f"within {kind.flags}")
        names = self._names(opcode, (pointer, called), at + 4)
        operands = self._operands(kind, flags, numbers, at + _FIRST_OPERAND)
        if opcode == TEMPLATE_OPCODE:
            self._require_pieces(operands, at + _FIRST_OPERAND)
        stage = kind.make(flags, tuple(operands))
        if opcode == CUTS_OPCODE and kind.take(stage) != (flags, tuple(operands)):
            self._section.fail(at + _FIRST_OPERAND + 4, "patterns", "with a gap", "none between")
        if opcode == SURFACE_OPCODE and flags and operands[1] is None:
            self._section.fail(at + 2, "flags", flags, "none without a table")
        return Component(names[0], names[1], stage)

    def _is_known(self, opcode: int) -> bool:
        """Whether the profile has a stage."""
        return self._profile == OF_PROFILE.get(opcode, min(self._profile, 2))

    def _names(self, opcode: int, references: tuple[int, int], at: int) -> list[str]:
        """Pointer and kind; some opcodes have only one of each."""
        names: list[str] = []
        for index, reference in enumerate(references):
            name: str = self._references.take("strings", reference, at + 4 * index)
            wanted = piece_stages.NAMES.get(opcode)
            if wanted and name != wanted[index]:
                self._section.fail(at + 4 * index, "a name", repr(name), repr(wanted[index]))
            names.append(name)
        return names

    def _operands(self, kind: StageKind, flags: int, numbers: list[int], at: int) -> list[Any]:
        out: list[Any] = []
        count = len(kind.operands)
        for index, operand in enumerate(kind.operands):
            number, place = numbers[index], at + 4 * index
            wanted = kind.wanted(flags, out[0] if out else None)[index]
            if wanted is False or (wanted is None and number == NONE):
                if number != NONE:
                    self._section.fail(place, "an operand", number, "none")
                out.append(None)
            else:
                out.append(self._operand(operand, number, place))
        for index in range(count, len(numbers)):
            if numbers[index]:
                self._section.fail(at + 4 * index, "an unused operand", numbers[index], 0)
        return out

    def _operand(self, operand: Operand, number: int, at: int) -> Any:
        if isinstance(operand, int):
            kind, table = self._references.take("tables", number, at)
            if kind != operand:
                self._section.fail(at, "the kind of a table", kind, operand)
            return table
        if operand == FILLED:
            return self._filled_text(number, at)
        if operand == LETTERS:
            return self._letters(number, at)
        if operand == RULES:
            return self._rules(number, at)
        if operand in (SET, STRING, PATTERN):
            return self._references.take(f"{operand}s", number, at)
        if operand == SCALAR:
            if number > LAST or 0xD800 <= number < 0xE000:
                self._section.fail(at, "a scalar", f"{number:#x}", "a Unicode scalar")
            return chr(number)
        if isinstance(operand, tuple):
            if number >= len(operand):
                self._section.fail(at, "a choice", number, f"below {len(operand)}")
            return operand[number]
        least = {COUNT: 0, LENGTH: 1}[operand]
        if not least <= number < COUNT_LIMIT:
            self._section.fail(at, "a count", number, f"{least} to {COUNT_LIMIT - 1}")
        return number

    def _filled_text(self, number: int, at: int) -> Any:
        text = self._operand(STRING, number, at)
        if not text:
            self._section.fail(at, "a text", "''", "one that is not empty")
        return text

    def _letters(self, number: int, at: int) -> Any:
        table = self._operand(MAP, number, at)
        if not table or any(len(text) != 1 for text in table.values()):
            self._section.fail(at, "a map", number, "one with one scalar for each")
        return table

    def _rules(self, number: int, at: int) -> Any:
        table = self._operand(CHARSMAP, number, at)
        if not has_whole_keys(table.units):
            self._section.fail(at, "a charsmap", number, "one whose keys are whole characters")
        return table

    def _require_pieces(self, operands: list[Any], at: int) -> None:
        first, count = operands
        if first != self._taken:
            self._section.fail(at, "the first piece", first, self._taken)
        if count > self._pieces - first:
            left = self._pieces - first
            self._section.fail(at + 4, "the number of pieces", count, f"at most {left}")
        self._taken += count

    def _piece(self, index: int) -> Token | None:
        at = self._first_piece + _PIECE * index
        number, text = self._section.u32(at), self._section.u32(at + 4)
        if number == NONE == text:
            return None
        if number >= COUNT_LIMIT:
            self._section.fail(at, "an id", number, f"below {COUNT_LIMIT}")
        return inserted(number, self._references.take("strings", text, at + 4))


def _filled(one: Component, pieces: list[Token | None]) -> Component:
    """A template is a first piece and a count until here."""
    if not isinstance(one.stage, TemplateSpan):
        return one
    first, count = one.stage
    return Component(one.pointer, one.kind, Template(tuple(pieces[first : first + count])))


def read_added(
    section: Section, pools: PoolMembers, count: int, profile: int
) -> tuple[tuple[AddedToken, ...], ScalarSet, ScalarSet, list[Use]]:
    """Section 6: the tokens, word characters and white space."""
    references = References(section, pools)
    if section.u32(0) != count:
        section.fail(0, "the number of added tokens", section.u32(0), count)
    word = references.optional("sets", section.u32(4), 4)
    space = references.optional("sets", section.u32(8), 8)
    section.zeros(12, 4)
    out: list[AddedToken] = []
    seen: set[str] = set()
    for at in range(16, 16 + 16 * count, 16):
        token = _added(section, references, at, _ADDED_FLAGS[profile])
        if not token.content or token.content in seen:
            section.fail(at + 8, "a content", repr(token.content), "a text of its own")
        seen.add(token.content)
        out.append(token)
    for at, found, wanted in (
        (4, word, profile == 1 and any(one.single_word for one in out)),
        (8, space, profile == 1 and any(one.lstrip or one.rstrip for one in out)),
    ):
        if (found is not None) != wanted:
            section.fail(at, "a set", section.u32(at), "one" if wanted else "none")
    empty = ScalarSet(())
    return tuple(out), word or empty, space or empty, references.uses


def _added(section: Section, references: References, at: int, allowed: int) -> AddedToken:
    number, flags, content, reserved = section.numbers(at, 4).tolist()
    if number >= COUNT_LIMIT:
        section.fail(at, "an id", number, f"below {COUNT_LIMIT}")
    if flags & ~allowed:
        section.fail(at + 4, "flags", flags, f"within {allowed}")
    text = references.take("strings", content, at + 8)
    if reserved:
        section.fail(at + 12, "a reserved field", reserved, 0)
    return AddedToken(number, text, *(bool(flags >> bit & 1) for bit in range(len(ADDED_FLAGS))))
