"""Small tokenizers of every component, and texts of every class of the minimum corpus."""

import unicodedata
from typing import Any

from trlm_lab.text.byte_chars import CHARS

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

SCRIPTS = [
    "Gr\xfc\xdfe aus K\xf6ln",
    "\u0395\u03bb\u03bb\u03b7\u03bd\u03b9\u03ba\u03ac \u03b3\u03c1\u03ac\u03bc\u03bc\u03b1"
    "\u03c4\u03b1",
    "\u0421\u044a\u0435\u0448\u044c \u0435\u0449\u0451 \u044d\u0442\u0438\u0445 \u0431\u0443"
    "\u043b\u043e\u043a",
    "\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd",
    "\u0627\u0644\u0633\u0644\u0627\u0645 \u0639\u0644\u064a\u0643\u0645 \u0661\u0662\u0663",
    "\u0928\u092e\u0938\u094d\u0924\u0947 \u0926\u0941\u0928\u093f\u092f\u093e",
    "\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35\u0e0a\u0e32\u0e27\u0e42\u0e25\u0e01",
    "\u3053\u3093\u306b\u3061\u306f\u4e16\u754c\u30ab\u30bf\u30ab\u30ca",
    "\u4f60\u597d\uff0c\u4e16\u754c\u3002",
    "\uc548\ub155\ud558\uc138\uc694 \uac01",
    "\u10e5\u10d0\u10e0\u10d7\u10e3\u10da\u10d8",
    "\u0540\u0561\u0575\u0565\u0580\u0565\u0576",
    "\u1797\u17b6\u179f\u17b6\u1781\u17d2\u1798\u17c2\u179a",
    "\u0ba4\u0bae\u0bbf\u0bb4\u0bcd",
    "\u1019\u103c\u1014\u103a\u1019\u102c",
]  # fmt: skip

EMOJI = [
    "\U0001f469\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466",
    "\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7", "\U0001f44d\U0001f3fd", "1\ufe0f\u20e3",
    "\u2764\ufe0f", "\U0001f3f4\u200d\u2620\ufe0f", "\u260e\ufe0e", "\U0001f642\U0001f642",
]  # fmt: skip

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
