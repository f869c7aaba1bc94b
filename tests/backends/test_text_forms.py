"""Normal forms and Precompiled in the runtime: what decomposes, marks in any order, clusters."""

import random
import unicodedata

import pytest

from tests.backends.text_engines import Held
from tests.text.components import NORMALIZERS, SCALARS, kind
from tests.text.constructed import CORPUS, document
from tests.text.test_normalization import MIXED, RULES, Writer
from trlm_lab.backends.abi_host import Host
from trlm_lab.text import tables

FORMS = ("NFC", "NFD", "NFKC", "NFKD")


def changing() -> list[str]:
    """Every scalar with a decomposition, a combining class or a composition."""
    chars = [chr(c) for c in (*tables.char_map("canonical"), *tables.char_map("compatible"))]
    return [
        *chars, *tables.numbers("combining"), *tables.pairs("composed"),
        *map(chr, range(0xAC00, 0xAC60)),
    ]  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_all_that_decomposes(text_host: Host, form: str) -> None:
    chars = changing()
    with Held(text_host, document(SCALARS, normalizer=NORMALIZERS[form])) as held:
        for start in range(0, len(chars), 64):
            held.require_same("x".join(chars[start : start + 64]))


@pytest.mark.parametrize("form", FORMS)
def test_marks_in_any_order(text_host: Host, form: str) -> None:
    draw = random.Random(form)
    marks = list(tables.numbers("combining"))
    bases = [*"aeoux", *tables.pairs("composed").values(), "\u1100", "\u1161", "\u11a8", "\uac00"]
    with Held(text_host, document(SCALARS, normalizer=NORMALIZERS[form])) as held:
        for _ in range(600):
            row = [draw.choice(draw.choice([bases, marks])) for _ in range(draw.randrange(9))]
            held.require_same(unicodedata.normalize(draw.choice(FORMS), "".join(row)))
            held.require_same("".join(row))


def test_precompiled(text_host: Host) -> None:
    table = kind("Precompiled", precompiled_charsmap=Writer(RULES).encoded())
    draw = random.Random(2)
    with Held(text_host, document(SCALARS, normalizer=table)) as held:
        for text in CORPUS:
            held.require_same(text)
        for _ in range(1500):
            held.require_same("".join(draw.choices(MIXED, k=draw.randrange(1, 16))))


@pytest.mark.parametrize("name", ["Lowercase", "StripAccents", "Nmt", "Bert"])
def test_scalars_of_all_planes(text_host: Host, name: str) -> None:
    """Every sixteenth scalar, letters between."""
    scalars = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    with Held(text_host, document(SCALARS, normalizer=NORMALIZERS[name])) as held:
        for start in range(0, len(scalars), 1 << 16):
            held.require_same("a".join(scalars[start : start + (1 << 16) : 16]))
