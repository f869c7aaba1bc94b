"""Every component against the source engine: ids, token texts and offsets, on every text."""

import itertools
import random
from typing import Any

import pytest

from tests.text.components import (
    ADDED,
    DECODERS,
    MODELS,
    NORMALIZERS,
    POST_PROCESSORS,
    PRE_TOKENIZERS,
)
from tests.text.constructed import CORPUS, bpe, byte_bpe, document, word_level
from tests.text.source_engine import Pair

#: Scalars alone: every place where a stage cuts or changes something shows in the offsets.
SCALARS = bpe([], first=["[U]"], unk_token="[U]")


def require_corpus(row: dict[str, Any]) -> None:
    pair = Pair(row)
    for text in CORPUS:
        pair.require_same(text)


@pytest.mark.parametrize("name", NORMALIZERS)
def test_normalizer(name: str) -> None:
    require_corpus(document(SCALARS, normalizer=NORMALIZERS[name], added_tokens=ADDED))


@pytest.mark.parametrize("name", PRE_TOKENIZERS)
@pytest.mark.parametrize("model", [SCALARS, word_level(["a"])], ids=["scalars", "words"])
def test_pre_tokenizer(name: str, model: dict[str, Any]) -> None:
    require_corpus(document(model, pre_tokenizer=PRE_TOKENIZERS[name], added_tokens=ADDED))


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("cut", ["none", "MetaspaceAlways", "ByteLevel", "Whitespace"])
def test_model(name: str, cut: str) -> None:
    row = document(MODELS[name], pre_tokenizer=PRE_TOKENIZERS[cut], added_tokens=ADDED)
    require_corpus(row)


@pytest.mark.parametrize("name", POST_PROCESSORS)
@pytest.mark.parametrize("cut", ["none", "ByteLevel", "ByteLevelPrefix", "MetaspaceAlways"])
def test_post_processor(name: str, cut: str) -> None:
    post, pre = POST_PROCESSORS[name], PRE_TOKENIZERS[cut]
    row = document(byte_bpe(), pre_tokenizer=pre, post_processor=post, added_tokens=ADDED)
    pair = Pair(row)
    for text in CORPUS[::2]:
        pair.require_same(text, special=True)


@pytest.mark.parametrize("name", DECODERS)
@pytest.mark.parametrize("model", ["bytes", "fallback", "suffix", "word_piece", "unigram_bytes"])
def test_decoder(name: str, model: str) -> None:
    """Random ids, so that broken UTF-8 and odd neighbours occur; special tokens are left out."""
    pair = Pair(document(MODELS[model], decoder=DECODERS[name], added_tokens=ADDED))
    ids = sorted(pair.source.get_vocab().values())
    draw = random.Random(name + model)
    for count in range(40):
        pair.require_decoded(draw.choices(ids, k=count))


PAIRS = list(itertools.product(NORMALIZERS, PRE_TOKENIZERS, MODELS))


def test_random_pipelines() -> None:
    """Two hundred pipelines out of the whole product, a few texts each."""
    draw = random.Random(20)
    for normal, cut, model in draw.sample(PAIRS, 200):
        row = document(
            MODELS[model], normalizer=NORMALIZERS[normal], pre_tokenizer=PRE_TOKENIZERS[cut],
            post_processor=POST_PROCESSORS[draw.choice(list(POST_PROCESSORS))], added_tokens=ADDED,
        )  # fmt: skip
        pair = Pair(row)
        for text in draw.sample(CORPUS, 15):
            pair.require_same(text, special=True)
