"""Profile 3: tokenizers of SentencePiece models, compiled and read without anything of the file."""

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.text.sentencepiece.made_models import NORMAL, UNUSED, charsmap, model
from tests.text.sentencepiece.test_product import KINDS, PARTS, SWITCHES
from tests.text.tok2.blocks import Block
from tests.text.tok2.test_mutations import CHANGES, require_sound
from trlm_lab.errors import Tok2CompileError, Tok2Error
from trlm_lab.text import tables
from trlm_lab.text.charsmap import Charsmap
from trlm_lab.text.clusters import cluster_sets
from trlm_lab.text.decoded import MODES
from trlm_lab.text.sentencepiece import SentencePieceTokenizer, read_sentencepiece
from trlm_lab.text.sentencepiece.model_file import Piece
from trlm_lab.text.sentencepiece.profile import sentencepiece_profile
from trlm_lab.text.sentencepiece.whole_keys import has_whole_keys
from trlm_lab.text.text_sets import text_sets
from trlm_lab.text.tok2 import read_tok2, write_tok2

#: The models of the tests, by kind and switches.
NAMES = [f"{kind} {switches}" for kind in KINDS for switches in SWITCHES]
RICH = ("UNIGRAM bytes, charsmap", "BPE bytes, charsmap", "BPE surface", "CHAR charsmap, defined")
BLOCKS: dict[str, bytes] = {}


def reference(name: str) -> SentencePieceTokenizer:
    kind, _, switches = name.partition(" ")
    return read_sentencepiece(model(kind, **SWITCHES[switches]))


def compiled(name: str) -> bytes:
    if name not in BLOCKS:
        BLOCKS[name] = write_tok2(reference(name))
    return BLOCKS[name]


def texts(seed: str, count: int) -> list[str]:
    draw = random.Random(seed)
    return ["", *("".join(draw.choices(PARTS, k=draw.randrange(1, 20))) for _ in range(count))]


def ids_of(seed: str, size: int) -> list[int]:
    draw = random.Random(seed)
    return draw.choices(range(size), k=draw.randrange(12))


@pytest.mark.parametrize("name", NAMES)
def test_comes_back(name: str) -> None:
    plain, block = reference(name), compiled(name)
    found = read_tok2(block).tokenizer
    assert isinstance(found, SentencePieceTokenizer)
    assert write_tok2(found) == block
    assert sentencepiece_profile(found) == sentencepiece_profile(plain)
    for text in texts(name, 30):
        assert found.encode(text, trace=True) == plain.encode(text, trace=True), ascii(text)
        ids = ids_of(f"{name}{text!r}", len(plain.file.pieces))
        for mode in MODES:
            assert found.decode(ids, mode) == plain.decode(ids, mode)


def test_no_table_of_the_library_takes_part(monkeypatch: pytest.MonkeyPatch) -> None:
    block = compiled(RICH[0])
    wanted = reference(RICH[0]).encode("a\u3000\ufb01 z")
    with monkeypatch.context() as patch:
        patch.setattr(tables, "PACKED", {})
        for cached in (tables.table, tables.scalar_set, tables.category, cluster_sets, text_sets):
            cached.cache_clear()
        found = read_tok2(block).tokenizer
        assert found.encode("a\u3000\ufb01 z") == wanted
        assert found.decode([1, 2], "diagnostic").text == "<s></s>"


def test_two_pieces_of_one_text() -> None:
    """The source keeps them apart where one is a control symbol; a block has each text once."""
    plain = reference("UNIGRAM plain")
    twice = replace(plain.file, pieces=(*plain.file.pieces, Piece("<s>", -1.0, 1)))
    with pytest.raises(Tok2CompileError, match="one piece of each text"):
        write_tok2(replace(plain, file=twice))


def split_key() -> Charsmap:
    """The key of U+00E9 cut short by a byte."""
    table = Charsmap.of(charsmap({"\u00e9": "e"}))
    units = list(table.units)
    lead = next(at for at, unit in enumerate(units) if unit & 0x800000FF == 0xC3)
    units[lead] |= 1 << 8
    units[lead ^ units[lead] >> 10] = 1 << 31
    return replace(table, units=tuple(units))


def test_keys_within_a_character() -> None:
    table = Charsmap.of(charsmap({"\u00e9": "e", "\U0001f642a": "", "\u4e16": "x", "a": "b"}))
    assert has_whole_keys(table.units)
    assert not has_whole_keys(split_key().units)


#: Model, section, byte (from the end if negative), value, where the fault is, code.
CASES: dict[str, tuple[str, str, int, int, str]] = {
    "two normalizers": ("BPE plain", "stages", 0, 2, "STAGES"),
    "a pre-tokenizer": ("BPE plain", "stages", 4, 1, "STAGES"),
    "no decoder": ("BPE plain", "stages", 12, 0, "STAGES"),
    "pieces of templates": ("BPE plain", "stages", 16, 1, "STAGES"),
    "another normalizer": ("BPE plain", "stages", 32, 8, "STAGES"),
    "the decoder first": ("BPE plain", "stages", 32, 60, "STAGES"),
    "another pointer": ("BPE plain", "stages", 36, 1, "STAGES"),
    "another kind": ("BPE plain", "stages", 40, 0, "STAGES"),
    "a table that is none": ("BPE plain", "stages", 44, 7, "STAGES"),
    "an operand without meaning": ("BPE plain", "stages", 48, 1, "STAGES"),
    "flags of no denormalizer": ("BPE plain", "stages", 80, 60 | 1 << 16, "STAGES"),
    "an unknown flag": ("BPE plain", "stages", 32, 11 | 16 << 16, "STAGES"),
    "no unknown piece": ("BPE plain", "model", 24, 0xFFFFFFFF, "MODEL"),
    "an unknown piece beyond": ("BPE plain", "model", 24, 0xFFFF, "MODEL"),
    "another unknown piece": ("BPE plain", "model", 24, 1, "SCORES"),
    "bytes that are not there": ("BPE plain", "model", 4, 1, "MODEL"),
    "no byte fallback": ("BPE bytes", "model", 4, 0, "SCORES"),
    "an unknown flag of the model": ("BPE bytes", "model", 4, 3, "MODEL"),
    "a penalty of merges": ("BPE plain", "model", 36, 0x40240000, "MODEL"),
    "no penalty": ("UNIGRAM plain", "model", 36, 0, "MODEL"),
    "an unknown text": ("CHAR plain", "model", 8, 0, "MODEL"),
    "no number": ("UNIGRAM plain", "scores", 8, 0x7F800000, "SCORES"),
    "a kind too low": ("WORD plain", "scores", -1, 0, "SCORES"),
    "a kind too high": ("WORD plain", "scores", -1, 7, "SCORES"),
    "a byte that is none": ("WORD plain", "scores", -1, 6, "SCORES"),
    "a second unknown piece": ("WORD plain", "scores", -1, 2, "SCORES"),
    "an added token": ("BPE plain", "added", 0, 1, "ADDED"),
    "a set of words": ("BPE plain", "added", 4, 0, "ADDED"),
}


def broken(case: str) -> bytes:
    """The block of a case."""
    name, section, at, value, _ = CASES[case]
    block = Block(compiled(name))
    if at < 0:
        block.sections[section][at] = value
    else:
        block.put(section, at, value)
    return block.sealed()


@pytest.mark.parametrize("case", CASES)
def test_refusals(case: str) -> None:
    with pytest.raises(Tok2Error) as refused:
        read_tok2(broken(case))
    assert refused.value.code == f"TOK2_{CASES[case][-1]}"


def test_a_byte_that_is_missing() -> None:
    """Every piece but one of a byte, whose place another text has."""
    plain = reference("BPE bytes")
    pieces = [
        one._replace(text="<0x1>") if one.text == "<0x01>" else one for one in plain.file.pieces
    ]
    block = write_tok2(replace(plain, file=replace(plain.file, pieces=tuple(pieces))))
    with pytest.raises(Tok2Error) as refused:
        read_tok2(block)
    offset = Block(block).offset("model")
    assert (refused.value.code, refused.value.where) == ("TOK2_MODEL", f"byte {offset}")


#: Pieces that no model file can have.
ODD = [("", NORMAL), ("x" * 8000, NORMAL), ("\0", NORMAL), ("q\0", UNUSED)]


def with_piece(text: str, kind: int) -> bytes:
    """A block with one piece more."""
    plain = reference("BPE plain")
    pieces = (*plain.file.pieces, Piece(text, -1.0, kind))
    return write_tok2(replace(plain, file=replace(plain.file, pieces=pieces)))


@pytest.mark.parametrize(("text", "kind"), ODD, ids=["empty", "long", "null", "null inside"])
def test_pieces_that_no_file_has(text: str, kind: int) -> None:
    block = with_piece(text, kind)
    with pytest.raises(Tok2Error) as refused:
        read_tok2(block)
    row = Block(block)
    kind = row.offset("scores") + len(row.sections["scores"]) - 1
    assert (refused.value.code, refused.value.where) == ("TOK2_SCORES", f"byte {kind}")


def with_split_key() -> bytes:
    """A block in whose table a key ends behind the first byte of a character."""
    block = Block(compiled("BPE charsmap"))
    units = np.frombuffer(block.sections["tables"], "<u4").copy()
    units[10 + np.flatnonzero(units[10:] & 0x800000FF == 0xC3)] |= 1 << 8
    block.sections["tables"] = bytearray(units.tobytes())
    return block.sealed()


def test_a_key_within_a_character_is_refused() -> None:
    """In a block as in a file that is to be compiled."""
    table = split_key()
    plain = reference("BPE charsmap")
    data = np.array([4 * len(table.units), *table.units], "<u4").tobytes() + table.texts
    spec = replace(plain.file.normalizer, charsmap=data)
    with pytest.raises(Tok2CompileError, match="within a character"):
        write_tok2(replace(plain, file=replace(plain.file, normalizer=spec)))
    with pytest.raises(Tok2Error) as refused:
        read_tok2(with_split_key())
    assert refused.value.code == "TOK2_STAGES"
    assert refused.value.where == f"byte {Block(with_split_key()).offset('stages') + 44}"


def test_profiles_do_not_mix() -> None:
    for profile in (1, 2):
        block = Block(compiled("BPE plain"))
        block.set(profile=profile)
        with pytest.raises(Tok2Error) as refused:
            read_tok2(block.sealed())
        assert (refused.value.code, refused.value.where) == ("TOK2_LIMIT", "byte 28")


numbers = st.tuples(
    st.sampled_from(["scores", "stages", "model", "added", "strings", "sets", "tables", "tokens"]),
    st.integers(0, 1 << 16), st.sampled_from(CHANGES), st.integers(0, 0xFFFFFFFF),
)  # fmt: skip


def changed(name: str, changes: list[tuple[str, int, Any, int]]) -> bytes:
    """A block with other numbers."""
    block = Block(compiled(name))
    for section, place, change, new in changes:
        if count := len(block.sections[section]) // 4:
            at = place % count * 4
            block.put(section, at, change(block.number(section, at), new) & 0xFFFFFFFF)
    return block.sealed()


@settings(max_examples=150, deadline=None)
@given(name=st.sampled_from(RICH), changes=st.lists(numbers, min_size=1, max_size=2))
def test_changed_numbers(name: str, changes: list[tuple[str, int, Any, int]]) -> None:
    require_sound(changed(name, changes))
