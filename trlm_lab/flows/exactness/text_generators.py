"""Kinds of texts that tokenizers treat in ways of their own, drawn from a seeded generator.

A generator takes the draw and the pool of one tokenizer: its tokens as text, its added tokens, and
pairs of texts that Unicode holds to be equal.
"""

from __future__ import annotations

import bz2
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random

from trlm_lab.flows.exactness.prose import PROSE
from trlm_lab.text.tables import CATEGORIES, category, char_map

#: Unicode's own test of normal forms, where a system has it (Debian: unicode-data).
NORMALIZATION_TEST = Path("/usr/share/unicode/NormalizationTest.txt.bz2")
_SPACES = (
    " ", "  ", "    ", "\t", "\n", "\r\n", "\r", "\n\n", " \n", "\v", "\f", "\x1c", "\x1f", "\x85",
    "\xa0", "\u1680", "\u180e", "\u2003", "\u200b", "\u2028", "\u2029", "\u202f", "\u205f",
    "\u3000", "\ufeff", "\u2581",
)  # fmt: skip
_DIGITS = (
    "0123456789", "\u0660\u0661\u0662\u0663", "\u0966\u0967\u0968", "\uff10\uff11\uff12",
    "\u00b2\u00b3\u00bd", "\u2160\u2161\u2180", "\u4e00\u4e8c\u3007", "\U0001d7d8\U0001d7d9",
)  # fmt: skip
_PICTURES = (
    "\U0001f600", "\u2764\ufe0f", "\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "\U0001f1e9\U0001f1ea",
    "\U0001f44d\U0001f3fd", "1\ufe0f\u20e3", "\U0001f3f4\U000e0067\U000e0062\U000e007f", "\u00a9",
    "\U0001f9d1\U0001f3ff\u200d\U0001f680", "\u267e\ufe0e",
)  # fmt: skip
_PICTURE_PARTS = ("\u200d", "\ufe0f", "\u20e3", "\U0001f3fb", "\U0001f1e6", "\U0001f469", "#", "*")
_HIDDEN = (
    "\x00", "\x01", "\x07", "\x08", "\x1b", "\x7f", "\x80", "\x9f", "\xad", "\u200c", "\u200d",
    "\u200e", "\u200f", "\u202a", "\u202e", "\u2060", "\u2066", "\u2069", "\ufe00", "\ufeff",
    "\ufff9", "\ufffc", "\ufffd", "\ufffe", "\uffff", "\U000e0001", "\ue000", "\U0010ffff",
)  # fmt: skip
_ENDINGS = (
    "'s",
    "'S",
    "'t",
    "'LL",
    "'re",
    "'Ve",
    "'m",
    "'D",
    "'",
    "\u2019s",
    "n't",
    "'\u017f",
    "''",
)
_SIGNS = (
    "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~\u00a1\u00bf\u2014\u2026\u3001\u3002\uff0c\u20ac\u00d7\u2200"
)
_LOOKALIKES = (
    "<0x41>", "<0xE2>", "<0x0a>", "<unk>", "<s>", "</s>", "[UNK]", "##ing", "\u0120", "\u010a",
    "\u2581", "\\u0041", "<|", "|>", "<\uff5c", "\u00c3\u00a9", "%20", "&amp;",
)  # fmt: skip
_NOT_SCALARS = (
    b"\x80", b"\xbf", b"\xc0\x80", b"\xc1\xbf", b"\xc3", b"\xe0\x80\x80", b"\xe2\x82",
    b"\xed\xa0\x80", b"\xed\xbf\xbf", b"\xf0\x80\x80\x80", b"\xf0\x9f\x98",
    b"\xf4\x90\x80\x80", b"\xf5\x80\x80\x80",
    b"\xfe", b"\xff",
)  # fmt: skip


@dataclass(frozen=True)
class Pool:
    """What a tokenizer and this machine give to draw from."""

    tokens: Sequence[str]
    added: Sequence[str]
    pairs: Sequence[str]


@cache
def equal_texts() -> tuple[str, ...]:
    """Texts of all columns of NormalizationTest; without it, what decomposes, in both forms."""
    if NORMALIZATION_TEST.is_file():
        text = bz2.decompress(NORMALIZATION_TEST.read_bytes()).decode()
        columns = re.findall(r"^((?:[0-9A-F ]+;){5})", text, re.MULTILINE)
        rows = [column for row in columns for column in row.rstrip(";").split(";")]
        return tuple(dict.fromkeys("".join(chr(int(c, 16)) for c in row.split()) for row in rows))
    return tuple(t for code, other in char_map("compatible").items() for t in (chr(code), other))


@cache
def _ranges(name: str) -> tuple[tuple[int, int], ...]:
    return category(name).ranges


def _scalar(draw: Random, name: str = "") -> str:
    """A scalar of a category, or of any."""
    while True:
        ranges = _ranges(name or draw.choice(CATEGORIES))
        code = draw.randint(*draw.choice(ranges)) if ranges else 0xD800
        if not 0xD800 <= code < 0xE000:
            return chr(code)


def _some(draw: Random, texts: Sequence[str], most: int) -> list[str]:
    return [draw.choice(texts) for _ in range(draw.randint(1, most))]


def by_category(draw: Random, pool: Pool) -> str:
    """Scalars of every general category, alone or beside others of one."""
    name = draw.choice([one for one in CATEGORIES if _ranges(one)])
    own = [_scalar(draw, name) for _ in range(draw.randint(0, 4))]
    return "".join(own + [_scalar(draw) for _ in range(draw.randint(1, 16))])


def of_tokens(draw: Random, pool: Pool) -> str:
    """Tokens of the vocabulary after one another."""
    return "".join(_some(draw, pool.tokens, 12))


def spaces_and_digits(draw: Random, pool: Pool) -> str:
    """White space of every kind between digits of every kind."""
    out = []
    for _ in range(draw.randint(1, 14)):
        digits = draw.choice(_DIGITS)
        out.append(draw.choice(_SPACES) * draw.choice((1, 1, 2, 5)))
        out.append("".join(draw.choice(digits) for _ in range(draw.choice((0, 1, 2, 3, 4, 7)))))
    return "".join(out)


def of_added(draw: Random, pool: Pool) -> str:
    """Added tokens whole and cut, beside each other, in words and between spaces."""
    if not pool.added:
        return of_tokens(draw, pool)
    out = []
    for _ in range(draw.randint(1, 8)):
        token = draw.choice(pool.added)
        cut = draw.randint(0, len(token))
        out.append(
            draw.choice((token, token, token[:cut], token[cut:], token.upper(), " ", "a", "\n"))
        )
    return "".join(out)


def pictures(draw: Random, pool: Pool) -> str:
    """Emoji with their sequences, and parts of such."""
    return "".join(
        draw.choice(_PICTURES if draw.random() < 0.7 else _PICTURE_PARTS)
        for _ in range(draw.randint(1, 10))
    )


def equal_forms(draw: Random, pool: Pool) -> str:
    """What Unicode holds to be equal: composed, decomposed, compatible."""
    return draw.choice(("", " ", "a")).join(_some(draw, pool.pairs, 10))


def right_to_left(draw: Random, pool: Pool) -> str:
    """Hebrew, Arabic and Syriac with directions and Latin between."""
    words = " ".join(
        PROSE[name] for name in ("Hebrew", "Arabic", "Persian", "Urdu", "Syriac")
    ).split()
    marks = ("\u200e", "\u200f", "\u202b", "\u202c", "\u2067", "\u2069", "abc", "12", " ")
    return "".join(
        draw.choice((draw.choice(words), draw.choice(marks))) for _ in range(draw.randint(1, 12))
    )


def prose(draw: Random, pool: Pool) -> str:
    """A passage of a language, or of two."""
    out = ""
    for _ in range(draw.randint(1, 2)):
        text = PROSE[draw.choice(tuple(PROSE))]
        start = draw.randrange(len(text))
        out += text[start : start + draw.randint(1, 60)]
    return out


def edited_prose(draw: Random, pool: Pool) -> str:
    """A passage with scalars left out, doubled, put in and turned to capitals."""
    out = list(prose(draw, pool))
    for _ in range(draw.randint(1, 6)):
        at = draw.randrange(len(out) + 1)
        change = draw.randrange(4)
        if change == 0:
            out[at:at] = [_scalar(draw)]
        elif change == 1 and out:
            del out[at % len(out)]
        elif out:
            char = out[at % len(out)]
            out[at % len(out)] = char * 2 if change == 2 else char.upper()
    return "".join(out)


def hidden(draw: Random, pool: Pool) -> str:
    """Controls, formats, variation selectors, private and unassigned scalars between letters."""
    return "".join(
        draw.choice((draw.choice(_HIDDEN), "a", " b", "\u00e9")) for _ in range(draw.randint(1, 16))
    )


def endings(draw: Random, pool: Pool) -> str:
    """Apostrophes and what follows them, after words of every case."""
    words = ("I", "we", "HE", " don", "\u0130", "stra\u00dfe", "\u01c5", "x1", "_", "\u00c9t\u00e9")
    return "".join(draw.choice(words) + draw.choice(_ENDINGS) for _ in range(draw.randint(1, 8)))


def signs(draw: Random, pool: Pool) -> str:
    """Punctuation and symbols in runs, with letters and line ends."""
    out = []
    for _ in range(draw.randint(1, 10)):
        out.append(draw.choice(_SIGNS) * draw.choice((1, 1, 2, 3, 8)))
        out.append(draw.choice(("", " ", "a", "B", "\n", "\r\n", "9")))
    return "".join(out)


def runs(draw: Random, pool: Pool) -> str:
    """One text over and over."""
    unit = draw.choice(
        (_scalar(draw), draw.choice(pool.tokens), draw.choice(_SPACES), "a", "ab", "\u4e00")
    )
    return (unit or "x") * draw.randint(2, 400 // max(1, len(unit)) + 2)


def lookalikes(draw: Random, pool: Pool) -> str:
    """Texts that name bytes, tokens and escapes without being such."""
    return "".join(
        draw.choice((draw.choice(_LOOKALIKES), " ", "e")) for _ in range(draw.randint(1, 10))
    )


Generator = Callable[[Random, Pool], str]
GENERATORS: dict[str, Generator] = {
    one.__name__: one
    for one in (
        by_category, of_tokens, spaces_and_digits, of_added, pictures, equal_forms, right_to_left,
        prose, edited_prose, hidden, endings, signs, runs, lookalikes,
    )
}  # fmt: skip


def mixed(draw: Random, pool: Pool) -> tuple[str, str]:
    """The name of a generator and its text; every third time two or three of them together."""
    names = [draw.choice(tuple(GENERATORS)) for _ in range(draw.choice((1, 1, 1, 1, 2, 3)))]
    return "+".join(names), "".join(GENERATORS[name](draw, pool) for name in names)


def long_text(draw: Random, pool: Pool) -> tuple[str, str]:
    """A text of more than 200 bytes."""
    names: list[str] = []
    text = ""
    while len(text.encode()) <= 200:
        name, more = mixed(draw, pool)
        names.append(name)
        text += more
    return "+".join(names), text


def ill_formed(draw: Random, pool: Pool) -> bytes:
    """UTF-8 with one sequence that is none, somewhere between sound ones."""
    _, before = mixed(draw, pool)
    _, behind = mixed(draw, pool)
    return before.encode() + draw.choice(_NOT_SCALARS) + behind.encode()
