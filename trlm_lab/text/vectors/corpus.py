"""The minimum corpus: every class of it for one tokenizer, the same bytes on every machine.

A class has at least twenty samples where it is not finite.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from trlm_lab.text.profile import WHITE_SPACE
from trlm_lab.text.vectors import texts
from trlm_lab.text.vectors.added import added_samples
from trlm_lab.text.vectors.ill_formed import ill_formed_samples
from trlm_lab.text.vectors.longest import longest_samples
from trlm_lab.text.vectors.samples import AnyTokenizer, Sample, of_texts, subject_of
from trlm_lab.text.vectors.ties import tied_texts

#: Classes that a tokenizer may have fewer than twenty of, or none, and why.
FINITE = {
    "empty": "the empty text, with and without insertion",
    "added_alone": "one for each added token",
    "added_adjacent": "three for each added token",
    "added_overlapping": "four for each added token",
    "added_inside_word": "four for each added token",
    "added_spaces": "five for each added token",
    "added_denormalised": "the other forms of each added token",
    "unigram_ties": "what is found within the pieces of a Unigram model; none in other models",
}
LEAST = 20


def samples(tokenizer: AnyTokenizer) -> Iterator[Sample]:
    """Every sample, class by class."""
    subject = subject_of(tokenizer)
    yield from _characters()
    yield from _normalization()
    yield from _writing()
    yield from added_samples(subject.added)
    yield from of_texts("unknown", [*texts.UNUSUAL, *_unknown(subject.unknown)])
    yield from of_texts("byte_fallback", texts.BYTE_NAMES)
    yield from of_texts("unigram_ties", tied_texts(subject.scores))
    yield from of_texts("insertion", ["", *texts.ASCII, *texts.SCRIPTS], insert=True)
    yield from longest_samples()
    yield from ill_formed_samples()


def _characters() -> Iterator[Sample]:
    yield Sample("empty", b"")
    yield Sample("empty", b"", insert=True)
    yield from of_texts("ascii", texts.ASCII)
    places = ("{0}", "{0}{0}", "{0}a", "a{0}", "a{0}b")
    yield from of_texts("white_space", (p.format(c) for c in WHITE_SPACE for p in places))
    yield from of_texts("line_ends", _framed("\r", "\n", "\r\n"))
    yield from of_texts("tab", _framed("\t"))
    yield from of_texts("nul", _framed("\0"))
    controls = ("{0}", "a{0}b")
    low, high = [*map(chr, range(0x20)), "\x7f"], map(chr, range(0x80, 0xA0))
    yield from of_texts("c0_controls", (p.format(c) for c in low for p in controls))
    yield from of_texts("c1_controls", (p.format(c) for c in high for p in controls))


def _framed(*chars: str) -> Iterator[str]:
    return (frame.format(char) for char in chars for frame in texts.FRAMES)


def _normalization() -> Iterator[Sample]:
    """Pairs stand after each other; whether their ids are equal is for the normalizer to say."""
    forms = unicodedata.normalize
    yield from of_texts("nfc_nfd", (forms(f, t) for t in texts.COMPOSED for f in ("NFC", "NFD")))
    pairs = ((text, forms("NFKC", text)) for text in texts.COMPATIBLE)
    yield from of_texts("nfkc", (text for pair in pairs for text in pair))
    yield from of_texts("combining", texts.COMBINING)


def _writing() -> Iterator[Sample]:
    frames = ("{0}", "a{0}b", " {0} ")
    yield from of_texts("zero_width", (f.format(c) for c in texts.ZERO_WIDTH for f in frames))
    yield from of_texts("byte_order_mark", _framed("\ufeff"))
    yield from of_texts("bidi", (f.format(c) for c in texts.BIDI for f in frames))
    yield from of_texts("emoji", texts.EMOJI)
    words = (form for text in texts.SCRIPTS for form in (text, f"{text} {text}", text[:3]))
    yield from of_texts("scripts", words)
    yield from of_texts("digits", (("1234567890" * 2)[:count] for count in range(1, 21)))
    yield from of_texts("source_code", texts.CODE)
    yield from of_texts("offsets", texts.MOVING)


def _unknown(text: str | None) -> list[str]:
    """The unknown token as a text, alone and between letters."""
    return [] if text is None else [text, f"a{text}b", f"{text}{text}"]
