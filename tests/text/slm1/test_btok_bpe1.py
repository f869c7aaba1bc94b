"""BTOK and BPE1: sizes, ids, refusals by place, and the same ids through stages and TOK2."""

import random
import struct
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.text.slm1.made import WORDS, small
from trlm_lab.errors import Bpe1Error, BtokError, TokenIdError
from trlm_lab.text.slm1 import (
    Bpe1,
    Btok,
    Specials,
    bpe1_tokenizer,
    btok_tokenizer,
    read_bpe1,
    read_btok,
    write_bpe1,
    write_btok,
)
from trlm_lab.text.tok2 import read_tok2, write_tok2

TEXTS = st.text(max_size=30) | st.lists(st.sampled_from(["he", "ll", "o w", "\xe9", "qz"])).map(
    "".join
)


def plain(source: Bpe1, data: bytes) -> list[int]:
    """The definition: the lowest rank anywhere, leftmost, until nothing merges."""
    single = {t[0]: n for n, t in source.tokens.items() if len(t) == 1}
    ids = [single.get(byte, source.specials.unk) for byte in data]
    while found := [
        (source.merges[pair][0], at) for at, pair in enumerate(pairwise(ids))
        if pair in source.merges
    ]:  # fmt: skip
        _, at = min(found)
        ids = [*ids[:at], source.merges[ids[at], ids[at + 1]][1], *ids[at + 2 :]]
    return [source.specials.bos, *ids, source.specials.eos]


def test_known_sizes() -> None:
    """28 bytes; a header of 36, 8 and its bytes for a token, 16 for a merge."""
    assert len(write_btok(Btok())) == 28
    source = small()
    records = sum(8 + len(token) for token in source.tokens.values())
    assert len(write_bpe1(source)) == 36 + records + 16 * len(source.merges)
    assert write_btok(Btok()).hex() == ("42544f4b010000000401000000010000010100000201000003010000")


def test_come_back() -> None:
    assert read_btok(write_btok(Btok(Specials(259, 256, 258, 257)))).specials.bos == 259
    assert read_bpe1(write_bpe1(small())) == small()


def test_btok_ids() -> None:
    btok = Btok()
    assert btok.encode(b"a\x00\xff") == [256, 97, 0, 255, 257]
    assert btok.decode([256, 97, 258, 0, 255, 259, 257]) == b"a\x00\xff"
    with pytest.raises(TokenIdError):
        btok.decode([260])


def test_bpe1_equals_the_definition() -> None:
    draw = random.Random(8)
    for source in (small(), small(missing=b"q\x00")):
        for _ in range(300):
            data = b"".join(draw.choices([*WORDS, b"q", b"\x00", b"l", b"a", b"x"], k=9))
            ids = source.encode(data)
            assert ids == plain(source, data)
            kept = data if len(source.tokens) == 256 + 11 else data.translate(None, b"q\x00")
            assert source.decode(ids) == kept
    with pytest.raises(TokenIdError):
        small().decode([9999])


@settings(max_examples=200, deadline=None)
@given(text=TEXTS)
def test_the_same_ids_through_stages(text: str) -> None:
    source = small(missing=b"qz")
    btok, bpe1 = btok_tokenizer(Btok()), bpe1_tokenizer(source)
    for one, wanted in ((btok, Btok().encode(text.encode())), (bpe1, source.encode(text.encode()))):
        compiled = read_tok2(write_tok2(one)).tokenizer
        for tokenizer in (one, compiled):
            ids = tokenizer.encode(text, add_special_tokens=True).ids
            assert ids == wanted
            decode = Btok().decode if one is btok else source.decode
            assert tokenizer.decode(ids).data == decode(ids)


def test_special_texts_are_plain_text() -> None:
    bpe1 = bpe1_tokenizer(small())
    assert bpe1.special_ids == frozenset()
    assert bpe1.decode(bpe1.encode("<bos> x").ids).text == "<bos> x"


BTOK_CASES: dict[str, tuple[int, bytes, int]] = {
    "magic": (0, b"BTOX", 0), "version": (4, b"\2", 4), "vocab": (8, b"\5", 8),
    "bos": (12, b"\0\0", 12), "eos twice": (16, b"\0", 16), "unk": (24, b"\x04", 24),
}  # fmt: skip


@pytest.mark.parametrize("case", BTOK_CASES)
def test_btok_refusals(case: str) -> None:
    at, value, place = BTOK_CASES[case]
    data = bytearray(write_btok(Btok()))
    data[at : at + len(value)] = value
    with pytest.raises(BtokError) as refused:
        read_btok(data)
    assert refused.value.where == f"byte {place}"


def test_btok_lengths() -> None:
    for data in (b"", write_btok(Btok())[:-1], write_btok(Btok()) + b"\0"):
        with pytest.raises(BtokError):
            read_btok(data)
    for specials in (Specials(0, 1, 2, 3), Specials(-1, 257, 258, 259)):
        with pytest.raises(BtokError):
            write_btok(Btok(specials))


def number(at: int, value: int) -> Callable[[bytearray], None]:
    return lambda data: struct.pack_into("<I", data, at if at >= 0 else len(data) + at, value)


MERGES = 16 * len(WORDS)
BPE1_CASES: dict[str, tuple[Callable[[bytearray], None], int]] = {
    "magic": (number(0, 0), 0), "version": (number(4, 2), 4), "no vocab": (number(8, 0), 8),
    "too large a vocab": (number(8, 1 << 25), 8), "bos": (number(12, 9999), 12),
    "eos twice": (number(16, 256), 16), "token_count": (number(28, 9999), 28),
    "merge_count": (number(32, 1 << 31), 32), "id": (number(36, 9999), 36),
    "id twice": (number(45, 0), 45), "no length": (number(40, 0), 40),
    "length": (number(40, 1 << 31), 40), "token twice": (lambda data: data.__setitem__(53, 0), 53),
    "left": (number(-MERGES, 9999), -MERGES), "special left": (number(-MERGES, 256), -MERGES),
    "output": (number(8 - MERGES, 0), 8 - MERGES), "rank": (number(12 - MERGES, 1), 12 - MERGES),
    "pair twice": (lambda data: data.__setitem__(slice(16 - MERGES, 28 - MERGES),
                                                 data[-MERGES : 12 - MERGES]), 16 - MERGES),
}  # fmt: skip


@pytest.mark.parametrize("case", BPE1_CASES)
def test_bpe1_refusals(case: str) -> None:
    change, at = BPE1_CASES[case]
    data = bytearray(write_bpe1(small()))
    change(data)
    with pytest.raises(Bpe1Error) as refused:
        read_bpe1(data)
    assert refused.value.where == f"byte {at if at >= 0 else len(data) + at}"


def test_bpe1_cut_and_longer() -> None:
    data = write_bpe1(small())
    for length in range(0, len(data), 7):
        with pytest.raises(Bpe1Error):
            read_bpe1(data[:length])
    with pytest.raises(Bpe1Error):
        read_bpe1(data + b"\0")
    broken = Bpe1(1 << 40, Specials(0, 1, 2, 3), {}, {})
    with pytest.raises(Bpe1Error):
        write_bpe1(broken)


@settings(max_examples=300, deadline=None)
@given(at=st.integers(0, 2500), value=st.binary(min_size=1, max_size=4))
def test_changed_bytes(at: int, value: bytes) -> None:
    """Refused, or sound and in its one form."""
    data = bytearray(write_bpe1(small()))
    data[at % len(data) : at % len(data) + len(value)] = value
    try:
        found = read_bpe1(data)
    except Bpe1Error:
        return
    assert write_bpe1(found) == data
