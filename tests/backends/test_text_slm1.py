"""BTOK and BPE1 in the runtime: the block, the ids and the refusals of the reference."""

import json
import random
from collections.abc import Callable
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.backends.test_text_gguf import require_same
from tests.text.slm1.made import drawn, of_byte_level, small
from tests.text.slm1.test_btok_bpe1 import BPE1_CASES, BTOK_CASES
from trlm_lab.backends.abi_host import Host, Scratch
from trlm_lab.backends.abi_stream import AbiStream
from trlm_lab.backends.abi_tokenizer import AbiTokenizer
from trlm_lab.backends.tokenizer_texts import sample_texts
from trlm_lab.errors import RuntimeRefusedError, Tok2CompileError, TrlmError
from trlm_lab.text import Tokenizer, read_tokenizer
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

READERS: dict[bytes, Callable[[bytes], Tokenizer]] = {
    b"BTOK": lambda data: btok_tokenizer(read_btok(data)),
    b"BPE1": lambda data: bpe1_tokenizer(read_bpe1(data)),
}
SEEDS = range(6)


def reference(data: bytes) -> Tokenizer:
    """By the first bytes; whatever else they are, a reader of TOK2 says what is wrong."""
    reader = READERS.get(data[:4])
    return reader(data) if reader else read_tok2(data).tokenizer


def block(data: bytes) -> bytes | TrlmError:
    """What the library makes of a file."""
    try:
        return write_tok2(reference(data))
    except TrlmError as error:
        return error


def require_agreed(host: Host, data: bytes) -> None:
    """The library's block, or its refusal by code and byte."""
    wanted = block(data)
    if isinstance(wanted, bytes):
        with AbiTokenizer(host, data) as ours:
            assert ours.block == wanted
        return
    with pytest.raises(RuntimeRefusedError) as refused:
        AbiTokenizer(host, data)
    assert refused.value.facts["error_name"] == wanted.code
    assert wanted.code == Tok2CompileError.code or refused.value.where == wanted.where


@pytest.mark.parametrize("ids", list(permutations(range(256, 260)))[::5])
def test_the_block_of_a_btok(text_host: Host, ids: tuple[int, int, int, int]) -> None:
    require_agreed(text_host, write_btok(Btok(Specials(*ids))))


@pytest.mark.parametrize("seed", SEEDS)
def test_the_block_of_a_bpe1(text_host: Host, seed: int) -> None:
    require_agreed(text_host, write_bpe1(drawn(seed)))


@pytest.mark.parametrize("first", [0, 1 << 20])
def test_without_tokens(text_host: Host, first: int) -> None:
    """Large ids make a long block, of 64 MiB at most."""
    specials = Specials(*range(first, first + 4))
    require_agreed(text_host, write_bpe1(Bpe1(first + 4, specials, {}, {})))


def test_a_block_is_left_as_it_is(text_host: Host) -> None:
    given = write_tok2(btok_tokenizer(Btok()))
    with AbiTokenizer(text_host, given) as ours:
        assert ours.block == given
    for part in ("ptr", "len"):
        assert text_host.call(f"trlm_text_block_{part}", 0) == 0


SOURCES = {
    "btok": write_btok(Btok()),
    "words": write_bpe1(small()),
    "holes": write_bpe1(small(missing=b"qz\xe2\x80")),
    **{f"drawn {seed}": write_bpe1(drawn(seed)) for seed in SEEDS},
}


@pytest.mark.parametrize("name", SOURCES)
def test_ids_offsets_and_bytes(text_host: Host, name: str) -> None:
    wanted, draw = reference(SOURCES[name]), random.Random(name)
    specials = [id for text, id in wanted.model.ids.items() if text.endswith("> ")]
    pieces = [wanted.decode([id]).text for id in wanted.model.ids.values()]
    mixed = ["".join(draw.choices(pieces, k=9)) for _ in range(8)]
    with AbiTokenizer(text_host, SOURCES[name]) as ours:
        for text in [*sample_texts(12, draw.randrange(99), ("<bos> ", "<unk>")), *mixed]:
            require_same(ours, wanted, text, draw)
        ids = [*wanted.encode("hello <eos> w\xe9").ids, *specials, *specials]
        draw.shuffle(ids)
        for mode in ("raw", "visible", "diagnostic"):
            row = wanted.decode(ids, mode)
            assert ours.decode(ids, mode) == (row.data, row.text)


def test_a_stream_outlives_its_tokenizer(text_host: Host) -> None:
    """The block that was made of the file stays for as long as a stream uses it."""
    text = "hello wo\xe9".encode()
    ours = AbiTokenizer(text_host, SOURCES["words"])
    stream, size = AbiStream(text_host, ours._handle, 0), len(ours.block)
    ours.close()
    # Memory that was given back would be taken again, and hold something else.
    with Scratch(text_host, np.full(size, 0xA5, np.uint8)):
        assert stream.push(*small().encode(text)).data + stream.flush().data == text
    stream.close()


def test_long_texts(text_host: Host) -> None:
    with AbiTokenizer(text_host, SOURCES["words"]) as ours:
        for text in ("a" * 30_000, "hello" * 5_000, "\xe9" * 10_000):
            ids = ours.encode(text.encode(), add_special_tokens=True)[0].tolist()
            assert ids == small().encode(text.encode())


@pytest.mark.model
def test_the_vocabulary_of_a_real_model(text_host: Host, smollm2_snapshot: Path) -> None:
    """49,000 tokens and merges."""
    plain = read_tokenizer(json.loads((smollm2_snapshot / "tokenizer.json").read_text()))
    source = of_byte_level(plain, Specials(0, 1, 2, 3))
    wanted = bpe1_tokenizer(source)
    with AbiTokenizer(text_host, write_bpe1(source)) as ours:
        assert ours.block == write_tok2(wanted)
        for text in sample_texts(12, 9):
            require_same(ours, wanted, text, random.Random(text))


@pytest.mark.parametrize("case", BTOK_CASES)
def test_every_rule_of_btok(text_host: Host, case: str) -> None:
    at, value, _ = BTOK_CASES[case]
    data = bytearray(SOURCES["btok"])
    data[at : at + len(value)] = value
    require_agreed(text_host, bytes(data))


@pytest.mark.parametrize("case", BPE1_CASES)
def test_every_rule_of_bpe1(text_host: Host, case: str) -> None:
    data = bytearray(SOURCES["words"])
    BPE1_CASES[case][0](data)
    require_agreed(text_host, bytes(data))


def test_cut_and_longer(text_host: Host) -> None:
    for name, step in (("btok", 1), ("words", 37), ("drawn 1", 61)):
        data = SOURCES[name]
        for length in range(4, len(data), step):
            require_agreed(text_host, data[:length])
        require_agreed(text_host, data + b"\0")


def test_the_first_of_two_faults(text_host: Host) -> None:
    """Bytes that are there already come before a length behind them, and the other way round."""
    twice, length = 36 + 9 * 3 + 8, 36 + 9 * 7 + 4
    for first, second in ((twice, length), (36 + 9 * 7 + 8, 36 + 9 * 3 + 4)):
        data = bytearray(SOURCES["words"])
        data[first] = 0
        data[second] = 255
        data[second + 3] = 255
        require_agreed(text_host, bytes(data))


def with_token(token: bytes, *, at: int = 260) -> bytes:
    """All bytes, and one token that no merge makes."""
    tokens = {number: bytes([number]) for number in range(256)} | {at: token}
    return write_bpe1(Bpe1(max(tokens) + 1, Specials(256, 257, 258, 259), tokens, {}))


@pytest.mark.parametrize(("byte", "most"), [(b"a", 65_535), (b" ", 32_767), (b"\xff", 32_767)])
def test_tokens_longer_than_tok2_holds(text_host: Host, byte: bytes, most: int) -> None:
    """Counted in visible characters."""
    require_agreed(text_host, with_token(byte * most))
    with pytest.raises(RuntimeRefusedError, match="TOK2_COMPILE"):
        AbiTokenizer(text_host, with_token(byte * (most + 1)))
    require_agreed(text_host, with_token(byte * (most + 1)))


changes = st.lists(
    st.tuples(st.integers(0, 1 << 16), st.binary(min_size=1, max_size=4)), min_size=1, max_size=2
)


@pytest.mark.slow
def test_changed_bytes(text_host: Host) -> None:
    @settings(max_examples=200, deadline=None)
    @given(name=st.sampled_from([*SOURCES]), changes=changes)
    def agreed(name: str, changes: list[tuple[int, bytes]]) -> None:
        data = bytearray(SOURCES[name])
        for at, value in changes:
            at %= len(data)
            data[at : at + len(value)] = value[: len(data) - at]
        require_agreed(text_host, bytes(data))

    agreed()
