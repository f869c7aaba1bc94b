"""Model files that are broken, unknown or contradictory are refused by place."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sentencepiece import sentencepiece_model_pb2 as messages

from tests.text.sentencepiece.made_models import BYTE, CONTROL, NORMAL, UNKNOWN, charsmap, model
from trlm_lab.errors import (
    SentencePieceFieldError,
    SentencePieceFileError,
    TokenIdError,
    TokenizerFieldError,
    TokenizerKindError,
    TokenizerVocabularyError,
    TrlmError,
    Utf8Error,
)
from trlm_lab.text.sentencepiece import read_sentencepiece


def proto(data: bytes | None = None) -> messages.ModelProto:
    found = messages.ModelProto()
    found.ParseFromString(model("BPE") if data is None else data)
    return found


def field(number: int, wire: int, content: bytes) -> bytes:
    return (
        bytes([number << 3 | wire]) + content
        if number < 16
        else varint(number << 3 | wire) + content
    )


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


@pytest.mark.parametrize(
    ("tail", "words"),
    [
        (b"\x0a\x7f", "127 bytes, 0 are left"),
        (b"\x0b", "wire type 3"),
        (b"\x02\x00", "field 0"),
        (b"\x18" + b"\xff" * 10, "more than 64 bits"),
        (b"\x18\xff", "passes the end"),
    ],
)
def test_no_protocol_buffer(tail: bytes, words: str) -> None:
    data = model("BPE")
    with pytest.raises(SentencePieceFileError, match=words) as refused:
        read_sentencepiece(data + tail)
    assert refused.value.facts["index"] >= len(data)


@pytest.mark.parametrize(
    ("tail", "where"),
    [
        (field(200, 2, b"\x00"), "200"),
        (field(2, 2, b"\x00"), "2"),
        (field(2, 0, b"\x00"), "2"),
        (field(1, 2, varint(2) + field(9, 0, b"\x01")), "pieces[28].9"),
        (field(1, 2, varint(3) + field(1, 2, b"\x01\xff")), "pieces[28].1"),
        (field(1, 2, varint(2) + field(1, 0, b"\x01")), "pieces[28].1"),
        (field(1, 2, b"\x00"), "pieces[28]"),
    ],
)
def test_fields(tail: bytes, where: str) -> None:
    with pytest.raises(SentencePieceFieldError) as refused:
        read_sentencepiece(proto().SerializeToString() + tail)
    assert refused.value.where.startswith(where)


def test_fields_of_the_specs() -> None:
    for spec, number in (("trainer_spec", 60), ("normalizer_spec", 7)):
        changed = proto()
        getattr(changed, spec).MergeFromString(varint(number << 3) + b"\x01")
        with pytest.raises(SentencePieceFieldError, match="is not known") as refused:
            read_sentencepiece(changed.SerializeToString())
        assert refused.value.where == f"{spec}.{number}"


def test_values_out_of_bounds() -> None:
    for score, kind in ((float("nan"), NORMAL), (float("inf"), NORMAL), (0.0, 7)):
        piece = (
            b"\x0a\x01q\x15"
            + messages.ModelProto.SentencePiece(score=score).SerializeToString()[1:]
        )
        tail = piece + b"\x18" + bytes([kind])
        with pytest.raises(SentencePieceFieldError):
            read_sentencepiece(proto().SerializeToString() + b"\x0a" + varint(len(tail)) + tail)


def test_kind() -> None:
    data = model("BPE").replace(b"\x12\x02\x18\x02", b"\x12\x02\x18\x09")
    with pytest.raises(TokenizerKindError):
        read_sentencepiece(data)


@pytest.mark.parametrize(
    ("text", "kind"),
    [("abc", NORMAL), ("<unk2>", UNKNOWN), ("<s>", CONTROL), ("<0x00>", BYTE), ("q\0", NORMAL)],
)
def test_pieces_that_contradict(text: str, kind: int) -> None:
    """The source refuses each of them too."""
    changed = proto()
    changed.pieces.add(piece=text, score=0.0, type=kind)
    with pytest.raises(TokenizerVocabularyError):
        read_sentencepiece(changed.SerializeToString())


def test_no_unknown_piece() -> None:
    changed = proto()
    changed.pieces[0].type = CONTROL
    with pytest.raises(TokenizerVocabularyError, match="neither an unknown piece"):
        read_sentencepiece(changed.SerializeToString())


def test_table_of_characters() -> None:
    changed = proto()
    changed.normalizer_spec.precompiled_charsmap = b"\x04\x00\x00"
    with pytest.raises(TokenizerFieldError) as refused:
        read_sentencepiece(changed.SerializeToString())
    assert refused.value.where == "normalizer_spec.precompiled_charsmap"


def test_rule_that_ends_within_a_character() -> None:
    """The key of U+00E9 shortened by a byte: the table goes on within what it has cut."""
    table = bytearray(charsmap({"\u00e9": "e"}))
    changed = proto()
    units = [int.from_bytes(table[at : at + 4], "little") for at in range(4, 4 + 4 * 4096, 4)]
    lead = next(at for at, unit in enumerate(units) if unit & 0x800000FF == 0xC3)
    units[lead] |= 1 << 8
    base = lead ^ (units[lead] >> 10)
    units[base] = 1 << 31
    table[4 : 4 + 4 * 4096] = b"".join(unit.to_bytes(4, "little") for unit in units)
    changed.normalizer_spec.precompiled_charsmap = bytes(table)
    with pytest.raises(TokenizerFieldError, match="within the character"):
        read_sentencepiece(changed.SerializeToString()).encode("\u00e9")


def test_input_and_ids() -> None:
    tokenizer = read_sentencepiece(model("BPE"))
    with pytest.raises(Utf8Error):
        tokenizer.encode_utf8(b"a\xff")
    with pytest.raises(TokenIdError):
        tokenizer.decode([9999])


@given(data=st.binary(max_size=200))
def test_any_bytes(data: bytes) -> None:
    """Nothing but a refusal comes out."""
    try:
        read_sentencepiece(data)
    except TrlmError:
        return
    raise AssertionError("a model without pieces was read")


def test_changed_bytes() -> None:
    """One byte changed anywhere: read as another model, or refused."""
    data = model("UNIGRAM", charsmap=False, byte_fallback=False)
    draw = random.Random(1)
    for _ in range(600):
        changed = bytearray(data)
        changed[draw.randrange(len(data))] = draw.randrange(256)
        try:
            read_sentencepiece(bytes(changed)).encode("abcde")
        except TrlmError:
            continue
