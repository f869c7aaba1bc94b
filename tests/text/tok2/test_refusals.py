"""Every rule of docs/formats/tok2, broken alone: refused with its code, at its place."""

import re
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.text.tok2.blocks import Block, compiled, patched, resealed
from trlm_lab.errors import Tok2Error
from trlm_lab.text.tok2 import read_tok2
from trlm_lab.text.tok2.front_coding import CodingError, coded, decoded
from trlm_lab.text.tok2.numbers import NONE, SECTIONS

BPE, UNIGRAM, WORDS, NODES = "ignore_merges", "unigram_bytes", "word_piece", "pattern"
PAGE = Path(__file__).parents[3] / "docs/formats/tok2.md"

#: Tokenizer, what is done to the bytes, code, place.
FRAME: dict[str, tuple[str, Callable[[bytes], bytes], str, int]] = {
    "no bytes": (BPE, lambda data: b"", "LENGTH", 0),
    "cut in the directory": (BPE, lambda data: data[:351], "LENGTH", 0),
    "another magic": (BPE, patched(0, b"TOK1"), "VERSION", 0),
    "a later major": (BPE, patched(4, b"\2"), "VERSION", 4),
    "a later minor": (BPE, patched(6, b"\1"), "VERSION", 6),
    "a longer header": (BPE, patched(8, b"\xff"), "VERSION", 8),
    "more sections": (BPE, patched(20, b"\x0f"), "VERSION", 20),
    "another directory": (BPE, patched(24, b"\x90"), "VERSION", 24),
    "other blocks": (BPE, patched(48, b"\x20"), "VERSION", 48),
    "another profile": (BPE, patched(52, b"\4"), "VERSION", 52),
    "an unknown flag": (BPE, patched(12, b"\4"), "FLAGS", 12),
    "a trailing byte": (BPE, lambda data: resealed(data + b"\0"), "LENGTH", 16),
    "another length": (BPE, patched(16, b"\0\0"), "LENGTH", 16),
    "a reserved byte": (BPE, patched(127, b"\1"), "RESERVED", 120),
    "no model": (BPE, patched(28, b"\0"), "LIMIT", 28),
    "another model": (BPE, patched(28, b"\5"), "LIMIT", 28),
    "too many tokens": (BPE, patched(32, b"\xff\xff\xff\xff"), "LIMIT", 32),
    "too large ids": (BPE, patched(36, b"\xff\xff\xff\xff"), "LIMIT", 36),
    "fewer ids than tokens": (BPE, patched(36, b"\0\0"), "LIMIT", 36),
    "a Unigram with holes": (UNIGRAM, patched(36, b"\xff\xff"), "LIMIT", 36),
    "merges of a Unigram": (UNIGRAM, patched(40, b"\1"), "LIMIT", 40),
    "too many merges": (BPE, patched(40, b"\xff\xff\xff\xff"), "LIMIT", 40),
    "too many added tokens": (BPE, patched(44, b"\xff\xff\xff\xff"), "LIMIT", 44),
    "sections out of order": (BPE, patched(128, b"\2"), "SECTION", 128),
    "an offset before its place": (BPE, patched(132, b"\0\0"), "SECTION", 132),
    "an offset of nothing": (UNIGRAM, patched(128 + 16 * 10 + 4, b"\1"), "SECTION", 292),
    "a length beyond the end": (BPE, patched(136, b"\xff\xff\xff\x7f"), "SECTION", 136),
    "a reserved number": (BPE, patched(140, b"\1"), "SECTION", 140),
    "a wrong hash": (BPE, lambda data: data[:-1] + b"X", "HASH", 56),
    "a wrong hash of the template": (BPE, patched(88, b"\0" * 32), "HASH", 88),
}

Change = Callable[[Block], None]


def put(section: str, at: int, value: int, code: str = "I") -> Change:
    return lambda block: block.put(section, at, value, code)


def longer(section: str, count: int = 4) -> Change:
    return lambda block: block.sections[section].extend(bytes(count))


def shorter(section: str, count: int = 4) -> Change:
    def change(block: Block) -> None:
        del block.sections[section][-count:]

    return change


def byte(section: str, at: int, value: int) -> Change:
    return put(section, at, value, "B")


def stage(opcode: int, at: int, value: int, code: str = "I") -> Change:
    """A number of the first stage with an opcode; `at` counts from its row."""
    return lambda block: block.put("stages", stage_row(block, opcode) + at, value, code)


def stage_row(block: Block, opcode: int) -> int:
    counts = [block.number("stages", 4 * i) for i in range(4)]
    rows = range(32, 32 + 48 * sum(counts), 48)
    return next(r for r in rows if block.number("stages", r) & 0xFFFF == opcode)


def node(op: int, at: int, value: int, code: str = "I", *, skip: int = 0) -> Change:
    """A number of a node with an op."""
    return lambda block: block.put("patterns", node_row(block, op, skip) + at, value, code)


def node_row(block: Block, op: int, skip: int = 0) -> int:
    rows = range(16, 16 + 16 * block.number("patterns", 4), 16)
    return [r for r in rows if block.number("patterns", r) & 0xFFFF == op][skip]


def table_data(block: Block, kind: int) -> int:
    rows = range(16, 16 + 16 * block.number("tables", 0), 16)
    return next(block.number("tables", r + 4) for r in rows if block.number("tables", r) == kind)


def table(kind: int, at: int, value: int) -> Change:
    """A number of the first table of a kind."""
    return lambda block: block.put("tables", table_data(block, kind) + at, value)


def behind(block: Block, section: str) -> int:
    """Where the members of a pool begin, behind their ends."""
    return 4 + 4 * block.number(section, 0)


def empty_strings(block: Block) -> None:
    block.put("strings", 4, 0)
    block.put("strings", 8, 0)


def nothing_prepended(block: Block) -> None:
    """The text put before others is the one that a normalizer writes in place of others."""
    empty = block.number("stages", stage_row(block, 6) + 16)
    assert block.number("strings", 4 * empty) == block.number("strings", 4 + 4 * empty)
    block.put("stages", stage_row(block, 7) + 12, empty)


def exchanged_pairs(block: Block) -> None:
    rows, last = block.sections["merges"], 16 * block.header.merge_count
    rows[:16], rows[last - 16 : last] = rows[last - 16 : last], rows[:16]


Place = int | Callable[[Block], int]
#: Tokenizer, what is done to it, code, section and place in it (None: anywhere in the block).
SECTION_CASES: dict[str, tuple[str, Change, str, str, Place | None]] = {
    "added tokens of another number": (BPE, longer("added", 16), "SECTION", "", 128 + 16 * 5 + 8),
    "a longer model": (BPE, longer("model"), "SECTION", "", 128 + 16 * 6 + 8),
    "a shorter order": (BPE, shorter("order"), "SECTION", "", 128 + 16 * 8 + 8),
    "a longer index": (BPE, longer("index"), "SECTION", "", 128 + 16 * 9 + 8),
    "a longer table of merges": (BPE, longer("merges"), "SECTION", "", 128 + 16 * 10 + 8),
    "scores of a BPE": (BPE, longer("scores", 8), "SECTION", "", 128 + 16 * 11 + 8),
    "a missing score": (UNIGRAM, shorter("scores", 8), "SECTION", "", 128 + 16 * 11 + 8),
    "no strings": (BPE, lambda block: block.sections["strings"].clear(), "STRINGS", "", 0),
    "too many strings": (BPE, put("strings", 0, NONE), "STRINGS", "strings", 0),
    "strings backwards": (BPE, put("strings", 4, 1 << 20), "STRINGS", "strings", 8),
    "a longer pool of strings": (BPE, longer("strings", 1), "STRINGS", "strings",
                                 lambda b: behind(b, "strings") - 4),
    "a string of no UTF-8": (BPE, lambda b: b.put("strings", behind(b, "strings"), 0xFF, "B"),
                             "STRINGS", "strings", lambda b: behind(b, "strings")),
    "a string twice": (BPE, empty_strings, "STRINGS", "strings", 8),
    "too many sets": (BPE, put("sets", 0, NONE), "SETS", "sets", 0),
    "sets backwards": (BPE, put("sets", 4, 1 << 20), "SETS", "sets", 8),
    "a longer pool of sets": (BPE, longer("sets"), "SETS", "sets", lambda b: behind(b, "sets") - 4),
    "ranges that touch": (BPE, lambda b: b.put("sets", behind(b, "sets") + 8,
                                               b.number("sets", behind(b, "sets") + 4) + 1),
                          "SETS", "sets", lambda b: behind(b, "sets") + 8),
    "a range the wrong way round": (BPE, lambda b: b.put("sets", behind(b, "sets"), 0x10FFFF),
                                    "SETS", "sets", lambda b: behind(b, "sets") + 4),
    "a range beyond Unicode": (BPE, lambda b: b.put("sets", behind(b, "sets") + 4, 0x110000),
                               "SETS", "sets", lambda b: behind(b, "sets") + 4),
    "too many tables": (BPE, put("tables", 0, NONE), "TABLES", "tables", 0),
    "a reserved byte of tables": (BPE, byte("tables", 15, 1), "TABLES", "tables", 15),
    "an unknown table": (BPE, put("tables", 16, 6), "TABLES", "tables", 16),
    "a table elsewhere": (BPE, put("tables", 20, 0), "TABLES", "tables", 20),
    "a table of odd length": (BPE, put("tables", 24, 13), "TABLES", "tables", 24),
    "a table beyond the end": (BPE, put("tables", 24, 1 << 30), "TABLES", "tables", 24),
    "a reserved number of a table": (BPE, put("tables", 28, 1), "TABLES", "tables", 28),
    "a longer pool of tables": (BPE, longer("tables"), "TABLES", "tables", 0),
    "keys of a map backwards": (BPE, table(1, 8, 0x10FFFF), "TABLES", "tables",
                                lambda b: table_data(b, 1) + 12),
    "a surrogate in a map": (BPE, table(1, 8, 0xD800), "TABLES", "tables",
                             lambda b: table_data(b, 1) + 8),
    "a map of another length": (BPE, table(1, 4, 0), "TABLES", "tables",
                                lambda b: table_data(b, 1)),
    "a class of nothing": (BPE, table(2, 0, 0x300 << 8), "TABLES", "tables",
                           lambda b: table_data(b, 2)),
    "classes backwards": (BPE, table(2, 0, 0x10FFFF << 8 | 1), "TABLES", "tables",
                          lambda b: table_data(b, 2) + 4),
    "compositions backwards": (BPE, table(3, 0, 0x10FFFF), "TABLES", "tables",
                               lambda b: table_data(b, 3) + 12),
    "a composition of no scalar": (BPE, table(3, 8, 0x110000), "TABLES", "tables",
                                   lambda b: table_data(b, 3) + 8),
    "runs backwards": (UNIGRAM, table(4, 0, 0x10FFFF), "TABLES", "tables",
                       lambda b: table_data(b, 4) + 8),
    "a group beyond its limit": (UNIGRAM, table(4, 4, 1 << 17), "TABLES", "tables",
                                 lambda b: table_data(b, 4) + 4),
    "a charsmap without units": (UNIGRAM, table(5, 0, 0), "TABLES", "tables",
                                 lambda b: table_data(b, 5)),
    "too many nodes": (BPE, put("patterns", 4, 65_537), "PATTERNS", "patterns", 4),
    "a reserved byte of patterns": (BPE, byte("patterns", 8, 1), "PATTERNS", "patterns", 8),
    "a longer pool of patterns": (BPE, longer("patterns"), "PATTERNS", "patterns", 0),
    "an unknown op": (NODES, node(3, 0, 9, "H"), "PATTERNS", "patterns", lambda b: node_row(b, 9)),
    "a flag of a literal": (NODES, node(2, 2, 1, "H"), "PATTERNS", "patterns", None),
    "a manner that is none": (NODES, node(6, 2, 3, "H"), "PATTERNS", "patterns", None),
    "a node of no size": (NODES, node(2, 12, 0), "PATTERNS", "patterns", None),
    "a node beyond its parent": (NODES, node(2, 12, 99), "PATTERNS", "patterns", None),
    "a literal that is none": (NODES, node(2, 4, NONE), "PATTERNS", "patterns", None),
    "a set that is none": (NODES, node(3, 4, NONE), "PATTERNS", "patterns", None),
    "an unused number of a row": (NODES, node(4, 4, 1), "PATTERNS", "patterns", None),
    "too many repetitions": (NODES, node(6, 4, 65_536), "PATTERNS", "patterns", None),
    "bounds the wrong way round": (NODES, node(6, 8, 0), "PATTERNS", "patterns", None),
    "a row in a row": (NODES, node(5, 0, 4, "H", skip=1), "PATTERNS", "patterns", None),
    "a choice of one": (NODES, node(8, 0, 5, "H"), "PATTERNS", "patterns", None),
    "the start of a pattern": (BPE, lambda b: b.put("patterns", len(b.sections["patterns"]) - 8, 0),
                               "PATTERNS", "patterns", lambda b: len(b.sections["patterns"]) - 8),
    "too many stages": (BPE, put("stages", 0, 257), "STAGES", "stages", 0),
    "too many pieces": (BPE, put("stages", 16, 65_537), "STAGES", "stages", 16),
    "a reserved byte of stages": (BPE, byte("stages", 20, 1), "STAGES", "stages", 20),
    "longer stages": (BPE, longer("stages"), "STAGES", "stages", 0),
    "an unknown opcode": (BPE, put("stages", 32, 99, "H"), "STAGES", "stages", 32),
    "a decoder among normalizers": (BPE, put("stages", 32, 56, "H"), "STAGES", "stages", 32),
    "a flag of no stage": (BPE, put("stages", 34, 1 << 7, "H"), "STAGES", "stages", 34),
    "a pointer that is none": (BPE, put("stages", 36, NONE), "STAGES", "stages", 36),
    "a form that is none": (BPE, stage(1, 12, 4), "STAGES", "stages",
                            lambda b: stage_row(b, 1) + 12),
    "a form without its tables": (BPE, stage(1, 16, NONE), "STAGES", "stages",
                                  lambda b: stage_row(b, 1) + 16),
    "a form with a table of another kind": (BPE, stage(1, 24, 0), "STAGES", "stages", None),
    "a behaviour that is none": (BPE, stage(17, 16, 5), "STAGES", "stages",
                                 lambda b: stage_row(b, 17) + 16),
    "an operand that is not used": (BPE, stage(17, 20, 1), "STAGES", "stages",
                                    lambda b: stage_row(b, 17) + 20),
    "nothing put before a text": (UNIGRAM, nothing_prepended, "STAGES", "stages",
                                  lambda b: stage_row(b, 7) + 12),
    "a surrogate for a space": (UNIGRAM, stage(20, 12, 0xD800), "STAGES", "stages",
                                lambda b: stage_row(b, 20) + 12),
    "pieces of no template": (UNIGRAM, stage(34, 12, 1), "STAGES", "stages",
                              lambda b: stage_row(b, 34) + 12),
    "more pieces than there are": (UNIGRAM, stage(34, 16, 99), "STAGES", "stages",
                                   lambda b: stage_row(b, 34) + 16),
    "pieces that nobody takes": (UNIGRAM, stage(34, 16, 0), "STAGES", "stages", None),
    "an id of a piece": (UNIGRAM, lambda b: b.put("stages", len(b.sections["stages"]) - 8, 1 << 31),
                         "STAGES", "stages", lambda b: len(b.sections["stages"]) - 8),
    "another count of added tokens": (BPE, put("added", 0, 3), "ADDED", "added", 0),
    "words that nobody asks for": (BPE, put("added", 4, NONE), "ADDED", "added", 4),
    "white space that is no set": (BPE, put("added", 8, 1 << 20), "ADDED", "added", 8),
    "a reserved byte of added tokens": (BPE, byte("added", 12, 1), "ADDED", "added", 12),
    "an id of an added token": (BPE, put("added", 16, 1 << 31), "ADDED", "added", 16),
    "a flag of an added token": (BPE, put("added", 20, 32), "ADDED", "added", 20),
    "a content twice": (BPE, lambda b: b.put("added", 40, b.number("added", 24)), "ADDED", "added",
                        40),
    "a reserved number of an added token": (BPE, put("added", 28, 1), "ADDED", "added", 28),
    "a model of another kind": (BPE, put("model", 0, 4), "MODEL", "model", 0),
    "a flag of the model": (WORDS, put("model", 4, 1), "MODEL", "model", 4),
    "no unknown token": (WORDS, put("model", 8, NONE), "MODEL", "model", 8),
    "an unknown token of a Unigram": (UNIGRAM, put("model", 8, 0), "MODEL", "model", 8),
    "a prefix of a Unigram": (UNIGRAM, put("model", 12, 0), "MODEL", "model", 12),
    "a suffix of a WordPiece": (WORDS, put("model", 16, 0), "MODEL", "model", 16),
    "no hidden set": (BPE, put("model", 20, NONE), "MODEL", "model", 20),
    "an unknown id of a BPE": (BPE, put("model", 24, 0), "MODEL", "model", 24),
    "an unknown id that is none": (UNIGRAM, put("model", 24, 1 << 20), "MODEL", "model", 24),
    "a length of words of a BPE": (BPE, put("model", 28, 1), "MODEL", "model", 28),
    "a penalty of a BPE": (BPE, put("model", 32, 1), "MODEL", "model", 32),
    "another penalty": (UNIGRAM, put("model", 32, 1), "MODEL", "model", 32),
    "a reserved byte of the model": (BPE, byte("model", 47, 1), "MODEL", "model", 40),
    "no blocks": (BPE, lambda b: b.sections["tokens"].clear(), "TOKENS", "", 0),
    "a longer last block": (BPE, longer("tokens", 1), "TOKENS", "tokens", None),
    "a block elsewhere": (BPE, put("tokens", 4, 1), "TOKENS", "tokens", None),
    "a score of no number": (UNIGRAM, lambda b: b.sections["scores"].__setitem__(
        slice(8, 16), struct.pack("<d", float("nan"))), "SCORES", "scores", 8),
    "an infinite score": (UNIGRAM, lambda b: b.sections["scores"].__setitem__(
        slice(0, 8), struct.pack("<d", float("-inf"))), "SCORES", "scores", 0),
    "an id beyond the limit": (BPE, put("order", 0, 1 << 20), "ORDER", "order", 0),
    "an id twice": (BPE, lambda b: b.put("order", 4, b.number("order", 0)), "ORDER", "order", None),
    "another position": (BPE, lambda b: b.put("order", 4 * b.header.token_count, NONE), "ORDER",
                         "order", lambda b: 4 * b.header.token_count),
    "a start of the index": (BPE, put("index", 4, 99), "INDEX", "index", 4),
    "a tag": (BPE, lambda b: b.put("index", len(b.sections["index"]) - 1,
                                   b.sections["index"][-1] ^ 1, "B"),
              "INDEX", "index", lambda b: len(b.sections["index"]) - 1),
    "a left id of no token": (BPE, put("merges", 0, 1 << 20), "MERGES", "merges", 0),
    "a right id of no token": (BPE, put("merges", 4, NONE), "MERGES", "merges", 4),
    "a rank beyond the merges": (BPE, put("merges", 8, 1 << 20), "MERGES", "merges", 8),
    "a made id of no token": (BPE, put("merges", 12, 1 << 20), "MERGES", "merges", 12),
    "pairs in other buckets": (BPE, exchanged_pairs, "MERGES", "merges", None),
    "a start of the merges": (BPE, lambda b: b.put("merges", 16 * b.header.merge_count, 1),
                              "MERGES", "merges", lambda b: 16 * b.header.merge_count),
    "no roles": (BPE, lambda b: b.sections["roles"].clear(), "ROLES", "", 0),
    "more roles": (BPE, longer("roles"), "ROLES", "roles", 0),
    "an unknown role": (BPE, put("roles", 4, 8), "ROLES", "roles", 4),
    "roles backwards": (BPE, put("roles", 12, 1), "ROLES", "roles", 12),
    "a role of no token": (BPE, put("roles", 8, 1 << 20), "ROLES", "roles", 8),
    "a reference that jumps ahead": (BPE, put("added", 24, 7), "POOLS", "added", 24),
}  # fmt: skip


def refusal(data: bytes) -> Tok2Error:
    with pytest.raises(Tok2Error) as refused:
        read_tok2(data)
    return refused.value


@pytest.mark.parametrize("case", FRAME)
def test_frame(case: str) -> None:
    name, change, code, place = FRAME[case]
    found = refusal(change(compiled(name)))
    assert (found.code, found.where) == (f"TOK2_{code}", f"byte {place}")


@pytest.mark.parametrize("case", SECTION_CASES)
def test_section(case: str) -> None:
    name, change, code, section, place = SECTION_CASES[case]
    block = Block(compiled(name))
    change(block)
    found = refusal(block.sealed())
    assert found.code == f"TOK2_{code}"
    at = place(block) if callable(place) else place
    if section and at is not None:
        assert found.where == f"byte {block.offset(section) + at}"
    elif at:
        assert found.where == f"byte {at}"


def test_a_small_file_that_stands_for_much() -> None:
    """Tokens that share 65,000 bytes with the one before: the sum is bounded before it is held."""
    count = 2000
    rows = [b"a" * 65_000 + struct.pack(">H", 0x2121 + index) for index in range(count)]
    starts, data = coded(sorted(rows))
    assert len(data) < 10_000_000
    with pytest.raises(CodingError) as refused:
        decoded(count, starts.tolist(), data)
    assert refused.value.field == "the tokens so far"
    assert (1 << 26) < refused.value.got <= (1 << 26) + 65_002


def test_a_byte_between_sections() -> None:
    block = Block(compiled(BPE))
    end = block.offset("strings") + len(block.sections["strings"])
    assert end % 16
    found = refusal(patched(end, b"\1")(block.sealed()))
    assert (found.code, found.where) == ("TOK2_RESERVED", f"byte {end}")


def test_a_member_that_is_not_used() -> None:
    block = Block(compiled(BPE))
    strings = block.sections["strings"]
    count = block.number("strings", 0)
    last = block.number("strings", 4 * count)
    block.put("strings", 0, count + 1)
    strings[4 + 4 * count : 4 + 4 * count] = struct.pack("<I", last + 6)
    strings += b"unused"
    found = refusal(block.sealed())
    assert (found.code, found.where) == ("TOK2_POOLS", f"byte {block.offset('strings')}")


def test_a_reference_of_a_set() -> None:
    """The sets of the first two stages that have one, exchanged."""
    block = Block(compiled(BPE))
    first = block.number("model", 20)
    assert first == 0
    block.put("model", 20, 1)
    found = refusal(block.sealed())
    assert (found.code, found.where) == ("TOK2_POOLS", f"byte {block.offset('model') + 20}")


#: Sections whose length follows from the header or from their own first number.
OF_KNOWN_LENGTH = {"added", "model", "order", "index", "merges", "scores"}


@pytest.mark.parametrize("section", SECTIONS[:-1])
def test_cut_sections(section: str) -> None:
    """A section cut anywhere is refused by its length where that is known, else by its own code."""
    name = UNIGRAM if section == "scores" else BPE
    code = "TOK2_SECTION" if section in OF_KNOWN_LENGTH else f"TOK2_{section.upper()}"
    length = len(Block(compiled(name)).sections[section])
    assert length > 0
    for count in {*range(min(length, 32)), *range(0, length, length // 32 + 1)}:
        block = Block(compiled(name))
        del block.sections[section][count:]
        assert refusal(block.sealed()).code == code, count


def test_every_code_has_a_case() -> None:
    """The page, the errors and the cases name the same codes."""
    codes = {row[2] for row in FRAME.values()} | {row[2] for row in SECTION_CASES.values()}
    page = set(re.findall(r"`TOK2_([A-Z]+)`", PAGE.read_text()))
    classes = {one.code.removeprefix("TOK2_") for one in Tok2Error.__subclasses__()}
    assert codes == page - {"COMPILE"} == classes
