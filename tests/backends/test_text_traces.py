"""Every stage of a text in the runtime: the records of the reference, and the run that it is of."""

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.backends.test_text_gguf import mixed
from tests.backends.test_text_product import KNOWN
from tests.backends.text_engines import Held, thinned
from tests.text.components import (
    ADDED,
    MODELS,
    NORMALIZERS,
    POST_PROCESSORS,
    PRE_TOKENIZERS,
    SCALARS,
)
from tests.text.constructed import CORPUS, document, word_level
from tests.text.sentencepiece.made_models import model
from tests.text.test_streaming import PIECE_SWITCHES
from tests.text.tok2.test_gguf import NAMES, compiled, reference, texts
from trlm_lab.backends.abi_host import Host
from trlm_lab.backends.abi_tokenizer import AbiTokenizer
from trlm_lab.errors import TextTooLongError, TrlmError, UnknownTokenMissingError, Utf8Error
from trlm_lab.text import Encoding
from trlm_lab.text.coordinates import Coordinates, Span
from trlm_lab.text.post_processors import Template, inserted
from trlm_lab.text.sentencepiece import read_sentencepiece
from trlm_lab.text.tok2 import read_tok2, write_tok2
from trlm_lab.text.tokenizer import Component
from trlm_lab.text.vectors.samples import AnyTokenizer


def traced(
    ours: AbiTokenizer, text: str, special: bool = True, content: tuple[Span, ...] = ()
) -> Encoding:
    place = Coordinates(text)
    spans = [place.utf8(span) for span in content]
    return ours.trace(text.encode(), add_special_tokens=special, content=spans)


def require_trace(
    ours: AbiTokenizer, plain: AnyTokenizer, text: str, content: tuple[Span, ...] = ()
) -> None:
    """All records, or the same refusal; and what is traced is what is encoded."""
    try:
        wanted = plain.encode(text, trace=True, add_special_tokens=True, content=content)
    except TrlmError as error:
        with pytest.raises(type(error)):
            traced(ours, text, content=content)
        return
    found = traced(ours, text, content=content)
    assert found.stages == wanted.stages, ascii(text)
    assert found == wanted, ascii(text)
    place = Coordinates(text)
    spans = [place.utf8(span) for span in content]
    ids, offsets = ours.encode(text.encode(), add_special_tokens=True, content=spans)
    assert (ids.tolist(), [*map(tuple, offsets.tolist())]) == (found.ids, found.offsets())


def require_corpus(host: Host, row: dict[str, Any], step: int) -> None:
    with Held(host, row) as held:
        for text in thinned(host, CORPUS[::step], 8):
            require_trace(held.ours, held.wanted.reference, text)


@pytest.mark.parametrize("name", NORMALIZERS)
def test_normalizer(text_host: Host, name: str) -> None:
    cut = PRE_TOKENIZERS["MetaspaceAlways"]
    row = document(SCALARS, normalizer=NORMALIZERS[name], pre_tokenizer=cut, added_tokens=ADDED)
    require_corpus(text_host, row, 8)


@pytest.mark.parametrize("name", PRE_TOKENIZERS)
def test_pre_tokenizer(text_host: Host, name: str) -> None:
    row = document(word_level(["a"]), pre_tokenizer=PRE_TOKENIZERS[name], added_tokens=ADDED)
    require_corpus(text_host, row, 7)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("cut", ["none", "ByteLevelPrefix"])
def test_model(text_host: Host, name: str, cut: str) -> None:
    row = document(MODELS[name], pre_tokenizer=PRE_TOKENIZERS[cut], added_tokens=ADDED)
    require_corpus(text_host, row, 7)


@pytest.mark.parametrize("name", POST_PROCESSORS)
def test_post_processor(text_host: Host, name: str) -> None:
    row = document(
        MODELS["unigram_bytes"],
        normalizer=NORMALIZERS["Llama"],
        pre_tokenizer=PRE_TOKENIZERS["ByteLevelPrefix"],
        post_processor=POST_PROCESSORS[name],
        added_tokens=ADDED,
    )
    require_corpus(text_host, row, 8)


def test_random_pipelines(text_host: Host) -> None:
    """Some of a text is content, so that places in the given text decide in every stage."""
    draw = random.Random(22)
    for _ in thinned(text_host, range(30), 4):
        row = document(
            draw.choice(list(MODELS.values())),
            normalizer=draw.choice(list(NORMALIZERS.values())),
            pre_tokenizer=draw.choice(list(PRE_TOKENIZERS.values())),
            post_processor=draw.choice(list(POST_PROCESSORS.values())),
            added_tokens=ADDED,
        )
        with Held(text_host, row) as held:
            for text in draw.sample(CORPUS, 6):
                start, end = sorted(draw.choices(range(len(text) + 1), k=2))
                content = ((start, end),) if start < end else ()
                require_trace(held.ours, held.wanted.reference, text, content)


@pytest.mark.parametrize("name", KNOWN)
def test_known_pipelines(text_host: Host, name: str) -> None:
    require_corpus(text_host, KNOWN[name], 7)


@pytest.mark.parametrize("name", NAMES)
def test_tokenizers_of_gguf_files(text_host: Host, name: str) -> None:
    plain = reference(name)
    with AbiTokenizer(text_host, compiled(name)) as ours:
        for text in thinned(text_host, texts(3)[::9], 4):
            require_trace(ours, plain, text)


@pytest.mark.parametrize("kind", ["UNIGRAM", "BPE"])
@pytest.mark.parametrize("switches", PIECE_SWITCHES, ids=str)
def test_sentencepiece_models(text_host: Host, kind: str, switches: dict[str, Any]) -> None:
    plain = read_sentencepiece(model(kind, **switches))
    with AbiTokenizer(text_host, write_tok2(plain)) as ours:
        for text in thinned(text_host, CORPUS[::5], 4):
            require_trace(ours, plain, text)


@pytest.mark.parametrize("seed", range(8))
def test_stages_of_both_profiles(text_host: Host, seed: int) -> None:
    """Around a model of the second profile, as no file has them."""
    draw = random.Random(seed)
    block = write_tok2(mixed(draw))
    with AbiTokenizer(text_host, block) as ours:
        for text in thinned(text_host, draw.sample(texts(seed), 6), 3):
            require_trace(ours, read_tok2(block).tokenizer, text)


def test_templates_after_one_another(text_host: Host) -> None:
    """No file has such, a block may: a token put around is the second one's own."""
    plain = Held(text_host, KNOWN["qwen"]).wanted.reference
    rows = [
        Template((inserted(number, text), None, inserted(number + 1, f"{text}{text}"), None))
        for number, text in ((7, "<a>"), (9, "\xe9"))
    ]
    posts = tuple(Component(f"/post_processor/{i}", "Two", row) for i, row in enumerate(rows))
    plain = replace(plain, post_processors=posts)
    with AbiTokenizer(text_host, write_tok2(plain)) as ours:
        for text in ("", "he llo", "\U0001f642"):
            require_trace(ours, plain, text)


def test_long_pieces(text_host: Host) -> None:
    """Those that the model is given in parts, and those that it remembers."""
    with Held(text_host, KNOWN["llama"]) as held:
        for text in ("he llo " * 300, "a" * 900, "\u4e2d\U0001f642x" * 300):
            require_trace(held.ours, held.wanted.reference, text)


def test_refusals(text_host: Host) -> None:
    with Held(text_host, KNOWN["qwen"]) as held:
        with pytest.raises(Utf8Error) as refused:
            held.ours.trace(b"ab\xed\xa0\x80")
        assert refused.value.facts["index"] == 2
        with pytest.raises(TextTooLongError):
            held.ours.trace(bytes((64 << 20) + 1))
    words = word_level(["a"])
    words["unk_token"] = "[NONE]"
    row = document(words, pre_tokenizer={"type": "Whitespace"})
    with Held(text_host, row) as held:
        held.ours.trace(b"a")
        with pytest.raises(UnknownTokenMissingError):
            held.ours.trace(b"a b")
        # Nothing of the text before is left.
        assert text_host.call("trlm_text_trace_len", held.ours._handle, 0) == 0
        assert text_host.call("trlm_text_trace_ptr", held.ours._handle, 5) == 0


@pytest.mark.model
def test_the_real_model(text_host: Host, smollm2_snapshot: Path) -> None:
    row = json.loads((smollm2_snapshot / "tokenizer.json").read_text())
    with Held(text_host, row) as held:
        for text in thinned(text_host, CORPUS[::20], 3):
            require_trace(held.ours, held.wanted.reference, text)
        block = read_tok2(held.wanted.block).tokenizer
        require_trace(held.ours, block, "It's 12 o\u2019clock <|im_end|>\n\u00e9")
