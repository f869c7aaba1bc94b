"""Small tokenizers of every component, and texts of every class of the minimum corpus."""

import unicodedata
from typing import Any

from trlm_lab.text.byte_chars import CHARS
from trlm_lab.text.vectors.texts import EMOJI, SCRIPTS

BYTE_VOCAB = {char: number for number, char in enumerate(CHARS)}
FLAGS = ("single_word", "lstrip", "rstrip", "normalized", "special")


def added(content: str, number: int, *flags: str) -> dict[str, Any]:
    """An added token with the named flags."""
    return {"id": number, "content": content} | {name: name in flags for name in FLAGS}


def document(model: dict[str, Any], **stages: Any) -> dict[str, Any]:
    """A tokenizer.json."""
    row: dict[str, Any] = dict.fromkeys(
        ("truncation", "padding", "normalizer", "pre_tokenizer", "post_processor", "decoder")
    )
    return {"version": "1.0", "added_tokens": [], **row, "model": model} | stages


def bpe(words: list[str], *, alphabet: str = "", **options: Any) -> dict[str, Any]:
    """A BPE that has each of these words, merged from the left."""
    vocab: dict[str, int] = {}
    for text in options.pop("first", []):
        vocab.setdefault(text, len(vocab))
    for char in alphabet + "".join(words):
        vocab.setdefault(char, len(vocab))
    merges: list[list[str]] = []
    for word in words:
        for size in range(1, len(word)):
            pair = [word[:size], word[size]]
            vocab.setdefault(word[: size + 1], len(vocab))
            if pair not in merges:
                merges.append(pair)
    base = {
        "type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
        "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False,
        "ignore_merges": False,
    }  # fmt: skip
    return {**base, **options, "vocab": vocab, "merges": merges}


def byte_bpe(**options: Any) -> dict[str, Any]:
    """A byte-level BPE with all bytes and a few merges."""
    words = ["he", "hell", "lo", "Ġw", "Ġwo", "ĠĠ", "Ã©", "âĢ", "ðŁ", "00", "''"]
    return bpe(words, alphabet="".join(CHARS), **options)


def unigram(pieces: dict[str, float], unknown: int | None = 0, **options: Any) -> dict[str, Any]:
    """A Unigram model."""
    rows = [[piece, score] for piece, score in pieces.items()]
    return {"type": "Unigram", "unk_id": unknown, "vocab": rows, "byte_fallback": False} | options


def word_piece(words: list[str], **options: Any) -> dict[str, Any]:
    """A WordPiece model."""
    vocab = {word: number for number, word in enumerate(["[UNK]", *words])}
    return {
        "type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
        "max_input_chars_per_word": 100, "vocab": vocab,
    } | options  # fmt: skip


def word_level(words: list[str]) -> dict[str, Any]:
    """A WordLevel model."""
    vocab = {word: number for number, word in enumerate(["[UNK]", *words])}
    return {"type": "WordLevel", "vocab": vocab, "unk_token": "[UNK]"}


SPACES = [chr(c) for c in range(0x110000) if c in (0x85, 0x200B, 0xFEFF, 0x180E) or (
    not 0xD800 <= c < 0xE000 and chr(c).isspace()
)]  # fmt: skip

CORPUS = [
    "", "a", "hello world", "  hello   world  ",
    "Hello, World! Don't you'll we've I'm he'd they're", "a\r\nb", "a\rb", "a\n\n\nb", "\t\ta\t",
    "a\x00b", "\x00", "\x01\x1c\x1d\x1e\x1f\x7f", "\x80\x85\x9f", "\xe9", "e\u0301", "\xc5",
    "\u212b", "\ufb01", "x\xb2", "\xbd", "\u2167", "\uac01", "\u1100\u1161\u11a8", "\u1ead",
    "\xe9\u0323", "a\u0323\u0301", "\u0301abc", "a\u0301\u0301\u0301", "\u0130STANBUL",
    "\u03a3\u038a\u03a3\u03a5\u03a6\u039f\u03a3", "\u1e9e", "\u0149", "\u017ft", "\u0344",
    "\u0f73", "\u1e9b\u0323", "a\u200bb", "a\u200db", "\ufeffx", "\u202eabc\u202c",
    "\u2066x\u2069", "a\xa0b", "a\u3000b", "3.14 1,000,000 \u0663\u0664 \xb2\xb3 \u2460",
    "def f(x):\n    return x ** 2  # ok\n", "<a href=\"x\">&amp;</a>", "a_b-c/d\\e|f",
    "\u4e2da\u6587", "a\u4e2d", "\u4e2d", "\u4e00\u9fa5\u8c48", "ab,cd;ef", "\u2026\u2025\xb7",
    "!!??", "$+<=>^`|~", "[CLS]x", "\u2581a\u2581", "a b", "<s>", "</s>", "x<s>y", " <s> ",
    "<s><s>", "<mask>", "  <mask>  ", "a<mask>b", "<ma<mask>sk>", "Word", "aWord", "Word Word",
    "Wording", "word", "WORD", "\ufb01x", "\xe9x", "e\u0301x", "<0xE2>", "<0x41>", "\u0120",
    "\u0120he", "hello \u0120",
]  # fmt: skip
CORPUS += [*SCRIPTS, *EMOJI]
CORPUS += [("1234567890" * 2)[:n] for n in range(1, 21)]
CORPUS += [form for c in SPACES for form in (c, c + c, c + "a", "a" + c, "a" + c + "b")]
CORPUS += [
    unicodedata.normalize(form, text) for text in SCRIPTS for form in ("NFC", "NFD", "NFKC", "NFKD")
]
