"""Decoding as ids come, in the runtime: the chunks of the reference's stream, step by step."""

import gc
import json
import random
from pathlib import Path
from typing import Any

import pytest

from tests.backends.test_text_gguf import mixed
from tests.backends.text_engines import Held, thinned
from tests.text.components import BYTES, MODELS
from tests.text.constructed import CORPUS
from tests.text.sentencepiece.made_models import model
from tests.text.test_streaming import ALL, PIECE_SWITCHES, tokenizer_of
from tests.text.tok2.test_gguf import NAMES, compiled, reference
from trlm_lab.backends.abi_host import Host, last_error
from trlm_lab.backends.abi_tokenizer import MODES, AbiTokenizer
from trlm_lab.errors import RuntimeRefusedError, TokenIdError
from trlm_lab.text import Decoded, TokenStream
from trlm_lab.text.sentencepiece import read_sentencepiece
from trlm_lab.text.sentencepiece.normalizer import SPACE
from trlm_lab.text.tok2 import read_tok2, write_tok2
from trlm_lab.text.vectors.samples import AnyTokenizer


def steps(stream: TokenStream, runs: list[list[int]]) -> list[Decoded]:
    """What each run gives and what is held back behind it, and the rest."""
    out: list[Decoded] = []
    for run in runs:
        out += [stream.push(*run), stream.held]
    return [*out, stream.flush(), stream.held]


def require_steps(
    ours: AbiTokenizer, plain: AnyTokenizer, ids: list[int], draw: random.Random
) -> None:
    """In one of the modes, mostly one by one."""
    mode, runs = draw.choice(MODES), in_runs(draw, ids)
    assert steps(ours.stream(mode), runs) == steps(plain.stream(mode), runs), (mode, runs)


def in_runs(draw: random.Random, ids: list[int]) -> list[list[int]]:
    runs: list[list[int]] = []
    while ids:
        size = draw.choice((0, 1, 1, 1, 3))
        runs, ids = [*runs, ids[:size]], ids[size:]
    return runs


@pytest.mark.parametrize("decoder", ALL)
def test_every_decoder(text_host: Host, decoder: str) -> None:
    """With every model: random ids, and few ids, so that runs and beginnings of matches occur."""
    for name in thinned(text_host, [*MODELS], 3):
        plain, draw = tokenizer_of(decoder, name), random.Random(decoder + name)
        ids = [n for n in range(1200) if plain.token_text(n) is not None]
        few = [n for n in ids if plain.token_text(n) in {*"lohea", "</w>", "<s>", "##o", *BYTES}]
        with AbiTokenizer(text_host, write_tok2(plain)) as ours:
            for some in (ids, few or ids):
                require_steps(ours, plain, draw.choices(some, k=14), draw)


@pytest.mark.parametrize(("decoder", "model"), [("ByteLevel", "bytes"), ("Llama", "fallback")])
def test_texts(text_host: Host, decoder: str, model: str) -> None:
    plain, draw = tokenizer_of(decoder, model), random.Random(5)
    with AbiTokenizer(text_host, write_tok2(plain)) as ours:
        for text in thinned(text_host, CORPUS[::7], 4):
            require_steps(ours, plain, plain.encode(text).ids, draw)


@pytest.mark.parametrize("name", NAMES)
def test_tokenizers_of_gguf_files(text_host: Host, name: str) -> None:
    plain, draw = reference(name), random.Random(name)
    known = [*range(len(plain.model.ids))]
    with AbiTokenizer(text_host, compiled(name)) as ours:
        for count in (4, 20):
            ids = [*draw.choices([*plain.special_ids], k=count // 4), *draw.choices(known, k=count)]
            draw.shuffle(ids)
            require_steps(ours, plain, ids, draw)
        ids = plain.encode(" it 's do n't , no ? \u00e9\U0001f642!").ids
        for mode in MODES:
            runs = [[number] for number in ids]
            assert steps(ours.stream(mode), runs) == steps(plain.stream(mode), runs), mode


@pytest.mark.parametrize("kind", ["UNIGRAM", "BPE"])
@pytest.mark.parametrize("switches", PIECE_SWITCHES, ids=str)
def test_sentencepiece_models(text_host: Host, kind: str, switches: dict[str, Any]) -> None:
    plain = read_sentencepiece(model(kind, **switches))
    pieces = [piece.text for piece in plain.file.pieces]
    few = [number for number, text in enumerate(pieces) if text.startswith(("<", SPACE))]
    draw = random.Random(f"{kind}{switches}")
    with AbiTokenizer(text_host, write_tok2(plain)) as ours:
        for count in thinned(text_host, (5, 12, 20), 3):
            require_steps(ours, plain, draw.choices(range(len(pieces)), k=count), draw)
            require_steps(ours, plain, draw.choices(few, k=count), draw)


@pytest.mark.parametrize("seed", range(8))
def test_stages_of_both_profiles(text_host: Host, seed: int) -> None:
    """Decoders in an order in which no file has them."""
    draw = random.Random(seed)
    block = write_tok2(mixed(draw))
    plain = read_tok2(block).tokenizer
    known = [*range(len(plain.model.ids)), *(token.id for token in plain.added)]
    ids = [number for number in known if plain.token_text(number) is not None]
    with AbiTokenizer(text_host, block) as ours:
        for count in thinned(text_host, (4, 15), 2):
            require_steps(ours, plain, draw.choices(ids, k=count), draw)


PLAIN = tokenizer_of("ByteLevel", "bytes")


def test_a_bad_id_changes_nothing(text_host: Host) -> None:
    """Of a run none is taken; the place counts all ids of the stream."""
    ids = PLAIN.model.ids
    with AbiTokenizer(text_host, write_tok2(PLAIN)) as ours:
        for stream in (ours.stream(), PLAIN.stream()):
            stream.push(ids["h"], ids["\xc3"])
            for bad in (99999, 1 << 40):
                with pytest.raises(TokenIdError) as refused:
                    stream.push(ids["\xa9"], bad)
                assert refused.value.facts == {"got": bad, "index": 3}
            assert stream.held == Decoded(b"\xc3", "\ufffd")
            assert stream.push(ids["\xa9"]) == Decoded("\xe9".encode(), "\xe9")
            stream.flush()
            with pytest.raises(TokenIdError) as refused:
                stream.push(99999)
            assert refused.value.facts["index"] == 0


def test_streams_side_by_side(text_host: Host) -> None:
    """Each has its own state and mode; decoding whole lists and encoding disturbs none."""
    ids = PLAIN.encode("h\xe9<s>\U0001f642").ids
    with AbiTokenizer(text_host, write_tok2(PLAIN)) as ours:
        streams = [(ours.stream(mode), PLAIN.stream(mode)) for mode in (*MODES, *MODES)]
        for index, number in enumerate(ids):
            for left, right in streams[: index + 1]:
                assert left.push(number) == right.push(number)
                ours.decode(ids[:2])
                ours.encode(b"he")
        for left, right in streams:
            assert left.flush() == right.flush()


def test_streams_end_with_their_tokenizer(text_host: Host) -> None:
    freed: list[int] = []

    class Counting:
        """A host that sees what is given back."""

        def call(self, name: str, *arguments: int) -> int:
            if name == "trlm_stream_free":
                freed.append(arguments[0])
            return text_host.call(name, *arguments)

        def __getattr__(self, name: str) -> object:
            return getattr(text_host, name)

    with AbiTokenizer(Counting(), write_tok2(PLAIN)) as ours:  # type: ignore[arg-type]
        kept = ours.stream()
        ours.stream().push(1)
        gc.collect()
        assert len(freed) == 1
    assert len(freed) == 2
    kept.close()
    assert len(freed) == 2
    with pytest.raises(RuntimeRefusedError, match="NULL_POINTER"):
        kept.push(1)


def test_null_and_unknown_numbers(text_host: Host) -> None:
    call = text_host.call
    assert call("trlm_stream_open", 0, 0) == 0
    assert call("trlm_last_error_code") == 502
    assert call("trlm_stream_given_ptr", 0, 0) == call("trlm_stream_given_len", 0, 0) == 0
    call("trlm_stream_free", 0)
    for name, arguments in (("push", (0, 0)), ("held", ()), ("flush", ())):
        assert call(f"trlm_stream_{name}", 0, *arguments) >= 1 << 31
    with AbiTokenizer(text_host, write_tok2(PLAIN)) as ours:
        assert call("trlm_stream_open", ours._handle, 3) == 0
        assert call("trlm_last_error_code") == 503
        stream = ours.stream()
        assert call("trlm_stream_push", stream._handle, 0, 1) >= 1 << 31
        assert isinstance(last_error(text_host), RuntimeRefusedError)
        assert call("trlm_stream_given_len", stream._handle, 2) == 0


@pytest.mark.model
def test_the_real_model(text_host: Host, smollm2_snapshot: Path) -> None:
    """SmolLM2's own tokenizer, whose ids are drawn at random or come from texts."""
    row = json.loads((smollm2_snapshot / "tokenizer.json").read_text())
    draw = random.Random(136)
    with Held(text_host, row) as held:
        plain = held.wanted.reference
        require_steps(held.ours, plain, draw.choices(range(49152), k=60), draw)
        for text in CORPUS[::20]:
            require_steps(held.ours, plain, plain.encode(text).ids, draw)
