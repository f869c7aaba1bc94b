"""Structural faults of tokenizer.json, each by its code, and the loader's numbering as it is."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from trlm_lab.describe import check_tokenizer
from trlm_lab.describe.receipt import ERROR, NOTE
from trlm_lab.describe.tokenizer_check import tokenizer_findings

CODES = {
    "TOKENIZER_INCOMPLETE", "TOKENIZER_STAGE", "MERGE_FORM", "MERGE_DUPLICATE", "MERGE_TOKEN",
    "VOCAB_DUPLICATE", "VOCAB_HOLE", "ADDED_TOKEN_ID",
    "ADDED_TOKEN_ERASED", "ADDED_TOKEN_AMBIGUOUS",
}  # fmt: skip

VOCAB = {"a": 0, "b": 1, "ab": 2, "c": 3, "abc": 4, "[UNK]": 5}


def bpe(**changes: Any) -> dict[str, Any]:
    model = {"type": "BPE", "vocab": dict(VOCAB), "merges": [["a", "b"], ["ab", "c"]], **changes}
    return {"version": "1.0", "added_tokens": [], "model": model}


def unigram(pieces: list[Any], unk_id: Any = 0) -> dict[str, Any]:
    return {"added_tokens": [], "model": {"type": "Unigram", "vocab": pieces, "unk_id": unk_id}}


def added(*rows: tuple[str, int]) -> dict[str, Any]:
    tokens = [{"content": text, "id": number, "special": True} for text, number in rows]
    return {**bpe(), "added_tokens": tokens}


def erased(content: str, pattern: dict[str, str]) -> dict[str, Any]:
    row = added((content, 6))
    row["added_tokens"][0]["normalized"] = True
    return {**row, "normalizer": {"type": "Replace", "pattern": pattern, "content": ""}}


def staged(**stages: Any) -> dict[str, Any]:
    return {**bpe(), **stages}


TEMPLATE = {"type": "TemplateProcessing", "special_tokens": {"x": {"id": "x", "ids": [4],
            "tokens": ["c"]}}}  # fmt: skip
DEEP: dict[str, Any] = {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Odd"}]}

CASES: dict[str, tuple[dict[str, Any], list[str], str]] = {
    "sound": (bpe(), [], ""),
    "no model": ({}, ["TOKENIZER_INCOMPLETE"], "/model/type"),
    "an unknown model": (bpe(type="New"), ["TOKENIZER_INCOMPLETE"], "/model/type"),
    "no merges": (bpe(merges=None), ["TOKENIZER_INCOMPLETE"], "/model/merges"),
    "one id twice": (bpe(vocab={**VOCAB, "d": 0}), ["TOKENIZER_INCOMPLETE"], "/model/vocab"),
    "an id that is a text": (bpe(vocab={"a": "0"}), ["TOKENIZER_INCOMPLETE"], "/model/vocab"),
    "an id of 2^40": (bpe(vocab={"a": 2**40}), ["TOKENIZER_INCOMPLETE"], "/model/vocab"),
    "a hole": (bpe(vocab={**VOCAB, "z": 9}), ["VOCAB_HOLE"], "/model/vocab"),
    "a merge of one": (bpe(merges=[["a"]]), ["MERGE_FORM"], "/model/merges/0"),
    "a merge of three": (bpe(merges=["a b c"]), ["MERGE_FORM"], "/model/merges/0"),
    "a merge of numbers": (bpe(merges=[[0, 1]]), ["MERGE_FORM"], "/model/merges/0"),
    "a merge of unknowns": (bpe(merges=[["a", "z"]]), ["MERGE_TOKEN"] * 2, "/model/merges/0"),
    "a merge into nothing": (bpe(merges=[["a", "c"]]), ["MERGE_TOKEN"], "/model/merges/0"),
    "a merge twice": (bpe(merges=["a b", "a b"]), ["MERGE_DUPLICATE"], "/model/merges/1"),
    "two forms": (bpe(merges=[["a", "b"], "ab c"]), ["MERGE_FORM"], "/model/merges/1"),
    "a prefix": (bpe(vocab={"a": 0, "##b": 1, "ab": 2}, merges=[["a", "##b"]],
                     continuing_subword_prefix="##"), [], ""),
    "a piece twice": (unigram([["a", 0.0], ["a", 1.0]]), ["VOCAB_DUPLICATE"], "/model/vocab/1"),
    "a score of text": (unigram([["a", "0"]]), ["TOKENIZER_INCOMPLETE"], "/model/vocab/0"),
    "no score": (unigram([["a"]]), ["TOKENIZER_INCOMPLETE"], "/model/vocab/0"),
    "an unknown beyond": (unigram([["a", 0.0]], 1), ["TOKENIZER_INCOMPLETE"], "/model/unk_id"),
    "a WordPiece without unknown": (
        bpe(type="WordPiece", unk_token="?"), ["TOKENIZER_INCOMPLETE"], "/model/unk_token"
    ),
    "an added token at the end": (added(("x", 6), ("y", 7)), [], ""),
    "an added token of the vocabulary": (added(("c", 3)), [], ""),
    "another id than the vocabulary's": (added(("c", 6)), ["ADDED_TOKEN_ID"], "/added_tokens/0"),
    "an id that the loader does not give": (
        added(("x", 8)), ["ADDED_TOKEN_ID"], "/added_tokens/0"
    ),
    "an added token twice": (added(("x", 6), ("x", 6)), ["ADDED_TOKEN_ID"], "/added_tokens/1"),
    "an erased token": (
        erased("<x>", {"Regex": "<x+>"}), ["ADDED_TOKEN_ERASED"], "/added_tokens/0/content"
    ),
    "two tokens of one form": (
        {**erased("x", {"String": "y"}), "added_tokens": [
            {"content": text, "id": 6 + at, "special": True, "normalized": True}
            for at, text in enumerate(("xy", "x", "z"))
        ]}, ["ADDED_TOKEN_AMBIGUOUS"], "/added_tokens/1/content"
    ),
    "a token that keeps a part": (erased("<x>", {"String": "<x"}), [], ""),
    "a pattern that may run long": (erased("aaa", {"Regex": "(?:a+)+"}), [], ""),
    "no content": ({**bpe(), "added_tokens": [{"id": 1}]}, ["TOKENIZER_INCOMPLETE"],
                   "/added_tokens/0"),
    "an unknown normalizer": (staged(normalizer={"type": "X"}), ["TOKENIZER_STAGE"],
                              "/normalizer"),
    "one of several": (staged(normalizer=DEEP), ["TOKENIZER_STAGE"], "/normalizer/1"),
    "a table without its characters": (
        staged(normalizer={"type": "Precompiled"}), ["TOKENIZER_INCOMPLETE"], "/normalizer"
    ),
    "a stage that is a text": (staged(decoder="ByteLevel"), ["TOKENIZER_STAGE"], "/decoder"),
    "an inserted token of another id": (
        staged(post_processor=TEMPLATE), ["ADDED_TOKEN_ID"], "/post_processor/special_tokens"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_each_fault_has_its_code_and_pointer(tmp_path: Path, name: str) -> None:
    row, codes, pointer = CASES[name]
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(row))
    found = check_tokenizer(path)
    assert [f["code"] for f in found] == codes
    assert all(f["fix"] and f["detail"] for f in found)
    if codes:
        assert found[0]["where"] == f"tokenizer.json#{pointer}"


@pytest.mark.parametrize("data", [b"", b"[]", b"{", b'{"a": 1, "a": 2}', b'{"a": NaN}'])
def test_what_is_no_strict_json_is_one_finding(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_bytes(data)
    assert [f["level"] for f in check_tokenizer(path)] == ["error"]


def test_a_long_list_of_faults_is_cut(tmp_path: Path) -> None:
    assert len(tokenizer_findings(bpe(merges=[["z", "z"]] * 500), "t")) == 20


ODD: list[Any] = [None, True, -1, 2.5, "x", [[]], [None], {"type": "Sequence"}, 2**70]


def oddities(values: list[Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every place of the document with every odd value."""
    for value in values:
        for key in ("added_tokens", "model", "normalizer", "post_processor", "decoder"):
            yield key, {**bpe(), key: value}
        for key in ("vocab", "merges", "unk_token", "continuing_subword_prefix", "type", "unk_id"):
            for kind in ("BPE", "Unigram", "WordLevel"):
                yield f"model.{key}", bpe(**{"type": kind, key: value})
        yield "added_tokens[]", {**bpe(), "added_tokens": [value]}
        yield "normalizers", staged(normalizer={"type": "Sequence", "normalizers": value})
        yield "decoder.type", staged(decoder={"type": value})
        for token in (value, {"ids": value, "tokens": ["c"]}, {"ids": [4], "tokens": value}):
            template = {"type": "TemplateProcessing", "special_tokens": {"x": token}}
            yield "special_tokens", staged(post_processor=template)


#: What may be null, and what models of another type never read.
LENIENT = {"added_tokens", "normalizer", "post_processor", "decoder", "model.merges",
           "model.unk_token", "model.continuing_subword_prefix", "model.unk_id"}  # fmt: skip


def test_odd_values_are_findings_of_the_known_form() -> None:
    for place, row in oddities([*ODD, [], {}]):
        findings = tokenizer_findings(row, "t")
        assert all(f.code in CODES and f.level in (ERROR, NOTE) for f in findings), place
        assert all(f.where.startswith("t#/") and f.detail and f.fix for f in findings), place
    quiet = {place for place, row in oddities(ODD) if not tokenizer_findings(row, "t")}
    assert quiet <= LENIENT


@pytest.mark.parametrize("rows", [(("x", 6),), (("x", 8),), (("c", 6),), (("x", 8), ("y", 9))])
def test_the_ids_of_added_tokens_are_those_of_the_loader(rows: tuple[tuple[str, int], ...]) -> None:
    from tokenizers import Tokenizer

    full = added(*rows)
    for token in full["added_tokens"]:
        token.update(single_word=False, lstrip=False, rstrip=False, normalized=False)
    loaded = Tokenizer.from_str(json.dumps(full))
    wrong = [text for text, number in rows if loaded.token_to_id(text) != number]
    found = [f for f in tokenizer_findings(full, "t") if f.code == "ADDED_TOKEN_ID"]
    assert len(found) == len(wrong)
