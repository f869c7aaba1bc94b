"""Every component against the source engine: ids, token texts and offsets, on every text."""

import itertools
import random

import pytest

from tests.text.components import (
    DECODERS,
    MODELS,
    NORMALIZERS,
    POST_PROCESSORS,
    PRE_TOKENIZERS,
)
from tests.text.constructed import CORPUS
from tests.text.source_engine import pair_of


@pytest.mark.parametrize("name", NORMALIZERS)
def test_normalizer(name: str) -> None:
    pair_of(normalizer=name).require_corpus()


@pytest.mark.parametrize("name", PRE_TOKENIZERS)
@pytest.mark.parametrize("model", ["scalars", "words"])
def test_pre_tokenizer(name: str, model: str) -> None:
    pair_of(model, pre_tokenizer=name).require_corpus()


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("cut", ["none", "MetaspaceAlways", "ByteLevel", "Whitespace"])
def test_model(name: str, cut: str) -> None:
    pair_of(name, pre_tokenizer=cut).require_corpus()


@pytest.mark.parametrize("name", POST_PROCESSORS)
@pytest.mark.parametrize("cut", ["none", "ByteLevel", "ByteLevelPrefix", "MetaspaceAlways"])
def test_post_processor(name: str, cut: str) -> None:
    pair = pair_of("bytes", pre_tokenizer=cut, post_processor=name)
    pair.require_corpus(special=True, every=2)


@pytest.mark.parametrize("name", DECODERS)
@pytest.mark.parametrize("model", ["bytes", "fallback", "suffix", "word_piece", "unigram_bytes"])
def test_decoder(name: str, model: str) -> None:
    """Random ids, so that broken UTF-8 and odd neighbours occur; special tokens are left out."""
    pair = pair_of(model, decoder=name)
    ids = sorted(pair.source.get_vocab().values())
    draw = random.Random(name + model)
    for count in range(40):
        pair.require_decoded(draw.choices(ids, k=count))


PIPELINES = list(itertools.product(NORMALIZERS, PRE_TOKENIZERS, MODELS))


def test_random_pipelines() -> None:
    """Two hundred pipelines out of the whole product, a few texts each."""
    draw = random.Random(20)
    for normal, cut, model in draw.sample(PIPELINES, 200):
        post = draw.choice(list(POST_PROCESSORS))
        pair = pair_of(model, normalizer=normal, pre_tokenizer=cut, post_processor=post)
        for text in draw.sample(CORPUS, 15):
            pair.require_same(text, special=True)
