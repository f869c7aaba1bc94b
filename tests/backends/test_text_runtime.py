"""The runtime's tokenizer: recorded values, refusals by place, long texts, the real model."""

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.backends.text_engines import Held, answered
from tests.text.components import MODELS, byte_level
from tests.text.constructed import CORPUS, byte_bpe, document, word_level
from tests.text.source_engine import Pair
from tests.text.test_offsets import RECORDED, ROWS
from tests.text.test_smollm2 import fragments, scalar
from trlm_lab.backends.abi_host import Host, Scratch, last_error
from trlm_lab.backends.abi_tokenizer import AbiTokenizer
from trlm_lab.errors import RuntimeRefusedError, TextTooLongError, TokenIdError, Utf8Error
from trlm_lab.text import read_tokenizer
from trlm_lab.text.post_processors import TrimOffsets
from trlm_lab.text.scalar_sets import ScalarSet
from trlm_lab.text.tok2 import write_tok2
from trlm_lab.text.tokenizer import Component

PLAIN = document(byte_bpe(), pre_tokenizer=byte_level(), decoder=byte_level())


def test_recorded_values(text_host: Host) -> None:
    """Tokens, offsets in bytes and texts that tokenizers 0.23.3 gives."""
    with Held(text_host, RECORDED) as held:
        for row in ROWS:
            ids, offsets = held.ours.encode(row["text"].encode())
            texts = [held.wanted.reference.token_text(number) for number in ids.tolist()]
            assert (texts, offsets.tolist()) == (row["tokens"], row["bytes"]), ascii(row["text"])
            assert held.ours.decode(ids.tolist())[1] == row["decoded"]


@pytest.mark.parametrize(
    ("data", "index"),
    [
        (b"\x80", 0), (b"ab\xc0\xaf", 2), (b"a\xed\xa0\x80", 1), (b"\xf4\x90\x80\x80", 0),
        (b"abc\xe2\x82", 3), (b"\xe2\x82\xac\xff", 3), (b"\0\xf8", 1), (b"\xf0\x9f\x99", 0),
    ],
)  # fmt: skip
def test_the_first_bad_byte_is_named(text_host: Host, data: bytes, index: int) -> None:
    with Held(text_host, PLAIN) as held, pytest.raises(Utf8Error) as refused:
        held.ours.encode(data)
    assert refused.value.facts["index"] == index


def test_too_long(text_host: Host) -> None:
    with Held(text_host, PLAIN) as held, pytest.raises(TextTooLongError):
        held.ours.encode(bytes((64 << 20) + 1))


def test_an_id_without_token(text_host: Host) -> None:
    with Held(text_host, PLAIN) as held:
        for ids, index in (([0, 9999, 1], 1), ([0xFFFFFFFF], 0), ([1, 1 << 40], 1)):
            with pytest.raises(TokenIdError) as refused:
                held.ours.decode(ids)
            assert (refused.value.facts["got"], refused.value.facts["index"]) == (ids[index], index)


def test_no_token_and_no_unknown_token(text_host: Host) -> None:
    model = word_level(["a"])
    model["unk_token"] = "[NONE]"
    with Held(text_host, document(model, pre_tokenizer={"type": "Whitespace"})) as held:
        assert held.answer("a b") == "UNKNOWN_TOKEN_MISSING"
        # Nothing of the refused text is left.
        assert held.answer("a a") == ([1, 1], [(0, 1), (2, 3)])


@pytest.mark.parametrize(
    "content", [[(1, 1)], [(2, 1)], [(0, 9)], [(0, 2), (2, 3)], [(2, 3), (0, 1)], [(0, 6)]]
)
def test_stretches_that_are_none(text_host: Host, content: list[tuple[int, int]]) -> None:
    """Empty, backwards, beyond the end, touching, out of order, inside a scalar."""
    with Held(text_host, PLAIN) as held, pytest.raises(RuntimeRefusedError) as refused:
        held.ours.encode("abcde\xe9".encode(), content=content)
    assert refused.value.facts["error_name"] == "ARGUMENT"


def test_null_and_unknown_numbers(text_host: Host) -> None:
    call = text_host.call
    assert call("trlm_text_load", 0, 10) == 0
    assert call("trlm_last_error_code") == 502
    assert call("trlm_text_ids", 0) == call("trlm_text_decoded_len", 0, 0) == 0
    call("trlm_text_free", 0)
    with Held(text_host, PLAIN) as held, Scratch(text_host, np.zeros(1, np.uint8)) as one:
        handle = held.ours._handle
        for name, arguments in (
            ("encode", (one.address, 1, 0, 0, 2)),
            ("encode", (0, 1, 0, 0, 0)),
            ("decode", (one.address, 0, 3)),
            ("decode", (0, 1, 0)),
        ):
            assert call(f"trlm_text_{name}", handle, *arguments) >= 1 << 31
            assert isinstance(last_error(text_host), RuntimeRefusedError)


def test_special_text_in_content(text_host: Host) -> None:
    text = "<|im_start|>a<|im_end|>"
    with Held(text_host, RECORDED) as held:
        ids = held.answer(text)[0]
        assert ids[0] == held.wanted.source.token_to_id("<|im_start|>")
        for content in (((0, 12),), ((11, 13),), ((0, len(text)),)):
            held.require_same(text, content=content)
        assert not {*held.answer(text, content=((0, len(text)),))[0]} & {ids[0], ids[-1]}


def test_two_trims_of_other_spaces(text_host: Host) -> None:
    """No tokenizer.json has them, a block may."""
    plain = read_tokenizer(document(byte_bpe(), pre_tokenizer=byte_level()))
    trims = [
        TrimOffsets(kept, ScalarSet.chars(text)) for kept, text in ((False, "h"), (True, "eo"))
    ]
    stages = tuple(Component("/post_processor", "ByteLevel", one) for one in trims)
    wanted = replace(plain, post_processors=stages)
    with AbiTokenizer(text_host, write_tok2(wanted)) as ours:
        for text in ("hello w\xe9 he", "oooh", "eo"):
            found = wanted.encode(text)
            assert answered(ours, text.encode()) == (found.ids, found.offsets())
        assert wanted.encode("hello").offsets() != plain.encode("hello").offsets()


LONG: dict[str, Any] = {
    "bytes": PLAIN,
    "whole bytes": document(byte_bpe(), pre_tokenizer=byte_level(regex=False)),
    "fallback": document(MODELS["fallback"]),
    "unigram": document(MODELS["unigram_bytes"]),
    "words": document(MODELS["word_piece"], pre_tokenizer={"type": "WhitespaceSplit"}),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LONG)
def test_long_texts_equal_the_source(text_host: Host, name: str) -> None:
    """No space anywhere, one letter over and over, every scalar once."""
    letters = [chr(c) for c in range(0x21, 0x3000) if not chr(c).isspace()]
    cases = [
        "a" * 200_000,
        "hello" * 20_000,
        "".join(letters),
        " " * 50_000 + "x",
        "he\xe9" * 20_000,
    ]
    with Held(text_host, LONG[name]) as held:
        for text in cases:
            source = held.wanted.source.encode(text)
            assert held.answer(text)[0] == source.ids, ascii(text[:20])


@pytest.mark.slow
def test_a_million_letters_and_ten_megabytes(text_host: Host) -> None:
    """Bytes come back and offsets lie behind each other."""
    draw = random.Random(8)
    noise = "".join(map(chr, draw.choices(range(0x21, 0x7F), k=1 << 20)))
    with Held(text_host, LONG["whole bytes"]) as held:
        for text in ("a" * 1_000_000, "00" * 500_000, noise * 10):
            data = text.encode()
            ids, offsets = held.ours.encode(data)
            assert (offsets[0, 0], offsets[-1, 1]) == (0, len(data))
            assert (offsets[1:, 0] == offsets[:-1, 1]).all()
            sizes = {number: len(text) for text, number in held.wanted.reference.model.ids.items()}
            known = np.array([sizes[number] for number in range(len(sizes))])
            assert (known[ids] == offsets[:, 1] - offsets[:, 0]).all()


@pytest.mark.model
@pytest.mark.slow
def test_the_real_model(text_host: Host, smollm2_snapshot: Path) -> None:
    """SmolLM2's own tokenizer on the corpus, on mixtures, and its ids decoded."""
    row = json.loads((smollm2_snapshot / "tokenizer.json").read_text())
    pool = fragments(Pair(row))
    draw = random.Random(136)
    with Held(text_host, row) as held:
        for text in [*CORPUS, *pool]:
            held.require_same(text)
        for _ in range(1500):
            parts = [draw.choice(pool) if draw.random() < 0.6 else scalar(draw) for _ in range(9)]
            held.require_same("".join(parts))
        ids = list(range(held.wanted.source.get_vocab_size()))
        for count in range(40):
            held.require_decoded(draw.choices(ids, k=count))
