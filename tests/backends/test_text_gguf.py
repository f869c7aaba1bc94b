"""Tokenizers of GGUF files in the runtime: what the reference says."""

import random
from dataclasses import replace
from functools import cache
from itertools import pairwise

import pytest

from tests.backends.test_text_hostile import require_answers
from tests.backends.text_engines import answered
from tests.text.tok2.blocks import NAMES as RICH
from tests.text.tok2.blocks import tokenizer as rich
from tests.text.tok2.test_gguf import NAMES, compiled, reference, texts
from trlm_lab.backends.abi_host import Host
from trlm_lab.backends.abi_tokenizer import MODES, AbiTokenizer
from trlm_lab.errors import TokenIdError, UnknownTokenMissingError
from trlm_lab.text import Tokenizer
from trlm_lab.text.added_tokens import AddedToken
from trlm_lab.text.coordinates import Coordinates
from trlm_lab.text.ggml.decoding import Pieces
from trlm_lab.text.ggml.partition import Partition
from trlm_lab.text.tok2 import read_tok2, write_tok2
from trlm_lab.text.tokenizer import Component


def require_same(ours: AbiTokenizer, plain: Tokenizer, text: str, draw: random.Random) -> None:
    """Ids and offsets, some of the text being content; bytes in every mode."""
    place = Coordinates(text)
    start, end = sorted(draw.choices(range(len(text) + 1), k=2))
    for special, content in ((True, []), (False, [(start, end)] if start < end else [])):
        found = plain.encode(text, add_special_tokens=special, content=content)
        got = answered(ours, text.encode(), special, [place.utf8(span) for span in content])
        assert got == (found.ids, found.offsets()), ascii(text)
        for mode in MODES:
            for ids in (found.ids, [*plain.special_ids, *found.ids]):
                row = plain.decode(ids, mode)
                assert ours.decode(ids, mode) == (row.data, row.text), (mode, ids)


@pytest.mark.parametrize("name", NAMES)
def test_as_the_reference(text_host: Host, name: str) -> None:
    plain, draw = reference(name), random.Random(name)
    with AbiTokenizer(text_host, compiled(name)) as ours:
        for text in texts(draw.randrange(1000))[::3]:
            require_same(ours, plain, text, draw)


def test_texts_that_are_no_tokens_have_no_id(text_host: Host) -> None:
    """What only merges make stands behind the tokens."""
    plain = reference("gpt-2")
    number = len(plain.model.ids)
    with AbiTokenizer(text_host, compiled("gpt-2")) as ours:
        assert ours.decode([number - 1], "raw")
        with pytest.raises(TokenIdError):
            ours.decode([number], "raw")


PARTS = ("ab", "abc", "bc", "b", "<a>", " ", "\t", "\n", "x", "aab", "\u00e9", "\u00e9x", "\u2581")


@pytest.mark.parametrize("seed", range(4))
def test_tokens_found_one_after_the_other(text_host: Host, seed: int) -> None:
    """Tokens of every flag that overlap, the longest first, with white space taken along."""
    draw = random.Random(seed)
    contents = draw.sample([*PARTS, *map("".join, pairwise(PARTS))], 9)
    added = tuple(
        AddedToken(
            number, text, False, *draw.choices((False, True), k=2), False, draw.random() < 0.5
        )
        for number, text in enumerate(contents, 300)
    )
    plain = replace(reference("llama"), added=added, given=Partition(added))
    with AbiTokenizer(text_host, write_tok2(plain)) as ours:
        for _ in range(80):
            require_same(ours, plain, "".join(draw.choices(PARTS, k=draw.randrange(24))), draw)


def test_a_byte_whose_token_is_a_control_token(text_host: Host) -> None:
    """Content cannot have it; the text is refused, and taken where it is no content."""
    plain = reference("llama")
    added = (*plain.added, AddedToken(plain.model.ids["<0xC3>"], "x<0xC3>", *[False] * 4, True))
    plain = replace(plain, added=added, given=Partition(added))
    text = "\u00fe"
    assert text not in plain.model.ids
    with pytest.raises(UnknownTokenMissingError):
        plain.encode(text, content=[(0, 1)])
    with AbiTokenizer(text_host, write_tok2(plain)) as ours:
        assert answered(ours, text.encode(), False, [(0, 2)]) == "UNKNOWN_TOKEN_MISSING"
        assert answered(ours, text.encode())[0] == plain.encode(text).ids


@cache
def every() -> list[Tokenizer]:
    """Tokenizers of both profiles."""
    return [*map(rich, RICH), *(read_tok2(compiled(name)).tokenizer for name in NAMES)]


def mixed(draw: random.Random) -> Tokenizer:
    """Stages of both profiles around a model of the second one, as no file of today has them."""
    found = read_tok2(compiled(draw.choice(NAMES))).tokenizer

    def some(kind: str, most: int) -> list[Component]:
        rows = [one for other in every() for one in getattr(other, kind)]
        plain = [one for one in rows if not isinstance(one.stage, Pieces)]
        return draw.choices(plain, k=draw.randrange(most))

    pieces = next(one for one in found.decoders if isinstance(one.stage, Pieces))
    flags = {"visible": draw.random() < 0.5, "strip_first": draw.random() < 0.5}
    decoders = some("decoders", 3)
    decoders.insert(
        draw.randrange(len(decoders) + 1), replace(pieces, stage=replace(pieces.stage, **flags))
    )
    return replace(
        found,
        normalizers=tuple(some("normalizers", 3)),
        pre_tokenizers=tuple(some("pre_tokenizers", 3)),
        post_processors=tuple(some("post_processors", 3)),
        decoders=tuple(decoders),
    )


@pytest.mark.parametrize("seed", range(12))
def test_stages_of_both_profiles(text_host: Host, seed: int) -> None:
    draw = random.Random(seed)
    block = write_tok2(mixed(draw))
    with AbiTokenizer(text_host, block) as ours:
        for text in draw.sample(texts(seed), 8):
            require_answers(ours, read_tok2(block), text)


UNITS = ("a", "ab ", "123", "\n", " ", "\u00e9", "<s>", "\U0001f642")


@pytest.mark.parametrize("name", NAMES)
def test_long_texts(text_host: Host, name: str) -> None:
    plain = reference(name)
    with AbiTokenizer(text_host, compiled(name)) as ours:
        for unit in UNITS:
            text = unit * (3000 // len(unit.encode()))
            found = plain.encode(text)
            assert answered(ours, text.encode()) == (found.ids, found.offsets()), unit
