"""What a SentencePiece model beside the other documents declares: its pieces, and ids by role.

The source framework reads it where there is no `tokenizer.json`, and may read it beside one. Source
of facts: sentencepiece_model.proto of sentencepiece 0.2.3 (the trainer's fields 40 to 43), and
`bos_id` in its processor, which looks the piece of that name up and takes it if it is a control
piece.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from trlm_lab.base.plain_file import open_plain
from trlm_lab.errors import Refused, SentencePieceFileError

#: The names that a model of this kind has in repositories.
PIECE_FILES = ("tokenizer.model", "spiece.model", "sentencepiece.bpe.model")
#: The largest in use, of 262,144 pieces, has about 5 MB.
MAX_BYTES = 64 << 20
_TRAINER_SPEC = 2
_TRAINED = {40: "unk", 41: "bos", 42: "eos", 43: "pad"}


@dataclass(frozen=True)
class RoleId:
    """One place of the model that gives a role an id; `said` is what stands there."""

    role: str
    pointer: str
    said: int | str
    number: int


@dataclass(frozen=True)
class PieceModel:
    """One model file: how many pieces it has, the ids of its roles, the SHA-256 of its bytes."""

    file: str
    pieces: int
    roles: tuple[RoleId, ...]
    sha256: str


def read_piece_models(root: Path) -> tuple[PieceModel, ...]:
    """The models of a directory, each read strictly.

    Raises:
        NotPlainFileError: one is a pipe, device or directory.
        SentencePieceFileError: the bytes are no model, or more than any has.
        SentencePieceFieldError: a field is unknown, ill-typed, repeated or out of its bounds.
        TokenizerKindError: a model type that does not exist.
    """
    return tuple(_read(root / name) for name in PIECE_FILES if (root / name).exists())


def _read(path: Path) -> PieceModel:
    with open_plain(path) as stream:
        data = stream.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        detail = f"it has more than {MAX_BYTES} bytes"
        raise SentencePieceFileError(where=path.name, index=MAX_BYTES, detail=detail)
    try:
        return _parsed(path.name, data)
    except Refused as error:
        # The reader knows the byte or field, not the file.
        place = f"{path.name}#{error.where}" if error.where != path.name else path.name
        raise type(error)(where=place, **error.facts) from error


def _parsed(name: str, data: bytes) -> PieceModel:
    from trlm_lab.text.sentencepiece.model_file import CONTROL, UNKNOWN, read_model_file

    file = read_model_file(data)
    unknown = [number for number, piece in enumerate(file.pieces) if piece.type == UNKNOWN]
    if len(unknown) != 1:
        detail = f"{len(unknown)} of its {len(file.pieces)} pieces stand for what is unknown"
        raise SentencePieceFileError(where=name, index=0, detail=f"{detail}, a model has one")
    controls = {p.text: n for n, p in enumerate(file.pieces) if p.type == CONTROL}
    roles = [RoleId("unk", f"/pieces/{unknown[0]}", file.pieces[unknown[0]].text, unknown[0])]
    for role in ("bos", "eos", "pad"):
        text = file.special[role]
        if text in controls:
            roles.append(RoleId(role, f"/pieces/{controls[text]}", text, controls[text]))
    roles += _trained(data)
    return PieceModel(name, len(file.pieces), tuple(roles), hashlib.sha256(data).hexdigest())


def _trained(data: bytes) -> Iterator[RoleId]:
    """The ids that the trainer's record gives; a negative one says that there is no such token."""
    from trlm_lab.text.sentencepiece import wire

    ids: Mapping[int, int] = {
        one.number: wire.signed32(one.value)
        for spec in wire.fields(data)
        if spec.number == _TRAINER_SPEC and isinstance(spec.value, bytes)
        for one in wire.fields(spec.value)
        if one.number in _TRAINED and isinstance(one.value, int)
    }
    for number, value in sorted(ids.items()):
        if value >= 0:
            role = _TRAINED[number]
            yield RoleId(role, f"/trainer_spec/{role}_id", value, value)
