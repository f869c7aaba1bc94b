"""SmolLM2's own tokenizer.json against the source engine, on the classes of the corpus."""

import json
import random
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.text.constructed import CORPUS, SPACES
from tests.text.source_engine import Pair
from trlm_lab.text.vectors.texts import EMOJI, SCRIPTS

pytestmark = pytest.mark.model


@pytest.fixture(scope="module")
def pair(smollm2_snapshot: Path) -> Pair:
    return Pair(json.loads((smollm2_snapshot / "tokenizer.json").read_text()))


def fragments(pair: Pair) -> list[str]:
    """Texts that tokenizers treat in ways of their own."""
    specials = [token.content for token in pair.ours.added]
    return [
        *CORPUS, *specials, *[text[:5] for text in specials], *[text[3:] for text in specials],
        *EMOJI, *SPACES, *SCRIPTS, "\n\n", " \n", "'ll", "'", "1234", "\u0663\u0664", "_", "\u200b",
    ]  # fmt: skip


def scalar(draw: random.Random) -> str:
    top = draw.choice([0x7F, 0x250, 0x3000, 0xD7FF, 0x10FFFF])
    code = draw.randrange(top)
    return chr(code) if not 0xD800 <= code < 0xE000 else "\ufffd"


def test_minimum_corpus(pair: Pair) -> None:
    for text in fragments(pair):
        pair.require_same(text)


def test_five_thousand_strings(pair: Pair) -> None:
    """Seeded mixtures; four hundred are longer than 200 bytes."""
    draw = random.Random(135)
    pool = fragments(pair)
    long = 0
    for number in range(5000):
        count = draw.randrange(30, 60) if number % 10 == 0 else draw.randrange(1, 12)
        parts = [draw.choice(pool) if draw.random() < 0.6 else scalar(draw) for _ in range(count)]
        text = "".join(parts)
        if draw.random() < 0.1:
            text = unicodedata.normalize(draw.choice(["NFC", "NFD", "NFKC", "NFKD"]), text)
        long += len(text.encode()) > 200
        pair.require_same(text)
    assert long >= 400


def test_vocabulary_pieces(pair: Pair) -> None:
    """Decoded tokens of the vocabulary put together again: merges across their borders."""
    draw = random.Random(7)
    ids = list(range(pair.source.get_vocab_size()))
    for _ in range(1000):
        pair.require_same(pair.source.decode(draw.choices(ids, k=8)))


def test_scalars_of_all_planes(pair: Pair) -> None:
    """Every sixteenth of all scalars, with letters and spaces between."""
    scalars = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    for start in range(0, len(scalars), 4096):
        pair.require_same(" a".join(scalars[start : start + 4096 : 16]))


@settings(max_examples=300, deadline=None)
@given(text=st.text(max_size=60))
def test_any_text(pair: Pair, text: str) -> None:
    pair.require_same(text)


def test_decoded_ids(pair: Pair) -> None:
    draw = random.Random(3)
    ids = list(range(pair.source.get_vocab_size()))
    for count in range(60):
        pair.require_decoded(draw.choices(ids, k=count))


def test_bytes_come_back(pair: Pair) -> None:
    """Raw bytes are the text's own where the vocabulary has all bytes of it."""
    for text in (*SCRIPTS, *EMOJI, "a\x00b", "<|im_start|>user\nhi<|im_end|>"):
        ids = pair.ours.encode(text).ids
        assert pair.ours.decode(ids).data == text.encode()
