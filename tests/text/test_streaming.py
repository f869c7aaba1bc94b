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
from trlm_lab.errors import TokenIdError
from trlm_lab.text import MODES, Decoded, StreamingDecoder, Tokenizer, read_tokenizer
from trlm_lab.text.decoder_streams import AtEnd, stream_of
from trlm_lab.text.decoders import Fuse

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


def pushed(tokenizer: Tokenizer, ids: list[int], mode: str) -> list[Decoded]:
    """What each id gives, and the rest; at every place `held` is what a flush would give."""
    stream = tokenizer.stream(mode)
    out: list[Decoded] = []
    for number in ids:
        out.append(stream.push(number))
    held = stream.held
    assert stream.flush() == held
    assert stream.held == tokenizer.stream(mode).held
    return [*out, held]


def require_streams(tokenizer: Tokenizer, ids: list[int]) -> None:
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
