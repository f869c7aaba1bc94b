"""A SentencePiece model beside the documents is read, counted, and asked for its roles."""

import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sentencepiece import sentencepiece_model_pb2 as messages

from tests.text.sentencepiece.made_models import CONTROL, NORMAL, UNKNOWN
from trlm_lab import errors
from trlm_lab.describe import check_model_directory, detect_conflicts, require_consistent
from trlm_lab.describe.piece_model import MAX_BYTES, PIECE_FILES, read_piece_models

Tree = Callable[..., Path]

#: The roles of CONFIG: 2 begins, 3 ends, of 8 tokens.
PIECES = (("[UNK]", UNKNOWN), ("word", NORMAL), ("<s>", CONTROL), ("</s>", CONTROL))


def model(pieces: Any = PIECES, **trainer: Any) -> bytes:
    proto = messages.ModelProto()
    for text, kind in pieces:
        proto.pieces.add(piece=text, score=0.0, type=kind)
    proto.trainer_spec.model_type = messages.TrainerSpec.BPE
    for name, value in trainer.items():
        setattr(proto.trainer_spec, name, value)
    data: bytes = proto.SerializeToString()
    return data


def codes(root: Path) -> list[str]:
    return [f["code"] for f in check_model_directory(root) if f["level"] == "error"]


def declared(root: Path, field: str) -> dict[str, Any]:
    rows = {e.field: e for e in detect_conflicts(root).evidence}
    return {d.place: d.value for d in rows[field].publisher if d.file in PIECE_FILES}


@pytest.mark.parametrize("name", PIECE_FILES)
@pytest.mark.parametrize("bare", [False, True])
def test_a_model_that_says_the_same_is_evidence(tree: Tree, name: str, bare: bool) -> None:
    root = tree(bare=bare)
    (root / name).write_bytes(model(bos_id=2, eos_id=3, unk_id=0, pad_id=-1))
    assert codes(root) == []
    assert declared(root, "vocab_size") == {f"{name}#/pieces": 4}
    assert declared(root, "eos_token_id") == {
        f"{name}#/pieces/3": "</s>", f"{name}#/trainer_spec/eos_id": 3,
    }  # fmt: skip
    assert declared(root, "unk_token_id")[f"{name}#/pieces/0"] == "[UNK]"
    assert declared(root, "pad_token_id") == {}
    assert require_consistent(root, None).stops == ()


NO_MODEL: dict[str, tuple[bytes, str]] = {
    "random bytes": (random.Random(5).randbytes(4000), "SENTENCEPIECE_FI"),
    "nothing": (b"", "SENTENCEPIECE_FILE"),
    "a text": (b"base64 1\n", "SENTENCEPIECE_FI"),
    "no pieces": (model(()), "SENTENCEPIECE_FILE"),
    "a cut model": (model()[:-3], "SENTENCEPIECE_FILE"),
    "a model and more": (model() + b"\x00", "SENTENCEPIECE_FILE"),
    "no unknown piece": (model(PIECES[1:]), "SENTENCEPIECE_FILE"),
    "two unknown pieces": (model((*PIECES, PIECES[0])), "SENTENCEPIECE_FILE"),
    "an unknown field": (model() + b"\x9a\x01\x01a", "SENTENCEPIECE_FIELD"),
    "a model type that is none": (model() + b"\x12\x02\x18\x09", "SENTENCEPIECE_FIELD"),
}


@pytest.mark.parametrize("name", NO_MODEL)
def test_what_is_no_model_is_refused(tree: Tree, name: str) -> None:
    root = tree(bare=True)
    data, code = NO_MODEL[name]
    (root / "tokenizer.model").write_bytes(data)
    (finding,) = check_model_directory(root)
    assert finding["code"].startswith(code)
    assert finding["where"].startswith("tokenizer.model")
    with pytest.raises(errors.Refused):
        require_consistent(root, None)


def test_a_model_type_that_does_not_exist(tree: Tree) -> None:
    data = model().replace(b"\x12\x02\x18\x02", b"\x12\x02\x18\x09")
    (tree(bare=True) / "tokenizer.model").write_bytes(data)
    assert codes(tree(bare=True)) == ["TOKENIZER_KIND"]


def test_more_bytes_than_any_model_has(tree: Tree) -> None:
    root = tree(bare=True)
    (root / "tokenizer.model").touch()
    os.truncate(root / "tokenizer.model", MAX_BYTES + 1)
    with pytest.raises(errors.SentencePieceFileError, match="more than"):
        read_piece_models(root)


@pytest.mark.parametrize("bare", [False, True])
def test_more_pieces_than_the_embedding_has_rows(tree: Tree, bare: bool) -> None:
    root = tree(bare=bare)
    more = [(f"p{n}", NORMAL) for n in range(5)]
    (root / "tokenizer.model").write_bytes(model((*PIECES, *more)))
    found = [f for f in check_model_directory(root) if f["level"] == "error"]
    assert [f["code"] for f in found] == ["VOCAB_CONFLICT"]
    assert "tokenizer.model#/pieces says 9" in found[0]["detail"]
    (root / "tokenizer.model").write_bytes(model((*PIECES, *more[:4])))
    assert codes(root) == []


ROLES: dict[str, tuple[bytes, list[str]]] = {
    "another end": (model(eos_id=1), ["EOS_CONFLICT"]),
    "another beginning": (model(bos_id=1), ["BOS_CONFLICT"]),
    "the end at another place": (
        model((PIECES[0], PIECES[3], PIECES[2], PIECES[1])), ["EOS_CONFLICT"]
    ),
    "another name for the end": (model(eos_piece="word"), []),
    "a beginning beyond the vocabulary": (model(bos_id=900), ["BOS_CONFLICT", "BOS_RANGE"]),
    "two places for padding": (
        model((*PIECES, ("<pad>", CONTROL)), pad_id=5), ["PAD_CONFLICT"]
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ROLES)
def test_the_roles_of_a_model_count_as_declarations(tree: Tree, name: str) -> None:
    root = tree(bare=True)
    data, wanted = ROLES[name]
    (root / "tokenizer.model").write_bytes(data)
    assert sorted(codes(root)) == wanted
