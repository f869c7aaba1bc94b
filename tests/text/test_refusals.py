"""Every refusal by name and place, and content that never becomes a control token."""

import json
from collections.abc import Callable
from typing import Any

import pytest
import tokenizers

from tests.text.components import ADDED, MODELS, NORMALIZERS, byte_level, split
from tests.text.constructed import added, bpe, byte_bpe, document, unigram, word_level
from trlm_lab.errors import (
    MergeDuplicateError,
    PatternUnsupportedError,
    TokenIdError,
    TokenizerFieldError,
    TokenizerKindError,
    TokenizerVocabularyError,
    UnknownTokenMissingError,
)
from trlm_lab.text import read_tokenizer

Row = dict[str, Any]


def broken(change: Callable[[Row], Any], **stages: Any) -> Row:
    row = document(byte_bpe(), **stages)
    change(row)
    return row


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        (lambda row: row.update(extra=1), "/extra"),
        (lambda row: row.update(version="2.0"), "/version"),
        (lambda row: row["model"].update(speed=1), "/model/speed"),
        (lambda row: row["model"].update(dropout=0.1), "/model/dropout"),
        (lambda row: row["model"].update(fuse_unk="no"), "/model/fuse_unk"),
        (
            lambda row: row["model"].update(byte_fallback=True, end_of_word_suffix="</w>"),
            "/model/byte_fallback",
        ),
        (lambda row: row["model"].pop("vocab"), "/model/vocab"),
        (lambda row: row["model"]["merges"].append(["a"]), "/model/merges"),
        (lambda row: row["model"]["merges"].append("a b"), "/model/merges"),
        (lambda row: row["model"]["vocab"].update(zz=-1), "/model/vocab"),
        (lambda row: row.update(model=[]), "/model"),
        (lambda row: row["added_tokens"].append({**ADDED[0], "x": 1}), "/added_tokens/0/x"),
        (lambda row: row["added_tokens"].extend([ADDED[0]] * 2), "/added_tokens/1/content"),
        (lambda row: row.update(normalizer={"type": "NFC", "a/b": 1}), "/normalizer/a~1b"),
        (
            lambda row: row.update(normalizer={"type": "Prepend", "prepend": ""}),
            "/normalizer/prepend",
        ),
        (
            lambda row: row.update(
                pre_tokenizer={"type": "Sequence", "pretokenizers": [byte_level(), {"type": 1}]}
            ),
            "/pre_tokenizer/pretokenizers/1/type",
        ),
    ],
)  # fmt: skip
def test_fields(change: Callable[[Row], Any], pointer: str) -> None:
    with pytest.raises(TokenizerFieldError) as refused:
        read_tokenizer(broken(change))
    assert refused.value.where == pointer


def test_what_the_source_makes_of_nothing_prepended() -> None:
    """Offsets of nothing, and a scalar twice: no rule of a text that is put before another."""
    row = document(word_level(["a"]), normalizer={"type": "Prepend", "prepend": ""})
    source = tokenizers.Tokenizer.from_str(json.dumps(row))
    assert source.encode("a").offsets == [(0, 0)]
    row["pre_tokenizer"] = byte_level()
    source = tokenizers.Tokenizer.from_str(json.dumps(row | {"model": byte_bpe()}))
    assert source.encode("a").tokens == ["a", "a"]


def test_document_that_is_none() -> None:
    with pytest.raises(TokenizerFieldError):
        read_tokenizer(None)


@pytest.mark.parametrize("stage", ["normalizer", "pre_tokenizer", "post_processor", "decoder"])
def test_kinds(stage: str) -> None:
    with pytest.raises(TokenizerKindError) as refused:
        read_tokenizer(document(byte_bpe(), **{stage: {"type": "Unheard"}}))
    assert refused.value.where == f"/{stage}/type"
    with pytest.raises(TokenizerKindError):
        read_tokenizer(document({"type": "Unheard"}))


def test_vocabulary() -> None:
    twice = word_level(["a"])
    twice["vocab"]["b"] = 1
    with pytest.raises(TokenizerVocabularyError):
        read_tokenizer(document(twice))
    piece = unigram({"<unk>": 0.0})
    piece["vocab"].append(["<unk>", -1.0])
    with pytest.raises(TokenizerVocabularyError):
        read_tokenizer(document(piece))
    with pytest.raises(TokenizerVocabularyError):
        read_tokenizer(broken(lambda row: row["model"]["merges"].append(["h", "zz"])))


def test_merge_twice() -> None:
    with pytest.raises(MergeDuplicateError) as refused:
        read_tokenizer(broken(lambda row: row["model"]["merges"].append(["h", "e"])))
    assert refused.value.facts["first"] == 0


@pytest.mark.parametrize(
    "pattern",
    [
        "^a", "a$", r"\bx", "(?m:a)", "(?P<n>a)", r"(a)\1", "[[:alpha:]]", r"\h", "a*", "", "(",
        "a)",
        "[]", r"\p{Klingon}", "a**", "a{2}?", "(?i:ss)", "(?i:\xe9)", "[b-a]", "[a", "*a",
        r"\x{110000}",
        "a{1,2}+", r"[\s-z]", "\\", "(" * 40 + "a" + ")" * 40, "[" * 40 + "a" + "]" * 40, "(?=a)",
        "(?:a?)*b", "(?:a*){2}b", "(?<=a+)b", "(?<=(?=a)a)b", "a{99999}", "a{3,2}",
    ],
)  # fmt: skip
def test_patterns(pattern: str) -> None:
    with pytest.raises(PatternUnsupportedError):
        read_tokenizer(document(byte_bpe(), pre_tokenizer=split(pattern, "Isolated")))


def test_no_unknown_token() -> None:
    plain = read_tokenizer(document(unigram({"a": -1.0}, None)))
    with pytest.raises(UnknownTokenMissingError):
        plain.encode("b")
    for model in (bpe(["he"], unk_token="[U]"), {**word_level([]), "vocab": {"a": 0}}):
        with pytest.raises(UnknownTokenMissingError):
            read_tokenizer(document(model)).encode("z")


def test_ids_without_token() -> None:
    plain = read_tokenizer(document(byte_bpe()))
    with pytest.raises(TokenIdError) as refused:
        plain.decode([0, 1, 99999])
    assert refused.value.facts == {"got": 99999, "index": 2}


def test_truncation_and_padding_are_reported() -> None:
    row = document(byte_bpe(), truncation={"max_length": 3}, padding={"length": 9})
    tokenizer = read_tokenizer(row)
    assert len(tokenizer.notes) == 2
    assert len(tokenizer.encode("zzzzzz").ids) == 6


def test_loader_numbers_added_tokens() -> None:
    tokenizer = read_tokenizer(document(byte_bpe(), added_tokens=[added("<s>", 5000), ADDED[1]]))
    size = len(tokenizer.model.ids)
    assert [token.id for token in tokenizer.added] == [size, size + 1]


@pytest.mark.parametrize("model", MODELS)
def test_content_is_no_control_token(model: str) -> None:
    """As text it is cut like any other, in every model, even one that has the token itself."""
    row = document(MODELS[model], normalizer=NORMALIZERS["NFC"], added_tokens=[ADDED[0]])
    vocab = row["model"]["vocab"]
    if isinstance(vocab, dict):
        row["model"] = {**row["model"], "vocab": {**vocab, "<s>": len(vocab)}}
    else:
        row["model"] = {**row["model"], "vocab": [*vocab, ["<s>", -0.1]]}
    tokenizer = read_tokenizer(row)
    (control,) = tokenizer.special_ids
    text = "<s>he<s>"
    assert tokenizer.encode(text).ids.count(control) == 2
    assert tokenizer.encode(text, content=[(3, 8)]).ids.count(control) == 1
    assert control not in tokenizer.encode(text, content=[(0, 8)]).ids
    assert tokenizer.encode(text, content=[(1, 2)]).ids.count(control) == 1


def test_decode_modes() -> None:
    tokenizer = read_tokenizer(
        document(
            byte_bpe(), pre_tokenizer=byte_level(), decoder=byte_level(), added_tokens=ADDED[:1]
        )
    )
    ids = tokenizer.encode("<s>a\\\x00\u200b\xe9").ids
    raw = tokenizer.decode(ids[:-1])
    assert raw.text == raw.data.decode("utf-8", "replace")
    assert tokenizer.decode(ids).data == "<s>a\\\x00\u200b\xe9".encode()
    assert tokenizer.decode(ids, "visible").text == "a\\\x00\u200b\xe9"
    cut = [*ids, tokenizer.model.ids["\xc3"]]
    assert tokenizer.decode(cut, "diagnostic").text == "<s>a\\\\\\u{0}\\u{200b}\xe9\\xc3"
    assert tokenizer.decode(cut).data == "<s>a\\\x00\u200b\xe9".encode() + b"\xc3"
