"""Made vocabularies of every model against llama.cpp: kinds, roles, flags, and what is refused."""

import random
from pathlib import Path
from typing import Any

import pytest

from tests.text.ggml.made_vocabulary import byte_level
from tests.text.ggml.peers import GgufPair
from tests.text.sentencepiece.made_models import RULES, charsmap
from trlm_lab.errors import (
    TokenizerFieldError,
    TokenizerKindError,
    TokenizerVocabularyError,
    TrlmError,
)
from trlm_lab.text import MODES
from trlm_lab.text.ggml import read_gguf_tokenizer

Fields = dict[str, Any]
NORMAL, UNKNOWN, CONTROL, DEFINED, UNUSED, BYTE = 1, 2, 3, 4, 5, 6
K = "tokenizer.ggml."
PIECES = (
    "\u2581", "\u2581a", "a", "b", "c", "d", "ab", "abc", "bc", "\u2581de", "d", "e", "de", "cde",
    "\u00e9", "\u4e16", "\u2581\u2581", "a\u2581", "\u4e16\u4e16", "dede", "<0x", "s>", "</",
)  # fmt: skip
PARTS = (
    *"abcde \u00e9\u4e16z\0\n", "  ", "<s>", "</s>", "<x>", "<xy>", "\u2581", "A", "\u3000",
    "<0x41>", "\U0001f642", "<unk>", "ded", "<", "\ufb01", "e\u0301", "\u200b", "<mask>",
    " <mask> ",
)  # fmt: skip


def scored(model: str, **more: Any) -> Fields:
    """A vocabulary with scores: control, user-defined, unused and byte tokens among the pieces."""
    draw = random.Random(model)
    rows = [
        ("<unk>", UNKNOWN),
        ("<s>", CONTROL),
        ("</s>", CONTROL),
        ("<x>", DEFINED),
        ("<xy>", DEFINED),
    ]
    rows += [(f"<0x{byte:02X}>", BYTE) for byte in range(256)]
    rows += [(text, NORMAL) for text in dict.fromkeys(PIECES)]
    rows += [("<mask>", CONTROL), ("ee", UNUSED), ("bcde", UNUSED)]
    return {
        "general.architecture": "llama",
        f"{K}model": model,
        f"{K}tokens": [text for text, _ in rows],
        f"{K}token_type": [kind for _, kind in rows],
        f"{K}scores": [-float(draw.randint(1, 6)) for _ in rows],
        f"{K}unknown_token_id": 0,
        **more,
    }


def words(**more: Any) -> Fields:
    """A WordPiece vocabulary as llama.cpp spells it: a space before what begins a word."""
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "<x>"]
    pieces = ["\u2581a", "\u2581ab", "b", "c", "\u2581e", "de", "\u2581de", "\u2581,", "\u2581$",
              "\u2581\u4e16", "\u2581i", "e", "\u0301", "ss", "\u2581A", "\u00e9"]  # fmt: skip
    kinds = [CONTROL] * 5 + [DEFINED] + [NORMAL] * len(pieces)
    return {
        "general.architecture": "bert",
        f"{K}model": "bert",
        f"{K}tokens": special + pieces,
        f"{K}token_type": kinds,
        f"{K}unknown_token_id": 1,
        f"{K}bos_token_id": 2,
        f"{K}seperator_token_id": 3,
        **more,
    }


VOCABULARIES: dict[str, Fields] = {
    "spm": scored("llama"),
    "spm, no prefix": scored("llama", **{f"{K}add_space_prefix": False, f"{K}add_eos_token": True}),
    "spm, mask takes space": scored("llama", **{"general.architecture": "nomic-bert-moe"}),
    "ugm": scored("t5", **{f"{K}add_eos_token": False}),
    "ugm, spaces merged": scored(
        "t5", **{f"{K}add_space_prefix": True, f"{K}remove_extra_whitespaces": True}
    ),
    "ugm, rules": scored(
        "t5",
        **{f"{K}add_space_prefix": True, f"{K}precompiled_charsmap": charsmap(RULES)},
    ),
    "wpm": words(),
    "wpm, cased": words(**{f"{K}normalizer.lowercase": False}),
    "wpm, accents": words(**{f"{K}normalizer.strip_accents": False}),
    "roles": byte_level("gpt-2", more=("<|im_end|>", "<|fim_prefix|>", "[PAD]", "<|start|>")),
    "harmony": byte_level("gpt-4o", more=("<|return|>", "<|call|>", "<|end|>", "<|channel|>")),
    "phi": scored("llama", **{"general.name": "My Phi-3"}),
}
VOCABULARIES["phi"][f"{K}tokens"].append("<|endoftext|>")
VOCABULARIES["phi"][f"{K}token_type"].append(CONTROL)
VOCABULARIES["phi"][f"{K}scores"].append(0.0)
for name in ("roles", "harmony"):
    # The file says of none that it is a control token; llama.cpp goes by the text.
    VOCABULARIES[name][f"{K}token_type"] = [NORMAL] * len(VOCABULARIES[name][f"{K}tokens"])


@pytest.mark.peer
@pytest.mark.parametrize("name", VOCABULARIES)
def test_against_llama_cpp(name: str, tmp_path: Path) -> None:
    fields = VOCABULARIES[name]
    pair = GgufPair(fields, tmp_path / "made.gguf")
    draw = random.Random(name)
    special = [token.content for token in pair.ours.added] or ["a"]
    for count in range(300):
        parts = draw.choices(
            (*PARTS, draw.choice(special), "$", ",", "\u00c0", "i\u0307"), k=1 + count % 20
        )
        pair.require_same("".join(parts))


@pytest.mark.peer
@pytest.mark.parametrize("name", VOCABULARIES)
def test_decoding_against_llama_cpp(name: str, tmp_path: Path) -> None:
    GgufPair(VOCABULARIES[name], tmp_path / "made.gguf").require_decoding(400)


@pytest.mark.parametrize("model", ["llama", "t5"])
@pytest.mark.parametrize("prefix", [True, False])
def test_a_special_token_comes_first_even_where_it_is_left_out(model: str, prefix: bool) -> None:
    """The space that goes is the first token's; behind a token that is not shown it stays."""
    tokenizer = read_gguf_tokenizer(scored(model, **{f"{K}add_space_prefix": prefix}))
    words = [tokenizer.model.ids["\u2581a"]] * 2
    ids = [tokenizer.model.ids["<s>"], *words, tokenizer.model.ids["</s>"]]
    for mode in MODES:
        wanted = " a a" if mode == "visible" else "<s> a a</s>"
        assert tokenizer.decode(ids, mode).text == wanted
        assert tokenizer.decode(words, mode).text == ("a a" if prefix else " a a")
        stream = tokenizer.stream(mode)
        for _ in range(2):
            assert "".join([stream.push(n).text for n in ids]) + stream.flush().text == wanted


@pytest.mark.peer
def test_long_token_is_found_before_a_shorter_one_to_its_left(tmp_path: Path) -> None:
    fields = byte_level("gpt-2", more=("<ab>", "b><long>", "<long>"))
    pair = GgufPair(fields, tmp_path / "made.gguf")
    pair.require_same("<ab><long> <long> <ab>")
    names = [token.text for token in pair.ours.encode("<ab><long>").tokens]
    assert names[-1] == "b><long>"


@pytest.mark.parametrize(
    ("change", "error", "where"),
    [
        ({f"{K}speed": 1}, TokenizerFieldError, f"{K}speed"),
        ({"tokenizer.unheard": 1}, TokenizerFieldError, "tokenizer.unheard"),
        ({f"{K}model": "rwkv"}, TokenizerKindError, f"{K}model"),
        ({f"{K}add_bos_token": 1}, TokenizerFieldError, f"{K}add_bos_token"),
        ({f"{K}tokens": ["a", 1]}, TokenizerFieldError, f"{K}tokens"),
        ({f"{K}tokens": []}, TokenizerVocabularyError, f"{K}tokens"),
        ({f"{K}scores": [0.0]}, TokenizerFieldError, f"{K}scores"),
        ({f"{K}token_type": [1]}, TokenizerFieldError, f"{K}token_type"),
    ],
)
def test_keys(change: Fields, error: type[Exception], where: str) -> None:
    with pytest.raises(error) as refused:
        read_gguf_tokenizer({**scored("llama"), **change})
    assert refused.value.where == where  # type: ignore[attr-defined]


def test_missing_keys() -> None:
    for key in ("model", "merges"):
        fields = byte_level("gpt-2")
        del fields[K + key]
        with pytest.raises(TokenizerFieldError, match="missing"):
            read_gguf_tokenizer(fields)


def test_vocabularies_that_llama_cpp_stops_at() -> None:
    lacking = scored("llama")
    lacking[f"{K}tokens"][9] = "other"
    twice = scored("llama")
    twice[f"{K}tokens"][-1] = "a"
    no_bos = scored("t5", **{f"{K}add_bos_token": True})
    odd = scored("t5")
    odd[f"{K}tokens"][3] = "\u00e9x"
    roles = byte_level("gpt-2")
    roles[f"{K}tokens"] += ["<PRE>", "<|prefix|>"]
    roles[f"{K}token_type"] += [NORMAL, NORMAL]
    phi = scored("llama", **{"general.name": "phi3"})
    for fields in (lacking, twice, no_bos, odd, roles, phi, words(**{f"{K}unknown_token_id": 99})):
        with pytest.raises(TokenizerVocabularyError):
            read_gguf_tokenizer(fields)


def test_broken_table() -> None:
    with pytest.raises(TokenizerFieldError, match="table"):
        read_gguf_tokenizer(scored("t5", **{f"{K}precompiled_charsmap": [1, 2, 3]}))


def test_tokens_of_one_length_that_overlap_are_told() -> None:
    fields = byte_level("gpt-2", more=("<a<", "<b<"))
    assert "can overlap" in read_gguf_tokenizer(fields).notes[-1]


ODD: tuple[Any, ...] = (
    None, True, -1, 0, 1 << 40, 1.5, "", "x", "\0", [], ["a"], ["a", "a"], ["", "\0"], [1], [1.0],
    [None], [True], {}, b"x",
)  # fmt: skip


@pytest.mark.parametrize("name", ["spm", "ugm, rules", "wpm", "roles", "phi"])
def test_odd_values_are_read_or_refused(name: str) -> None:
    """Every key with every odd value, and every key left out: nothing but a refusal comes out."""
    fields = {k: list(v) if isinstance(v, bytes) else v for k, v in VOCABULARIES[name].items()}
    extra = ("add_bos_token", "bos_token_id", "normalizer.lowercase", "fim_pre_token_id", "pre")
    for key in (*fields, *(K + one for one in extra), "general.name"):
        changes = [{**fields, key: odd} for odd in ODD]
        for changed in (*changes, {k: v for k, v in fields.items() if k != key}):
            try:
                tokenizer = read_gguf_tokenizer(changed)
            except TrlmError:
                continue
            tokenizer.encode("ab <x>\u00e9", add_special_tokens=True)
            tokenizer.decode([0])
