"""Tokenizers of SentencePiece models in the runtime: what the reference says."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.backends.test_text_hostile import require_agreed
from tests.backends.text_engines import answered
from tests.text.sentencepiece.made_models import model
from tests.text.tok2.blocks import Block
from tests.text.tok2.test_pieces import (
    CASES,
    NAMES,
    ODD,
    RICH,
    broken,
    changed,
    compiled,
    ids_of,
    numbers,
    reference,
    texts,
    with_piece,
    with_split_key,
)
from trlm_lab.backends.abi_host import Host
from trlm_lab.backends.abi_tokenizer import MODES, AbiTokenizer
from trlm_lab.backends.native import NativeHost
from trlm_lab.errors import TokenIdError
from trlm_lab.text.sentencepiece import SentencePieceTokenizer, read_sentencepiece
from trlm_lab.text.tok2 import write_tok2


def drawn(host: Host) -> int:
    """How many texts: fewer through WebAssembly, which is slow and the same source."""
    return 40 if isinstance(host, NativeHost) else 8


def require_same(ours: AbiTokenizer, plain: SentencePieceTokenizer, text: str) -> None:
    """Ids and offsets; bytes of drawn ids in every mode."""
    found = plain.encode(text)
    assert answered(ours, text.encode()) == (found.ids, found.offsets()), ascii(text)
    for mode in MODES:
        for ids in (found.ids, ids_of(text, len(plain.file.pieces))):
            row = plain.decode(ids, mode)
            assert ours.decode(ids, mode) == (row.data, row.text), (mode, ids)


@pytest.mark.parametrize("name", NAMES)
def test_as_the_reference(text_host: Host, name: str) -> None:
    plain = reference(name)
    with AbiTokenizer(text_host, compiled(name)) as ours:
        for text in texts(f"runtime {name}", drawn(text_host)):
            require_same(ours, plain, text)


@pytest.mark.parametrize("seed", range(4))
def test_unused_pieces_come_apart(text_host: Host, seed: int) -> None:
    plain = read_sentencepiece(model("BPE", unused=True, seed=seed, defined=seed % 2 == 0))
    draw = random.Random(seed)
    with AbiTokenizer(text_host, write_tok2(plain)) as ours:
        for count in range(2 * drawn(text_host)):
            require_same(ours, plain, "".join(draw.choices("abcde\u00e9 ", k=1 + count % 24)))


def test_sums_are_moved_before_they_grow(text_host: Host) -> None:
    text = "abc bcd de" * 3000
    for switches in ({}, {"defined": True}):
        plain = read_sentencepiece(model("UNIGRAM", **switches))
        with AbiTokenizer(text_host, write_tok2(plain)) as ours:
            found = plain.encode(text)
            assert answered(ours, text.encode()) == (found.ids, found.offsets())


def test_content_and_insertion_change_nothing(text_host: Host) -> None:
    """Control pieces stand for no text, and nothing is put around."""
    text = "<s>ab</s>"
    with AbiTokenizer(text_host, compiled("BPE plain")) as ours:
        plain = answered(ours, text.encode())
        assert plain == answered(ours, text.encode(), True, [(0, 5)])
        with pytest.raises(TokenIdError):
            ours.decode([1 << 20], "raw")


@pytest.mark.parametrize("case", CASES)
def test_rules_of_profile_3(text_host: Host, case: str) -> None:
    require_agreed(text_host, broken(case))


@pytest.mark.parametrize(("text", "kind"), ODD, ids=["empty", "long", "null", "null inside"])
def test_pieces_that_no_file_has(text_host: Host, text: str, kind: int) -> None:
    require_agreed(text_host, with_piece(text, kind))


def test_a_key_within_a_character(text_host: Host) -> None:
    require_agreed(text_host, with_split_key())


@pytest.mark.parametrize("name", RICH[:2])
def test_profiles_do_not_mix(text_host: Host, name: str) -> None:
    for profile in (1, 2):
        block = Block(compiled(name))
        block.set(profile=profile)
        require_agreed(text_host, block.sealed())


@pytest.mark.parametrize("name", RICH)
def test_cut_short(text_host: Host, name: str) -> None:
    data = compiled(name)
    for length in range(1, len(data), len(data) // 30):
        require_agreed(text_host, data[:length])


def test_changed_numbers(text_host: Host) -> None:
    @settings(max_examples=2 * drawn(text_host), deadline=None)
    @given(name=st.sampled_from(RICH), changes=st.lists(numbers, min_size=1, max_size=2))
    def agreed(name: str, changes: list) -> None:  # type: ignore[type-arg]
        require_agreed(text_host, changed(name, changes))

    agreed()


def test_words_that_pieces_join(text_host: Host) -> None:
    """Words stand alone only behind scalars that no piece has before a space; each is met often."""
    plain = reference("BPE defined, spaces kept")
    draw = random.Random(3)
    words = ("a", "b", "ab", "e", "dd", "c\u00e9", "z", "", "<x>", "a b")
    with AbiTokenizer(text_host, compiled("BPE defined, spaces kept")) as ours:
        for _ in range(drawn(text_host)):
            require_same(ours, plain, " ".join(draw.choices(words, k=40)))


#: Bytes of each text, and the units that it repeats.
SIZE, UNITS = 3000, ("a", "abc", "ab ", " ", "\u4e16", "\u3000", "z", "\U0001f642", "<x>", "dd")


@pytest.mark.parametrize("name", RICH)
def test_long_texts(text_host: Host, name: str) -> None:
    plain = reference(name)
    with AbiTokenizer(text_host, compiled(name)) as ours:
        for unit in UNITS:
            text = unit * (SIZE // len(unit.encode()))
            found = plain.encode(text)
            assert answered(ours, text.encode()) == (found.ids, found.offsets()), unit
