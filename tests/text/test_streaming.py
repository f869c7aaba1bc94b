"""Streaming decode: joined, the whole decode to the bit; never half a character; the rest is named.

Every decoder meets every model, on random ids and on texts, in every mode.
"""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.text.components import ADDED, BYTES, DECODERS, MODELS, byte_level, kind, replaced
from tests.text.constructed import CORPUS, bpe, document
from tests.text.sentencepiece.made_models import model
from trlm_lab.errors import TokenIdError
from trlm_lab.text import MODES, Decoded, StreamingDecoder, Tokenizer, read_tokenizer
from trlm_lab.text.decoder_streams import Chain, stream_of
from trlm_lab.text.decoders import Decoder, Fuse
from trlm_lab.text.ggml.decoding import Pieces, Tidied
from trlm_lab.text.sentencepiece import read_sentencepiece
from trlm_lab.text.sentencepiece.normalizer import SPACE
from trlm_lab.text.streams import AtEnd
from trlm_lab.text.vectors.samples import AnyTokenizer

KEPT = ("utf-8", "surrogateescape")


def sequence(*stages: dict[str, Any]) -> dict[str, Any]:
    return kind("Sequence", decoders=list(stages))


#: What stands behind a text that grows: every decoder after Fuse, ends that may be stripped.
GROWING = {
    f"Fuse+{name}": sequence(kind("Fuse"), row) for name, row in DECODERS.items() if row
} | {
    "Fuse+StripBoth": sequence(kind("Fuse"), kind("Strip", content="l", start=1, stop=3)),
    "Fuse+Replace": sequence(kind("Fuse"), replaced({"String": "lol"}, "<->")),
    "Fuse+ReplaceTwice": sequence(
        kind("Fuse"), replaced({"String": "ll"}, "l"), replaced({"String": "lo"}, "")
    ),
    "ByteLevel+Strip": sequence(DECODERS["ByteLevel"], kind("Strip", content="\xe9", start=1,
                                                            stop=2)),
    "Bytes+Bytes": sequence(kind("ByteFallback"), kind("ByteFallback")),
}  # fmt: skip
ALL = DECODERS | GROWING
_KNOWN: dict[tuple[str, str], Tokenizer] = {}


def tokenizer_of(decoder: str, model: str) -> Tokenizer:
    if (decoder, model) not in _KNOWN:
        cut = byte_level() if model == "bytes" else None
        row = document(MODELS[model], decoder=ALL[decoder], added_tokens=ADDED, pre_tokenizer=cut)
        _KNOWN[decoder, model] = read_tokenizer(row)
    return _KNOWN[decoder, model]


def pushed(tokenizer: AnyTokenizer, ids: list[int], mode: str) -> list[Decoded]:
    """What each id gives, and the rest; at every place `held` is what a flush would give."""
    stream = tokenizer.stream(mode)
    out: list[Decoded] = []
    for number in ids:
        out.append(stream.push(number))
    held = stream.held
    assert stream.flush() == held
    assert stream.held == tokenizer.stream(mode).held
    return [*out, held]


def require_streams(tokenizer: AnyTokenizer, ids: list[int]) -> None:
    for mode in MODES:
        parts, whole = pushed(tokenizer, ids, mode), tokenizer.decode(ids, mode)
        assert b"".join(part.data for part in parts) == whole.data, (mode, ids)
        assert "".join(part.text for part in parts) == whole.text, (mode, ids)
        # Split characters would decode to other scalars one by one.
        apart = "".join(part.data.decode(*KEPT) for part in parts)
        assert apart == whole.data.decode(*KEPT), (mode, ids)


@pytest.mark.parametrize("decoder", ALL)
@pytest.mark.parametrize("model", MODELS)
def test_random_ids(decoder: str, model: str) -> None:
    tokenizer = tokenizer_of(decoder, model)
    ids = [n for n in range(1200) if tokenizer.token_text(n) is not None]
    # Few ids, so that repetitions, runs and beginnings of what is replaced occur.
    few = [n for n in ids if tokenizer.token_text(n) in {*"lohea", "</w>", "<s>", "##o", *BYTES}]
    draw = random.Random(decoder + model)
    for count in range(0, 30, 3):
        require_streams(tokenizer, draw.choices(ids, k=count))
        require_streams(tokenizer, draw.choices(few or ids, k=count))


@pytest.mark.parametrize("decoder", ["ByteLevel", "Llama", "none", "Fuse+Replace"])
@pytest.mark.parametrize("model", ["bytes", "fallback", "unigram_bytes"])
def test_texts(decoder: str, model: str) -> None:
    tokenizer = tokenizer_of(decoder, model)
    for text in CORPUS:
        require_streams(tokenizer, tokenizer.encode(text).ids)


LETTERS = bpe(["lol", "loll", "oo"], alphabet="lohe \xe9\u2581", first=["<unk>", *BYTES])


@settings(max_examples=300)
@given(
    texts=st.lists(st.sampled_from([*"lohe \u2581", "lol", "loll", "oo", *BYTES[0xC0:0xF8:5],
                                    *BYTES[0x80:0xC0:9], BYTES[0x41]]), max_size=24),
    decoder=st.sampled_from(list(ALL)),
)  # fmt: skip
def test_any_neighbours(texts: list[str], decoder: str) -> None:
    if ("letters", decoder) not in _KNOWN:
        _KNOWN["letters", decoder] = read_tokenizer(document(LETTERS, decoder=ALL[decoder]))
    tokenizer = _KNOWN["letters", decoder]
    require_streams(tokenizer, [tokenizer.model.ids[text] for text in texts])


GGUF_DECODERS: dict[str, list[Decoder]] = {
    "byte-level": [Pieces(True, frozenset({"<s>"}), frozenset(), frozenset({"<off>"}), False),
                   Tidied()],
    "spm": [Pieces(False, frozenset({"<s>"}), frozenset(BYTES), frozenset({"<off>"}), True)],
    "words": [Pieces(False, frozenset(), frozenset(), frozenset(), True), Tidied()],
}  # fmt: skip
GGUF_TEXTS = [
    "\u2581", "\u2581a", "\u2581?", "?", "!", "\u2581'", "'", "\u2581's", "'re", "\u2581've",
    "\u2581.", "\u2581\u2581", "\u2581,\u2581'\u2581", "e", "\u0120", "\u0120'", "\u0120?", "\xc3",
    "\xa9", "<s>", "<off>", "\u4e2d", *BYTES[0xC0:0xF8:5], *BYTES[0x80:0xC0:9], BYTES[0x41],
    BYTES[0x20],
]  # fmt: skip


@settings(max_examples=400)
@given(texts=st.lists(st.sampled_from(GGUF_TEXTS), max_size=24), lossy=st.booleans(),
       clean=st.booleans(), name=st.sampled_from(list(GGUF_DECODERS)))  # fmt: skip
def test_decoders_of_gguf_files(texts: list[str], lossy: bool, clean: bool, name: str) -> None:
    stages = GGUF_DECODERS[name]
    chain = Chain.of(stages, lossy=lossy, clean=clean)
    found = "".join([chain.push(text) for text in texts]) + chain.finish()
    whole = texts
    for stage in stages:
        whole = stage.apply(whole, lossy=lossy, clean=clean)
    assert found == "".join(whole)


def test_tidied_words_come_with_the_next_space() -> None:
    chain = Chain.of(GGUF_DECODERS["words"], lossy=False, clean=True)
    given_texts = ["\u2581it", "\u2581'", "s", "\u2581on", "\u2581?", "\u2581no"]
    assert [chain.push(text) for text in given_texts] == ["", "it", "", "'s", " on", "?"]
    assert chain.finish() == " no"


PIECE_SWITCHES: list[dict[str, Any]] = [
    {}, {"byte_fallback": True}, {"byte_fallback": True, "remove_extra_whitespaces": False},
    {"add_dummy_prefix": False, "defined": True}, {"denormalize": True},
    {"unk_surface": "", "byte_fallback": True},
]  # fmt: skip


@pytest.mark.parametrize("kind", ["UNIGRAM", "BPE"])
@pytest.mark.parametrize("switches", PIECE_SWITCHES)
def test_sentencepiece_models(kind: str, switches: dict[str, Any]) -> None:
    tokenizer = read_sentencepiece(model(kind, **switches))
    texts = [piece.text for piece in tokenizer.file.pieces]
    few = [number for number, text in enumerate(texts) if text.startswith(("<", SPACE))]
    draw = random.Random(f"{kind}{switches}")
    for length in range(40):
        require_streams(tokenizer, draw.choices(range(len(texts)), k=length))
        require_streams(tokenizer, draw.choices(few, k=length))


def test_a_character_of_byte_pieces_comes_when_it_is_whole() -> None:
    tokenizer = read_sentencepiece(model("BPE", byte_fallback=True))
    stream = tokenizer.stream()
    ids = [tokenizer.byte_ids[byte] for byte in "\xe9".encode()]
    assert [stream.push(number).data for number in ids] == [b"", "\xe9".encode()]
    assert stream.held == Decoded(b"", "\xe9")
    assert stream.push(tokenizer.byte_ids[0x41]) == Decoded(b"A", "")
    assert stream.flush() == Decoded(b"", "\xe9A")


def test_a_character_comes_when_it_is_whole() -> None:
    tokenizer = tokenizer_of("ByteLevel", "bytes")
    stream = tokenizer.stream()
    ids = tokenizer.encode("\U0001f642x").ids
    given_bytes = []
    for number in ids:
        given_bytes.append(stream.push(number).data)
    assert given_bytes == [b""] * (len(ids) - 2) + ["\U0001f642".encode(), b"x"]
    assert stream.held == Decoded(b"", "")


def test_half_a_character_is_held_and_flushed() -> None:
    tokenizer = tokenizer_of("ByteLevel", "bytes")
    stream = tokenizer.stream("diagnostic")
    assert stream.push(tokenizer.model.ids["\xc3"]).data == b""
    assert stream.held == Decoded(b"\xc3", "\\xc3")
    assert stream.push(tokenizer.model.ids["h"]) == Decoded(b"\xc3h", "\\xc3h")
    assert stream.flush() == Decoded(b"", "")


def test_bytes_of_a_run_come_before_its_text() -> None:
    """A bad byte would spoil the text of the whole run, as the source has it, but no byte."""
    tokenizer = tokenizer_of("Llama", "fallback")
    ids = tokenizer.model.ids
    stream = tokenizer.stream()
    stream.push(ids["<0xC3>"])
    assert stream.push(ids["<0xA9>"]) == Decoded("\xe9".encode(), "")
    assert stream.held == Decoded(b"", "\xe9")
    assert stream.push(ids["<0xFF>"]) == Decoded(b"\xff", "")
    assert stream.push(ids["h"]) == Decoded(b"h", "\ufffd\ufffd\ufffdh")


def test_bad_id_changes_nothing() -> None:
    tokenizer = tokenizer_of("ByteLevel", "bytes")
    stream: StreamingDecoder = tokenizer.stream()
    stream.push(tokenizer.model.ids["\xc3"])
    with pytest.raises(TokenIdError) as refused:
        stream.push(99999)
    assert refused.value.facts == {"got": 99999, "index": 1}
    assert stream.push(tokenizer.model.ids["\xa9"]).data == "\xe9".encode()


def test_unknown_decoder_waits_for_the_end() -> None:
    class Another(Fuse):
        """One that no stream is written for."""

    stream = stream_of(Another(), lossy=False, clean=False)
    assert isinstance(stream, AtEnd)
    assert list(stream.push("a", True)) == []
    assert list(stream.push("b", True)) == []
    assert list(stream.finish()) == [("ab", True)]


@pytest.mark.model
def test_smollm2(smollm2_snapshot: Path) -> None:
    row = json.loads((smollm2_snapshot / "tokenizer.json").read_text())
    tokenizer = read_tokenizer(row)
    draw = random.Random(11)
    for count in range(0, 120, 3):
        require_streams(tokenizer, draw.choices(range(49152), k=count))
    for text in CORPUS:
        require_streams(tokenizer, tokenizer.encode(text).ids)
