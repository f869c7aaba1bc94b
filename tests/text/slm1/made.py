"""BPE1 tokenizers: of a few words, drawn with every freedom of the format, of a real model."""

import random

from trlm_lab.text import Tokenizer
from trlm_lab.text.byte_chars import joined
from trlm_lab.text.models.bpe import Bpe
from trlm_lab.text.slm1 import Bpe1, Specials

WORDS = [
    b"he", b"hel", b"hell", b"ll", b"lo", b" w", b" wo", b"\xc3\xa9", b"\xf0\x9f", b"aa", b"aaaa",
]  # fmt: skip


def small(missing: bytes = b"") -> Bpe1:
    """All bytes but some, ids in the order of the bytes, then specials, then words from merges."""
    single = [bytes([n]) for n in range(256) if n not in missing]
    tokens = dict(enumerate(single))
    first = len(single)
    specials = Specials(*range(first, first + 4))
    ids = {token: number for number, token in tokens.items()}
    merges: dict[tuple[int, int], tuple[int, int]] = {}
    for word in WORDS:
        left, right = next(
            (word[:at], word[at:]) for at in range(len(word) - 1, 0, -1)
            if word[:at] in ids and word[at:] in ids
        )  # fmt: skip
        number = ids.setdefault(word, len(tokens) + 4)
        tokens[number] = word
        merges[ids[left], ids[right]] = (len(merges), number)
    return Bpe1(len(tokens) + 4, specials, tokens, merges)


def drawn(seed: int) -> Bpe1:
    """Ids in any order and with holes, bytes that are missing, several ways to one token.

    A special id may have a record with bytes; they are never its own.
    """
    draw = random.Random(seed)
    numbers = draw.sample(range(draw.choice((600, 5000))), 500)
    specials = Specials(*(numbers.pop() for _ in range(4)))
    alphabet = draw.sample(range(256), draw.choice((256, 256, 200, 2, 0)))
    ids = {bytes([byte]): numbers.pop() for byte in alphabet}
    merges: dict[tuple[int, int], tuple[int, int]] = {}
    for _ in range(draw.choice((1, 30, 150)) if ids else 0):
        common = [token for token in ids if token.isascii()] or [*ids]
        left, right = draw.choices(common, k=2)
        pair = ids[left], ids[right]
        if pair not in merges and len(left + right) < 40:
            merges[pair] = len(merges), ids.setdefault(left + right, numbers[-1])
            numbers = [number for number in numbers if number not in {*ids.values()}]
    tokens = {number: token for token, number in ids.items()}
    if draw.random() < 0.5:
        tokens[specials.pad] = b"a record that counts for nothing"
    return Bpe1(max([*tokens, *specials]) + draw.randrange(1, 9), specials, tokens, merges)


def of_byte_level(plain: Tokenizer, specials: Specials) -> Bpe1:
    """The bytes and merges of a byte-level BPE, all of whose texts are one piece."""
    assert isinstance(plain.model, Bpe)
    rows = sorted((number, joined([text])) for text, number in plain.model.ids.items())
    tokens = {number: data for number, data in rows if number not in specials}
    return Bpe1(rows[-1][0] + 1, specials, tokens, plain.model.merges)
