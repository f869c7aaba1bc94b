"""Seeded texts on which two tokenizers are compared: well-formed UTF-8 of many kinds."""

from __future__ import annotations

import random
import unicodedata
from collections.abc import Callable, Iterator

_WORDS = (
    "the", "river", "Water", "path", "isn't", "they'll", "WE'RE", "it'S", "don\u2019t", "'tis",
    "mill", "re-read", "o'clock", "co-op", "e.g.", "U.S.A.", "naïve", "Straße", "ΑΒΓ", "мир",
)  # fmt: skip
_CODE = (
    "def f(x): return x**2\n", "for (int i=0;i<n;++i){", "\tif not a:\n\t\tpass\n", "</div>",
    "SELECT * FROM t WHERE a>=10;", "#include <stdio.h>\r\n", "x = {'k': [1, 2.5e-3]}", "0xFF_EF",
    "fn main() -> Result<(), E> {", "$HOME/.bashrc && ls -la | wc", "a&&b||!c", "[^\\s\\d]+?",
)  # fmt: skip
_SPACES = (
    " \t\n\r\v\f\x1c\x1d\x1e\x1f\x85\xa0"
    "\u1680\u2000\u2003\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)
_INVISIBLE = "\0\x01\x08\x1b\x7f\u200b\u200c\u200d\u200e\u202a\u202e\u2060\ufeff\u00ad\ufffd"
_EMOJI = (
    "🙂", "👍🏽", "👩‍👩‍👧‍👦", "🏳️‍🌈", "🇳🇴🇯🇵", "1️⃣", "❤️", "🧑🏿‍🚀", "©", "™", "☕", "🫠",
)  # fmt: skip
#: First and last code point of blocks of many scripts, unspaced ones among them.
_BLOCKS = (
    (0x41, 0x7A), (0xC0, 0x24F), (0x370, 0x3FF), (0x400, 0x4FF), (0x531, 0x58F), (0x5D0, 0x5EA),
    (0x621, 0x6FF), (0x900, 0x97F), (0x980, 0x9FF), (0xE01, 0xE5B), (0x10A0, 0x10FF),
    (0x1200, 0x137F), (0x1780, 0x17FF), (0x1E00, 0x1EFF), (0x3041, 0x30FF), (0x4E00, 0x9FFF),
    (0xAC00, 0xD7A3), (0x1D400, 0x1D7FF), (0x20000, 0x2A6DF),
)  # fmt: skip
_DIGITS = "0123456789٠٣٩०५९๑๙²³¹¼½Ⅷⅻ①⑩〇一二三𝟘𝟡"


def sample_texts(count: int, seed: int, specials: tuple[str, ...] = ()) -> Iterator[str]:
    """`count` texts; the same for the same arguments. `specials` are mixed in as they stand."""
    draw = random.Random(seed)
    makers: tuple[Callable[[random.Random], str], ...] = (
        _words, _digits, _code, _whitespace, _script, _emoji, _combining, _garbage, _any_scalar,
        lambda d: d.choice(specials or ("<|none|>",)),
    )  # fmt: skip
    for number in range(count):
        if number < len(makers):
            yield makers[number](draw)
            continue
        parts = draw.choices(makers, k=draw.choice((1, 1, 2, 3, 5)))
        yield draw.choice(("", " ", "\n", "  ")).join(make(draw) for make in parts)


def _words(draw: random.Random) -> str:
    joint = draw.choice((" ", " ", ", ", "  ", "\n", ". "))
    return joint.join(draw.choices(_WORDS, k=draw.randint(1, 12)))


def _digits(draw: random.Random) -> str:
    alphabet = draw.choice(("0123456789", "0123456789", _DIGITS, "01 .,:-/"))
    return "".join(draw.choices(alphabet, k=draw.randint(1, 20)))


def _code(draw: random.Random) -> str:
    return draw.choice(("", "  ", "\n")).join(draw.choices(_CODE, k=draw.randint(1, 4)))


def _whitespace(draw: random.Random) -> str:
    runs = (draw.choice(_SPACES) * draw.randint(1, 3) for _ in range(draw.randint(1, 6)))
    return draw.choice(("", "a", "1", ".")).join(runs) + draw.choice(("", "b", "9"))


def _script(draw: random.Random) -> str:
    first, last = draw.choice(_BLOCKS)
    letters = (chr(draw.randint(first, last)) for _ in range(draw.randint(1, 12)))
    return "".join(c + draw.choice(("", "", "", " ")) for c in letters)


def _emoji(draw: random.Random) -> str:
    return draw.choice(("", " ", "x")).join(draw.choices(_EMOJI, k=draw.randint(1, 5)))


def _combining(draw: random.Random) -> str:
    text = "".join(draw.choices("éÅñçﬁ½ｱḍ̇한ṩĳ²", k=draw.randint(1, 8)))
    compose = draw.choice((True, False))
    text = unicodedata.normalize("NFKC" if compose else "NFD", text)
    return text + draw.choice(("", "\u0301\u0327", "\u20dd"))


def _garbage(draw: random.Random) -> str:
    """Random bytes, with what is no UTF-8 dropped or replaced."""
    raw = draw.randbytes(draw.randint(1, 40))
    return raw.decode("utf-8", draw.choice(("ignore", "replace")))


def _any_scalar(draw: random.Random) -> str:
    """Random Unicode scalar values, assigned or not, and invisible ones; never a surrogate."""
    points = [draw.randint(0, 0x10FFFF) for _ in range(draw.randint(1, 8))]
    scalars = [chr(p) for p in points if not 0xD800 <= p < 0xE000]
    return "".join([*scalars, *draw.choices(_INVISIBLE, k=draw.randint(0, 3))])
