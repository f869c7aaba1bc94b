"""Every component in the runtime, native and WebAssembly: ids, offsets, bytes of the reference."""

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.backends.text_engines import Held
from tests.text.charsmaps import Writer
from tests.text.components import (
    ADDED,
    DECODERS,
    MODELS,
    NORMALIZERS,
    O200K,
    POST_PROCESSORS,
    PRE_TOKENIZERS,
    QWEN,
    SCALARS,
    byte_level,
    kind,
    split,
)
from tests.text.constructed import CORPUS, byte_bpe, document, word_level
from tests.text.tok2.blocks import PATTERN
from trlm_lab.backends.abi_host import Host


def require_corpus(
    host: Host, row: dict[str, Any], step: int = 1, *, special: bool = False
) -> None:
    with Held(host, row) as held:
        for text in CORPUS[::step]:
            held.require_same(text, special=special)


@pytest.mark.parametrize("name", NORMALIZERS)
def test_normalizer(text_host: Host, name: str) -> None:
    row = document(SCALARS, normalizer=NORMALIZERS[name], added_tokens=ADDED)
    require_corpus(text_host, row)


@pytest.mark.parametrize("name", PRE_TOKENIZERS)
@pytest.mark.parametrize("model", [SCALARS, word_level(["a"])], ids=["scalars", "words"])
def test_pre_tokenizer(text_host: Host, name: str, model: dict[str, Any]) -> None:
    row = document(model, pre_tokenizer=PRE_TOKENIZERS[name], added_tokens=ADDED)
    require_corpus(text_host, row, 2)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("cut", ["none", "MetaspaceAlways", "ByteLevel", "Whitespace"])
def test_model(text_host: Host, name: str, cut: str) -> None:
    row = document(MODELS[name], pre_tokenizer=PRE_TOKENIZERS[cut], added_tokens=ADDED)
    require_corpus(text_host, row, 2)


@pytest.mark.parametrize("name", POST_PROCESSORS)
@pytest.mark.parametrize("cut", ["none", "ByteLevel", "ByteLevelPrefix", "MetaspaceAlways"])
@pytest.mark.parametrize("model", ["bytes", "unigram", "unigram_bytes"])
def test_post_processor(text_host: Host, name: str, cut: str, model: str) -> None:
    post, pre = POST_PROCESSORS[name], PRE_TOKENIZERS[cut]
    row = document(MODELS[model], pre_tokenizer=pre, post_processor=post, added_tokens=ADDED)
    require_corpus(text_host, row, 3, special=True)


@pytest.mark.parametrize("name", DECODERS)
@pytest.mark.parametrize("model", ["bytes", "fallback", "suffix", "word_piece", "unigram_bytes"])
def test_decoder(text_host: Host, name: str, model: str) -> None:
    """Random ids, so that broken UTF-8 and odd neighbours occur."""
    row = document(MODELS[model], decoder=DECODERS[name], added_tokens=ADDED)
    draw = random.Random(name + model)
    with Held(text_host, row) as held:
        ids = sorted(held.wanted.source.get_vocab().values())
        for count in range(40):
            held.require_decoded(draw.choices(ids, k=count))


def test_random_pipelines(text_host: Host) -> None:
    draw = random.Random(21)
    for _ in range(60):
        row = document(
            draw.choice(list(MODELS.values())),
            normalizer=draw.choice(list(NORMALIZERS.values())),
            pre_tokenizer=draw.choice(list(PRE_TOKENIZERS.values())),
            post_processor=draw.choice(list(POST_PROCESSORS.values())),
            added_tokens=ADDED,
        )
        with Held(text_host, row) as held:
            for text in draw.sample(CORPUS, 15):
                held.require_same(text, special=True)


def test_every_node_of_patterns(text_host: Host) -> None:
    """Looks, atomic groups, lazy and possessive repetitions, beside Python's `re`."""
    draw = random.Random(5)
    with Held(text_host, document(SCALARS, pre_tokenizer=split(PATTERN, "Isolated"))) as held:
        for _ in range(1500):
            held.require_same("".join(draw.choices("abcdeqxyzA .", k=draw.randrange(1, 24))))


def test_word_characters_in_brackets(text_host: Host) -> None:
    """Superscripts and fractions are some alone, and none in a class."""
    for pattern in (r"[^\s\w]+", r"\W+"):
        with Held(text_host, document(SCALARS, pre_tokenizer=split(pattern, "Removed"))) as held:
            for text in ("x\xb21", "\xb2\xb3\xb9 \xbc\xbd\xbe", "a-\xbdb", "\xb5\xba\xaa"):
                held.require_same(text)


#: A key that begins others, one that is a cluster, one that becomes nothing, one that grows.
RULES = {
    "\xe9": "e\u0301",
    "e\u0301": "\xe9",
    "\ufb01": "fi",
    "\u0300": "",
    "\xbd": "1/2",
    "a\xa0": "a",
}
#: Pipelines that a text is drawn for: those of known tokenizers.
KNOWN: dict[str, dict[str, Any]] = {
    "qwen": document(
        byte_bpe(ignore_merges=True),
        normalizer=kind("NFC"),
        pre_tokenizer=kind(
            "Sequence", pretokenizers=[split(QWEN, "Isolated"), byte_level(regex=False)]
        ),
        post_processor=byte_level(),
        added_tokens=ADDED,
    ),
    "o200k": document(
        byte_bpe(),
        pre_tokenizer=kind(
            "Sequence", pretokenizers=[split(O200K, "Removed", True), byte_level(regex=False)]
        ),
    ),
    "llama": document(MODELS["fallback"], normalizer=NORMALIZERS["Llama"], added_tokens=ADDED),
    "bert": document(
        MODELS["word_piece"],
        normalizer=NORMALIZERS["Bert"],
        pre_tokenizer=kind("BertPreTokenizer"),
        post_processor=POST_PROCESSORS["Bert"],
    ),
    "t5": document(
        MODELS["unigram"],
        normalizer=kind("Precompiled", precompiled_charsmap=Writer(RULES).encoded()),
        pre_tokenizer=PRE_TOKENIZERS["MetaspaceAlways"],
    ),
}  # fmt: skip
texts = st.text(max_size=80) | st.lists(st.sampled_from(CORPUS), max_size=6).map("".join)


@pytest.mark.parametrize("name", KNOWN)
def test_any_text(text_host: Host, name: str) -> None:
    with Held(text_host, KNOWN[name]) as held:

        @settings(max_examples=150, deadline=None)
        @given(text=texts, special=st.booleans())
        def differential(text: str, special: bool) -> None:
            held.require_same(text, special=special)

        differential()


@pytest.mark.parametrize("name", KNOWN)
def test_any_content(text_host: Host, name: str) -> None:
    """Content gives no control token, neither as added token nor by the model."""
    with Held(text_host, KNOWN[name]) as held:

        @settings(max_examples=150, deadline=None)
        @given(text=texts, cuts=st.sets(st.integers(0, 60), min_size=2, max_size=8))
        def differential(text: str, cuts: set[int]) -> None:
            places = sorted({min(cut, len(text)) for cut in cuts})
            content = tuple(zip(places[::2], places[1::2], strict=False))
            held.require_same(text, content=content)

        differential()
