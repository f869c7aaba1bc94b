"""A SentencePiece model file as a record; what only says how it was trained is passed by.

Every field must be known: one that is not could change ids. Source of facts:
sentencepiece_model.proto of sentencepiece 0.2.3.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from trlm_lab.errors import SentencePieceFieldError, TokenizerKindError
from trlm_lab.text.sentencepiece import wire
from trlm_lab.text.sentencepiece.wire import DELIMITED, FIXED32, KINDS, VARINT, Field

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = 1, 2, 3, 4, 5, 6
MODEL_TYPES = {1: "UNIGRAM", 2: "BPE", 3: "WORD", 4: "CHAR"}
#: Pieces of a file, and bytes of one piece (the source's own bound).
MAX_PIECES, MAX_PIECE_BYTES = 1 << 20, 7999

#: Field number -> name and kind: of the wire, or what the wire's number or bytes are.
_TRAINER: dict[int, tuple[str, str]] = {
    3: ("model_type", "int"), 24: ("treat_whitespace_as_suffix", "bool"),
    35: ("byte_fallback", "bool"), 44: ("unk_surface", "text"), 45: ("unk_piece", "text"),
    46: ("bos_piece", "text"), 47: ("eos_piece", "text"), 48: ("pad_piece", "text"),
}  # fmt: skip
_NORMALIZER: dict[int, tuple[str, str]] = {
    2: ("precompiled_charsmap", "bytes"), 3: ("add_dummy_prefix", "bool"),
    4: ("remove_extra_whitespaces", "bool"), 5: ("escape_whitespaces", "bool"),
}  # fmt: skip
_PIECE: dict[int, tuple[str, str]] = {
    1: ("piece", "text"), 2: ("score", "float"), 3: ("type", "int"),
}  # fmt: skip
_KINDS = {"int": VARINT, "bool": VARINT, "text": DELIMITED, "bytes": DELIMITED, "float": FIXED32}

#: Fields that say how the model was trained, or that repeat what the pieces say (30, 31: symbols;
#: 40 to 43: ids). 51 was a float between 0.1.96 and 0.2.1, 52 and 53 came after it.
_OF_TRAINING = frozenset(
    {1, 2, 4, 5, 6, 7, *range(10, 24), 25, 26, *range(30, 35), 36, *range(40, 44), *range(49, 56)}
)
_OF_RULES = frozenset({1, 6})
#: Deprecated: sample texts with their pieces.
_SELF_TEST = 4


class Piece(NamedTuple):
    """One piece; its place in the file is its id."""

    text: str
    score: float
    type: int


@dataclass(frozen=True)
class NormalizerSpec:
    """How a text is normalized; `charsmap` is the compiled table, empty for none."""

    charsmap: bytes = field(default=b"", repr=False)
    add_dummy_prefix: bool = True
    remove_extra_whitespaces: bool = True
    escape_whitespaces: bool = True


@dataclass(frozen=True)
class ModelFile:
    """What a model file declares; `special` names pieces by their role and decides no id."""

    pieces: tuple[Piece, ...]
    kind: str
    normalizer: NormalizerSpec
    denormalizer: NormalizerSpec | None
    byte_fallback: bool
    suffix: bool
    unknown_surface: str
    special: dict[str, str]


def read_model_file(data: bytes) -> ModelFile:
    """The record of a `.model` file.

    Raises:
        SentencePieceFileError: the bytes are no protocol buffer.
        SentencePieceFieldError: a field is unknown, ill-typed, repeated or out of its bounds.
        TokenizerKindError: a model type that does not exist.
    """
    pieces: list[Piece] = []
    parts: dict[int, tuple[bytes, int]] = {}
    for one in wire.fields(data):
        if one.number == 1:
            pieces.append(_piece(one, len(pieces)))
        elif one.number in (2, 3, 5):
            if one.number in parts:
                raise _fault("", one, "occurs twice")
            parts[one.number] = _inner(one, "")
        elif one.number != _SELF_TEST:
            raise _fault("", one, "is not known")
    trainer = _message(*parts.get(2, (b"", 0)), "trainer_spec", _TRAINER, _OF_TRAINING)
    names = {role: trainer.get(f"{role}_piece", "") for role in ("unk", "bos", "eos", "pad")}
    return ModelFile(
        tuple(pieces),
        _kind(trainer.get("model_type", 1)),
        _normalizer(parts.get(3), "normalizer_spec") or NormalizerSpec(),
        _normalizer(parts.get(5), "denormalizer_spec"),
        trainer.get("byte_fallback", False),
        trainer.get("treat_whitespace_as_suffix", False),
        trainer.get("unk_surface", " \u2047 "),
        {
            role: name or default
            for (role, name), default in zip(names.items(), _DEFAULTS, strict=True)
        },
    )


_DEFAULTS = ("<unk>", "<s>", "</s>", "<pad>")


def _kind(number: int) -> str:
    if number not in MODEL_TYPES:
        raise TokenizerKindError(
            where="trainer_spec.model_type", stage="model", kind=number,
            known=", ".join(MODEL_TYPES.values()),
        )  # fmt: skip
    return MODEL_TYPES[number]


def _piece(one: Field, index: int) -> Piece:
    where = f"pieces[{index}]"
    row = _message(*_inner(one, where), where, _PIECE, frozenset())
    piece = Piece(row.get("piece", ""), row.get("score", 0.0), row.get("type", NORMAL))
    size = len(piece.text.encode())
    if index >= MAX_PIECES or not 0 < size <= MAX_PIECE_BYTES:
        raise _fault(where, one, f"is a piece of {size} bytes, number {index}")
    if not math.isfinite(piece.score) or not NORMAL <= piece.type <= BYTE:
        raise _fault(where, one, f"has the score {piece.score} and the type {piece.type}")
    return piece


def _normalizer(part: tuple[bytes, int] | None, where: str) -> NormalizerSpec | None:
    if part is None:
        return None
    row = _message(*part, where, _NORMALIZER, _OF_RULES)
    return NormalizerSpec(
        row.get("precompiled_charsmap", b""),
        row.get("add_dummy_prefix", True),
        row.get("remove_extra_whitespaces", True),
        row.get("escape_whitespaces", True),
    )


def _inner(one: Field, where: str) -> tuple[bytes, int]:
    if not isinstance(one.value, bytes) or one.wire != DELIMITED:
        raise _fault(where, one, f"is {KINDS[one.wire]} and no message")
    return one.value, one.at


def _message(
    data: bytes, base: int, where: str, known: dict[int, tuple[str, str]], passed: frozenset[int]
) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for one in wire.fields(data, base):
        if one.number in passed:
            continue
        if one.number not in known:
            raise _fault(where, one, "is not known")
        name, kind = known[one.number]
        if name in row:
            raise _fault(where, one, "occurs twice")
        if one.wire != _KINDS[kind]:
            raise _fault(where, one, f"is {KINDS[one.wire]} and no {kind}")
        row[name] = _value(one, kind, where)
    return row


def _value(one: Field, kind: str, where: str) -> Any:
    if isinstance(one.value, int):
        if kind == "bool" and one.value > 1:
            raise _fault(where, one, f"is {one.value}, neither 0 nor 1")
        return bool(one.value) if kind == "bool" else wire.signed32(one.value)
    if kind == "float":
        return wire.float32(one.value)
    if kind == "bytes":
        return one.value
    try:
        return one.value.decode()
    except UnicodeDecodeError as error:
        raise _fault(where, one, f"is no UTF-8: {error.reason}") from error


def _fault(where: str, one: Field, detail: str) -> SentencePieceFieldError:
    place = f"{where}.{one.number}" if where else str(one.number)
    return SentencePieceFieldError(where=place, number=one.number, detail=detail, index=one.at)
