"""The stages and the added tokens of a tokenizer as rows."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from trlm_lab.errors import Tok2CompileError
from trlm_lab.text.added_tokens import border_sets
from trlm_lab.text.ggml.compiled import portable
from trlm_lab.text.post_processors import Template
from trlm_lab.text.records import Token
from trlm_lab.text.tok2.numbers import (
    ADDED_FLAGS,
    CHARSMAP,
    COUNT_LIMIT,
    MAP,
    MAX_ADDED,
    MAX_PIECES,
    MAX_STAGES,
    NONE,
)
from trlm_lab.text.tok2.piece_parts import Compilable
from trlm_lab.text.tok2.pools import Pools, numbers, require
from trlm_lab.text.tok2.stage_kinds import (
    BY_STAGE,
    FILLED,
    LETTERS,
    LISTS,
    OPERANDS,
    PATTERN,
    RULES,
    SCALAR,
    SET,
    STRING,
    Operand,
)
from trlm_lab.text.tokenizer import Component


def stages_bytes(tokenizer: Compilable, pools: Pools) -> bytes:
    """Section 5."""
    lists: list[Sequence[Component]] = [getattr(tokenizer, name) for name in LISTS]
    rows = bytearray()
    pieces: list[Token | None] = []
    for components in lists:
        require(len(components), MAX_STAGES, "the number of stages")
        for one in components:
            rows += _stage(one, pools, len(pieces))
            if isinstance(one.stage, Template):
                pieces += one.stage.pieces
    require(len(pieces), MAX_PIECES, "the number of pieces of templates")
    head = numbers([*map(len, lists), len(pieces), 0, 0, 0])
    return head + rows + b"".join(_piece(piece, pools) for piece in pieces)


def _stage(one: Component, pools: Pools, pieces: int) -> bytes:
    stage = portable(one.stage)
    kind = BY_STAGE.get(type(stage))
    if kind is None:
        name = type(one.stage).__name__
        raise Tok2CompileError(what="a stage", got=name, limit="the stages of its profiles")
    flags, values = kind.take(stage)
    if isinstance(one.stage, Template):
        values = (pieces, len(one.stage.pieces))
    texts = [pools.string(one.pointer), pools.string(one.kind)]
    operands = [
        NONE if value is None else _operand(operand, value, pools)
        for operand, value in zip(kind.operands, values, strict=True)
    ]
    unused = [0] * (OPERANDS - len(operands))
    return struct.pack("<HH11I", kind.opcode, flags, *texts, *operands, *unused)


def _operand(operand: Operand, value: Any, pools: Pools) -> int:
    if isinstance(operand, tuple):
        return operand.index(value)
    if isinstance(operand, int) or operand == LETTERS:
        return pools.table(MAP if operand == LETTERS else int(operand), value)
    if operand == RULES:
        return pools.table(CHARSMAP, value)
    if operand == SCALAR:
        return ord(value)
    if operand == SET:
        return pools.scalars(value)
    if operand in (STRING, FILLED):
        return pools.string(value)
    if operand == PATTERN:
        return pools.pattern(value)
    require(value, COUNT_LIMIT - 1, "a count of a stage")
    return int(value)


def _piece(piece: Token | None, pools: Pools) -> bytes:
    if piece is None:
        return numbers([NONE, NONE])
    require(piece.id, COUNT_LIMIT - 1, "the id of a template")
    return numbers([piece.id, pools.string(piece.text)])


def added_bytes(tokenizer: Compilable, pools: Pools) -> bytes:
    """Section 6."""
    added = tokenizer.added
    require(len(added), MAX_ADDED, "the number of added tokens")
    # Another rule of finding them has white space of its own.
    borders = border_sets(added if tokenizer.given is None else (), tokenizer.sets)
    word, space = (NONE if one is None else pools.scalars(one) for one in borders)
    out = bytearray(numbers([len(added), word, space, 0]))
    for one in added:
        require(one.id, COUNT_LIMIT - 1, "the id of an added token")
        flags = sum(1 << bit for bit, name in enumerate(ADDED_FLAGS) if getattr(one, name))
        out += numbers([one.id, flags, pools.string(one.content), 0])
    return bytes(out)
