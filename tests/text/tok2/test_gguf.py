"""Profile 2: tokenizers of GGUF files, compiled without their tables, and their own rules."""

import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.text.constructed import CORPUS
from tests.text.ggml.made_vocabulary import byte_level
from tests.text.ggml.test_vocabularies import PARTS, scored
from tests.text.tok2.blocks import Block
from tests.text.tok2.test_mutations import CHANGES, require_sound
from trlm_lab.errors import PatternUnsupportedError, Tok2CompileError, Tok2Error
from trlm_lab.text import Tokenizer
from trlm_lab.text.aligned import Aligned
from trlm_lab.text.ggml import read_gguf_tokenizer
from trlm_lab.text.ggml.compiled import cuts_of, words_of
from trlm_lab.text.ggml.pre_names import PATTERNS
from trlm_lab.text.ggml.splitting import GgmlSplit
from trlm_lab.text.ggml.words import GgmlWords
from trlm_lab.text.profile import profile_of
from trlm_lab.text.tok2 import read_tok2, write_tok2

K = "tokenizer.ggml."


def fields(name: str) -> dict[str, Any]:
    if name in ("llama", "bert"):
        return scored(name)
    made = byte_level(name, more=("<|end|>", "<x y>"))
    made[f"{K}merges"] = [*made[f"{K}merges"], "\u0394 \u0395", "\u0394\u0395 h"]
    return made


NAMES = ("gpt-2", "llama-bpe", "deepseek-llm", "llama", "bert")
BLOCKS: dict[str, bytes] = {}


def reference(name: str) -> Tokenizer:
    return read_gguf_tokenizer(fields(name))


def compiled(name: str) -> bytes:
    if name not in BLOCKS:
        BLOCKS[name] = write_tok2(reference(name))
    return BLOCKS[name]


def texts(seed: int) -> list[str]:
    draw = random.Random(seed)
    return [*CORPUS, *("".join(draw.choices(PARTS, k=draw.randrange(1, 20))) for _ in range(60))]


@pytest.mark.parametrize("name", NAMES)
def test_the_profile_stays(name: str) -> None:
    """Patterns and words are pinned by the sets that they go by, compiled or not."""
    found = read_tok2(compiled(name)).tokenizer
    assert profile_of(found) == profile_of(reference(name))


def test_the_profile_shows_the_pattern() -> None:
    one, other = (reference(name) for name in ("gpt-2", "llama-bpe"))
    changed = replace(one, pre_tokenizers=other.pre_tokenizers)
    assert profile_of(one).profile_id != profile_of(changed).profile_id


@pytest.mark.parametrize("name", NAMES)
def test_comes_back(name: str) -> None:
    plain, block = reference(name), compiled(name)
    found = read_tok2(block).tokenizer
    assert write_tok2(found) == block
    assert Block(block).header.profile == 2
    for text in texts(len(name)):
        for special in (False, True):
            wanted = plain.encode(text, add_special_tokens=special)
            assert found.encode(text, add_special_tokens=special) == wanted, ascii(text)
        for mode in ("raw", "visible", "diagnostic"):
            for ids in (wanted.ids, [*plain.special_ids, *wanted.ids]):
                assert found.decode(ids, mode) == plain.decode(ids, mode)
        assert (
            found.encode(text, content=[(0, len(text))]).ids
            == plain.encode(text, content=[(0, len(text))]).ids
        )


def test_texts_that_only_merges_make() -> None:
    """They stand behind the tokens, and have no id that decodes."""
    block = Block(compiled("gpt-2"))
    real = block.number("model", 40)
    assert block.header.token_count - real == 4
    found = read_tok2(compiled("gpt-2")).tokenizer
    assert found.token_text(real - 1) is not None
    assert found.token_text(real) is None


def scalar_runs() -> list[str]:
    codes = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    return [" a1".join(map(chr, codes[at : at + 2048])) for at in range(0, len(codes), 4096 * 60)]


@pytest.mark.parametrize("name", PATTERNS)
def test_patterns_over_scalars(name: str) -> None:
    """Sets of scalars cut where the patterns over classes cut, but for one that matches nothing."""
    stage = GgmlSplit(PATTERNS[name])
    if name == "superbpe":
        with pytest.raises(PatternUnsupportedError):
            cuts_of(stage)
        return
    for text in [*texts(5), *scalar_runs(), "1234567 12 \u0661\u0662\u0663\u0664", "a\n  "]:
        cut = cuts_of(stage).split(Aligned.whole(text))
        assert [one.origin(0, len(one.text)) for one in cut] == stage.spans(text), ascii(text)


@pytest.mark.parametrize("lowercase", [False, True])
@pytest.mark.parametrize("accents", [False, True])
def test_words_over_scalars(lowercase: bool, accents: bool) -> None:
    stage = GgmlWords(lowercase, accents)
    sets = words_of(stage)
    for text in [*texts(6), *scalar_runs(), "\0a\ufffdb\x7f+\u20ac"]:
        piece = Aligned.whole(text)
        assert sets.split(piece) == stage.split(piece)


#: Tokenizer, section, byte (from the end if negative), value, code: of the rules of profile 2.
CASES: dict[str, tuple[str, str, int, int, str]] = {
    "more tokens than texts": ("gpt-2", "model", 40, 1 << 20, "MODEL"),
    "a reserved field": ("gpt-2", "model", 44, 1, "MODEL"),
    "a flag of another model": ("gpt-2", "model", 4, 1, "MODEL"),
    "tokens of a vocabulary by scores": ("llama", "model", 40, 1, "MODEL"),
    "no unknown token": ("bert", "model", 24, 0xFFFFFFFF, "MODEL"),
    "a rank that leaves one out": ("llama", "scores", 0, 1 << 20, "SCORES"),
    "an unknown kind": ("gpt-2", "scores", 0, 9, "SCORES"),
    "a byte that is none": ("gpt-2", "scores", 0, 2, "SCORES"),
    "a kind of what only merges make": ("gpt-2", "scores", -4, 1, "SCORES"),
    "a flag of an added token": ("gpt-2", "added", 20, 8, "ADDED"),
    "no decoder of pieces": ("llama", "stages", 12, 0, "STAGES"),
}


def broken(case: str) -> bytes:
    """The block of a case."""
    name, section, at, value, _ = CASES[case]
    block = Block(compiled(name))
    if section == "scores":
        row = block.sections[section]
        row[at] = value & 0xFF
        if value > 0xFF:
            block.put(section, at, value)
    else:
        block.put(section, at, value)
    return block.sealed()


@pytest.mark.parametrize("case", CASES)
def test_refusals(case: str) -> None:
    with pytest.raises(Tok2Error) as refused:
        read_tok2(broken(case))
    assert refused.value.code == f"TOK2_{CASES[case][-1]}"


def test_profiles_do_not_mix() -> None:
    block = Block(compiled("gpt-2"))
    block.set(profile=1)
    with pytest.raises(Tok2Error) as refused:
        read_tok2(block.sealed())
    assert (refused.value.code, refused.value.where) == ("TOK2_LIMIT", "byte 28")
    plain = reference("gpt-2")
    for other in (replace(plain, given=None), replace(plain, decoders=())):
        with pytest.raises(Tok2CompileError):
            write_tok2(other)


numbers = st.tuples(
    st.sampled_from(["scores", "stages", "patterns", "model", "added", "sets", "tables", "merges"]),
    st.integers(0, 1 << 16), st.sampled_from(CHANGES), st.integers(0, 0xFFFFFFFF),
)  # fmt: skip


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(name=st.sampled_from(NAMES), changes=st.lists(numbers, min_size=1, max_size=2))
def test_changed_numbers(name: str, changes: list[tuple[str, int, Any, int]]) -> None:
    block = Block(compiled(name))
    for section, place, change, new in changes:
        if count := len(block.sections[section]) // 4:
            at = place % count * 4
            block.put(section, at, change(block.number(section, at), new) & 0xFFFFFFFF)
    require_sound(block.sealed())
