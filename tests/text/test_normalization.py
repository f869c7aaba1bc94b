"""Normal forms and precompiled tables against the source engine, with their offsets."""

import base64
import random
import struct
import unicodedata
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.text.charsmaps import Writer
from tests.text.components import SCALARS
from tests.text.constructed import CORPUS, document
from tests.text.source_engine import Pair, pair_of
from trlm_lab.errors import TokenizerFieldError
from trlm_lab.text import read_tokenizer, tables

FORMS = ("NFC", "NFD", "NFKC", "NFKD")

#: Keys that insert, remove, double, and end with the mark that a cluster begins with.
RULES = {
    "\ufb01": "fi", "\xe9": "e", "\xbd": "1\u20442", "\xa0": " ", "\u3000": " ", "\t": " ",
    "\r\n": "\n", "\r": "R", "a": "", "b": "BBB", "\u0301": "", "\u200b": "", "\xc5": "A",
    "\uac00": "K", "\u0915": "ka", "\xa9": "(c)", "\u65e5": "\u65e5\u65e5", "z": "\u0301",
    "\u200d": "J", "\u0600": "P",
}  # fmt: skip
MIXED = (
    "abcz\xe9\xbd\ufb01\xa0\t\r\n\u0301\u0323\xc5\uac00\uac01\u1100\u1161\u11a8\u0915\u0916\u094d"
    "\u093e\xa9\xae\u200d\u65e5\u0600\U0001f1e9\U0001f642\u200b \u0d4d\ufe0f\U000e0001\x00\u0300"
)


def precompiled(table: str) -> dict[str, Any]:
    stage = {"type": "Precompiled", "precompiled_charsmap": table}
    return document(SCALARS, normalizer=stage)


@pytest.mark.parametrize("form", FORMS)
def test_all_that_decomposes(form: str) -> None:
    """Every scalar with a decomposition, a combining class or a composition, between others."""
    pair = pair_of(normalizer=form, added_tokens=False)
    chars = [chr(c) for c in (*tables.char_map("canonical"), *tables.char_map("compatible"))]
    chars += [
        *tables.numbers("combining"),
        *tables.pairs("composed"),
        *map(chr, range(0xAC00, 0xAC60)),
    ]
    for start in range(0, len(chars), 64):
        pair.require_same("x".join(chars[start : start + 64]))


@pytest.mark.parametrize("form", FORMS)
def test_marks_in_any_order(form: str) -> None:
    pair = pair_of(normalizer=form, added_tokens=False)
    draw = random.Random(form)
    marks = list(tables.numbers("combining"))
    bases = [
        *"aeou",
        *tables.pairs("composed").values(),
        "\u1100",
        "\u1161",
        "\u11a8",
        "\uac00",
        "x",
    ]
    for _ in range(1500):
        text = "".join(draw.choice(draw.choice([bases, marks])) for _ in range(draw.randrange(9)))
        pair.require_same(unicodedata.normalize(draw.choice(FORMS), text))
        pair.require_same(text)


def test_precompiled() -> None:
    """Short clusters whole, long ones scalar by scalar, as the source cuts them."""
    pair = Pair(precompiled(Writer(RULES).encoded()))
    draw = random.Random(2)
    pair.require_corpus()
    for _ in range(6000):
        text = "".join(draw.choices(MIXED, k=draw.randrange(1, 9)))
        if text.startswith(("a", "\u0301", "\u200b")):
            continue  # The source stops with a fault where the first scalar goes without trace.
        pair.require_same(text)


@pytest.mark.parametrize(
    "table",
    [
        "no base64!", "", base64.b64encode(b"\x10\0\0\0abc").decode(),
        base64.b64encode(struct.pack("<II", 4, 0) + b"A").decode(),
        base64.b64encode(struct.pack("<II", 0, 0)).decode(),
        base64.b64encode(struct.pack("<II", 4, 0) + b"\xff\0").decode(),
    ],
)  # fmt: skip
def test_broken_tables(table: str) -> None:
    with pytest.raises(TokenizerFieldError) as refused:
        read_tokenizer(precompiled(table))
    assert refused.value.where == "/normalizer/precompiled_charsmap"


def test_table_that_leads_nowhere() -> None:
    """Places beyond the array, texts beyond the blob or inside a scalar match nothing."""
    units = [0] * 512
    units[0] = 256 << 10
    units[256 ^ 0x61] = (0x1FFFFF << 10) | 1 << 8 | 0x61
    units[256 ^ 0x62] = ((256 ^ 0x62) << 10) | 1 << 8 | 0x62
    units[0] |= 1 << 31
    units[256 ^ 0x63] = (1 << 10) | 1 << 8 | 0x63
    units[256 ^ 0x63 ^ 1] = 1 << 31 | 1
    raw = struct.pack(f"<I{len(units)}I", 4 * len(units), *units) + "\xe9\0".encode()
    found = read_tokenizer(precompiled(base64.b64encode(raw).decode())).encode("abc")
    assert found.normalized == "abc"


PIPELINES = [
    ("NFKC", "MetaspaceFirst", "unigram"),
    ("Bert", "BertPreTokenizer", "word_piece"),
    ("Llama", "none", "fallback"),
    ("NFC", "Qwen", "bytes"),
    ("Lowercase", "O200k", "ignore_merges"),
    ("Nmt", "UnicodeScripts", "single"),
]


@pytest.mark.parametrize("names", PIPELINES, ids="-".join)
@settings(max_examples=150, deadline=None)
@given(text=st.text(max_size=40) | st.lists(st.sampled_from(CORPUS), max_size=4).map("".join))
def test_any_text(names: tuple[str, str, str], text: str) -> None:
    normal, cut, model = names
    pair_of(model, normalizer=normal, pre_tokenizer=cut).require_same(text)
