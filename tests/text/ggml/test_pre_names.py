"""Every word of the table against llama.cpp, in a vocabulary in which every cut shows."""

import random
from pathlib import Path

import pytest

from tests.text.ggml.made_vocabulary import PAIRED, byte_level
from tests.text.ggml.peers import GgufPair
from trlm_lab.errors import TokenizerKindError
from trlm_lab.text.ggml import read_gguf_tokenizer
from trlm_lab.text.ggml.pre_names import NOT_BUILT, PRE_TOKENIZATIONS

WORDS = (
    "'s", "'LL", "'re", "'Ve", " hello", "Hello", "1234567", " 12", "\n\n", "  ", "\r\n", "//",
    "/n", "<sentinel:12>", "IMGIMGABZ", "IMGIMGABCDZ", "\u0928\u092e\u0938\u094d\u0924\u0947",
    "\u0627\u0644\u0633\u0644\u0627\u0645", "\ud55c\uad6d", "\u2026", "\u3001\u3002", "'\u017f",
    "\u212a", "<|a|>", "</s>", "\u01c5", "\U0001f642", "\u1fbe", "\ue000", "\u0378",
)  # fmt: skip


def texts(name: str, count: int) -> list[str]:
    draw = random.Random(name)
    return [
        "".join(draw.choice(PAIRED if draw.random() < 0.7 else WORDS) for _ in range(1 + n % 40))
        for n in range(count)
    ]


@pytest.mark.peer
@pytest.mark.parametrize("name", PRE_TOKENIZATIONS)
def test_word(name: str, tmp_path: Path) -> None:
    fields = byte_level(name, more=("<|a|>", "</s>"), raw=PRE_TOKENIZATIONS[name].raw)
    pair = GgufPair(fields, tmp_path / "made.gguf")
    for text in texts(name, 60):
        pair.require_same(text)
    draw = random.Random(name)
    for count in range(20):
        pair.require_decoded(draw.choices(range(pair.source.size), k=count))


@pytest.mark.parametrize("name", [*NOT_BUILT, "unheard-of"])
def test_other_words_are_refused_by_name(name: str) -> None:
    with pytest.raises(TokenizerKindError, match=name) as refused:
        read_gguf_tokenizer(byte_level(name))
    assert refused.value.where == "tokenizer.ggml.pre"


def test_no_word_is_said() -> None:
    fields = byte_level("default")
    named = read_gguf_tokenizer(fields)
    del fields["tokenizer.ggml.pre"]
    unnamed = read_gguf_tokenizer(fields)
    assert "no pre-tokenizer is named" in unnamed.notes[0]
    assert unnamed.pre_tokenizers[0].stage == named.pre_tokenizers[0].stage
