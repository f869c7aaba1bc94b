"""Golden vectors: the corpus is whole, records are closed, the first stage that parts is named."""

import copy
import gzip
import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.text.components import MODELS, PRE_TOKENIZERS
from tests.text.constructed import added, bpe, document, unigram
from tests.text.golden_tokenizers import DOCUMENTS, HASHES, made, recorded
from trlm_lab.base import canon
from trlm_lab.errors import NotCanonicalError, RecordError
from trlm_lab.flows.tokenizer_engines import ENGINES, Reference
from trlm_lab.flows.tokenizer_requests import Request, TokenizerFile
from trlm_lab.flows.tokenizer_vectors import judge_vectors, make_vector_set, read_vectors
from trlm_lab.text import Bounds, Tokenizer, read_tokenizer
from trlm_lab.text.tables import scalar_set
from trlm_lab.text.vectors import (
    FINITE,
    LEAST,
    OFFSET_KEYS,
    Sample,
    Vector,
    VectorSet,
    first_parting,
    samples,
    vector_of,
)
from trlm_lab.text.vectors.samples import subject_of
from trlm_lab.text.vectors.ties import is_tied, tied_texts

Row = dict[str, Any]
ENGINE_NAMES = [name for name, kinds in ENGINES.items() if "tokenizer.json" in kinds]


@cache
def held(name: str) -> VectorSet:
    return read_vectors(recorded(name))


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return read_tokenizer(DOCUMENTS["bytes"])


@pytest.fixture(scope="module")
def whole() -> VectorSet:
    return held("bytes")


def texts(tokenizer: Tokenizer, group: str) -> set[bytes]:
    return {one.data for one in samples(tokenizer) if one.group == group}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_class_has_twenty_or_is_finite(name: str) -> None:
    found = held(name)
    counts = found.counts()
    few = {group for group, count in counts.items() if count < LEAST}
    assert few <= set(FINITE)
    assert set(FINITE) - set(counts) <= {"unigram_ties"}
    assert len(set(counts) - set(FINITE)) == 27
    assert found.finite == FINITE


def test_white_space_and_controls_are_complete(tokenizer: Tokenizer) -> None:
    found = texts(tokenizer, "white_space")
    for char in scalar_set("onig_space").members:
        for text in (char, char * 2, f"a{char}", f"{char}a"):
            assert text.encode() in found, ascii(text)
    low, high = texts(tokenizer, "c0_controls"), texts(tokenizer, "c1_controls")
    assert all(chr(code).encode() in low for code in [*range(0x20), 0x7F])
    assert all(chr(code).encode() in high for code in range(0x80, 0xA0))


def test_every_added_token_in_every_place(tokenizer: Tokenizer) -> None:
    places = {
        "added_alone": "{0}", "added_adjacent": "{0}{0}", "added_inside_word": "ab{0}cd",
        "added_spaces": " {0} ", "added_overlapping": "{1}{0}",
    }  # fmt: skip
    for group, place in places.items():
        found = texts(tokenizer, group)
        for token in tokenizer.added:
            text = place.format(token.content, token.content[:-1])
            assert text.encode() in found, (group, text)
    assert "e\u0301x".encode() in texts(tokenizer, "added_denormalised")


def test_many_added_tokens_are_all_there_alone() -> None:
    many = [added(f"<r{n}>", 2000 + n, "special") for n in range(700)]
    found = read_tokenizer(document(MODELS["bytes"], added_tokens=many))
    counts: dict[str, int] = {}
    for one in samples(found):
        counts[one.group] = counts.get(one.group, 0) + 1
    assert (counts["added_alone"], counts["added_adjacent"]) == (700, 2100)
    assert 4 * 200 < counts["added_inside_word"] <= 4 * 256
    none = read_tokenizer(document(MODELS["bytes"]))
    assert not any(one.group.startswith("added") for one in samples(none))


def test_ill_formed_bytes_are_refused_at_their_first(whole: VectorSet) -> None:
    rows = [one for one in whole.vectors if one.group.startswith("ill_formed")]
    assert len(rows) >= 5 * LEAST
    for one in rows:
        assert one.failure is not None
        assert one.failure.code == "UTF8"
        good = one.data[: one.failure.index]
        assert good.decode() in ("", "a", "\xe9", "\u65e5"), one.data
        with pytest.raises(UnicodeDecodeError) as refused:
            one.data.decode()
        assert refused.value.start == one.failure.index


def test_the_longest_is_taken_and_one_over_is_not(whole: VectorSet) -> None:
    rows = [one for one in whole.vectors if one.group == "longest"]
    taken, over = rows[:-2:2], rows[1:-2:2]
    assert all(one.expected for one in taken)
    assert all(one.failure and one.failure.code == "TEXT_TOO_LONG" for one in [*over, *rows[-2:]])
    ends = {(len(one.input) == one.max_bytes, len(one.input.decode()) == one.max_scalars)
            for one in taken}  # fmt: skip
    assert {(True, False), (False, True)} <= ends
    assert Bounds() == rows[-1].bounds


def test_not_invertible_is_said(whole: VectorSet) -> None:
    found = {one.data: one.expected.invertible for one in whole.vectors if one.expected}
    assert found["\xe9".encode()]
    assert not found["e\u0301".encode()]


def test_ties_are_those_of_the_definition() -> None:
    """Against all ways to cut a text, with the sums from the left."""
    pieces = {"<unk>": 0.0, "a": -1.0, "aa": -2.0, "b": -1.5, "ab": -2.0, "ba": -2.5, "aab": -3.5}

    def cuts(text: str) -> list[float]:
        sums = [pieces[text]] if text in pieces else []
        for at in range(1, len(text)):
            if text[at:] in pieces:
                sums += [one + pieces[text[at:]] for one in cuts(text[:at])]
        return sums

    for text in ("aa", "ab", "aab", "ba", "aba", "bb", "abab", "aabb", "baa"):
        sums = cuts(text)
        assert is_tied(pieces, text) == (sums.count(max(sums)) > 1), text
    assert "aa" in tied_texts(pieces)
    held_by = subject_of(read_tokenizer(document(unigram(pieces))))
    assert held_by.scores == pieces
    assert subject_of(read_tokenizer(document(MODELS["bytes"]))).scores == {}


def test_survives_its_bytes(whole: VectorSet) -> None:
    data = whole.encode()
    assert VectorSet.decode(data) == whole
    assert VectorSet.decode(data).encode() == data


@pytest.mark.parametrize(
    "change",
    [
        lambda row: row.update(schema="trlm.tokenizer.vectors.v2"),
        lambda row: row.update(more=1),
        lambda row: row.pop("finite"),
        lambda row: row["tokenizer"].update(data=b"{}"),
        lambda row: row["profile"].update(source=None),
        lambda row: row["vectors"].append(row["vectors"][0]),
        lambda row: row["vectors"][0].update(failure={"code": "UTF8", "index": 0}),
        lambda row: row["vectors"][0].update(expected=None),
        lambda row: row["vectors"][0].update(api="bytes"),
        lambda row: row["vectors"][0].update(repeats=0),
        lambda row: row["vectors"][0].update(data="text"),
        lambda row: row["vectors"][5]["expected"].update(ids=[True]),
        lambda row: row["vectors"][5]["expected"]["offsets"].update(scalar=["0"]),
    ],
)
def test_closed(whole: VectorSet, change: Callable[[Row], Any]) -> None:
    row = canon.decode(whole.encode())
    row["vectors"] = row["vectors"][:8]
    change(row)
    with pytest.raises(RecordError):
        VectorSet.decode(canon.encode(row))


def test_no_canonical_bytes(whole: VectorSet) -> None:
    with pytest.raises(NotCanonicalError):
        VectorSet.decode(whole.encode() + b"\0")


def answer(tokenizer: Tokenizer, vector: Vector) -> tuple[Row, dict[str, Row]]:
    """What an engine that shows everything answers."""
    found = tokenizer.encode(vector.input.decode(), trace=True)
    row: Row = {
        "ids": found.ids, "tokens": [one.text for one in found.tokens],
        "inserted": [one.inserted for one in found.tokens], "normalized": found.normalized,
        "stages": found.stage_rows(),
    }  # fmt: skip
    row |= {key: [list(o) for o in found.offsets(unit)] for unit, key in OFFSET_KEYS.items()}
    modes = {mode: tokenizer.decode(found.ids, mode) for mode in ("raw", "visible", "diagnostic")}
    return row, {mode: {"data": one.data, "text": one.text} for mode, one in modes.items()}


def _set(path: list[Any], value: Any) -> Callable[[Row], None]:
    def change(row: Row) -> None:
        for key in path[:-1]:
            row = row[key]
        row[path[-1]] = value

    return change


FAULTS: dict[str, Callable[[Row], Any]] = {
    "/added_tokens": _set(["answer", "stages", 1, "pieces", 0, "text"], "x"),
    "/normalizer": _set(["answer", "stages", 2, "pieces", 0, "offsets"], [0, 1]),
    "/pre_tokenizer/pretokenizers/0": lambda row: row["answer"]["stages"][4]["pieces"].pop(),
    "/pre_tokenizer/pretokenizers/1": lambda row: row["answer"]["stages"][5]["pieces"].append(
        {"text": "", "offsets": [0, 0]}
    ),
    "/model": _set(["answer", "stages", 6, "pieces", 0, "id"], 1),
    "/post_processor/processors/1": lambda row: row["answer"]["stages"].pop(),
    "/more": lambda row: row["answer"]["stages"].append({"stage": "/more", "pieces": []}),
    "normalized": _set(["answer", "normalized"], "x"),
    "tokens": _set(["answer", "tokens", 0], "x"),
    "ids": _set(["answer", "ids", -1], 7),
    "inserted": _set(["answer", "inserted", 0], True),
    "offsets utf8_byte": _set(["answer", "offsets", 0, 1], 9),
    "offsets normalized_utf8_byte": _set(["answer", "offsets_normalized_utf8_byte", 0, 1], 9),
    "offsets scalar": _set(["answer", "offsets_scalar", 0, 1], 9),
    "offsets utf16": _set(["answer", "offsets_utf16", 0, 0], 9),
    "decode raw bytes": _set(["decoded", "raw", "data"], b""),
    "decode visible text": _set(["decoded", "visible", "text"], ""),
    "decode diagnostic text": _set(["decoded", "diagnostic", "text"], ""),
    "input": _set(["answer", "failure"], {"code": "UTF8", "index": 0}),
}


@pytest.mark.parametrize("stage", FAULTS)
def test_the_first_stage_that_parts_is_named(tokenizer: Tokenizer, stage: str) -> None:
    vector = vector_of(tokenizer, Sample("ascii", "he\u0301llo wo <s>x".encode()), "one")
    row, decoded = answer(tokenizer, vector)
    assert first_parting(vector, row, decoded) is None
    faulty = copy.deepcopy({"answer": row, "decoded": decoded})
    FAULTS[stage](faulty)
    found = first_parting(vector, faulty["answer"], faulty["decoded"])
    assert found is not None
    assert (found.name, found.stage) == ("one", stage)
    assert json.dumps(found.row())


def test_a_refusal_that_does_not_come(tokenizer: Tokenizer) -> None:
    vector = vector_of(tokenizer, Sample("ill", b"a\xff"), "two")
    for failure in (None, {"code": "UTF8", "index": 0}, {"code": "TEXT_TOO_LONG", "index": None}):
        found = first_parting(vector, {"ids": [], "failure": failure}, {})
        assert found is not None
        assert found.stage == "input"
        assert found.expected == {"code": "UTF8", "index": 1}


def test_unknown_tokens_that_are_missing_are_a_refusal() -> None:
    row = document(bpe(["he"], unk_token="[U]"), pre_tokenizer=PRE_TOKENIZERS["Whitespace"])
    found = vector_of(read_tokenizer(row), Sample("unknown", b"z"), "three")
    assert found.failure is not None
    assert (found.failure.code, found.failure.index) == ("UNKNOWN_TOKEN_MISSING", None)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_recorded_vectors_are_those_of_today(name: str, tmp_path: Path) -> None:
    """Stale ones are written again by `python -m tests.text.golden_tokenizers`, and looked at."""
    pinned = json.loads(HASHES.read_text())[name]
    assert canon.sha256_hex(made(name, tmp_path)) == pinned
    assert canon.sha256_hex(gzip.decompress(recorded(name).read_bytes())) == pinned


@pytest.mark.parametrize("engine", ENGINE_NAMES)
@pytest.mark.parametrize("name", DOCUMENTS)
def test_engines_agree_with_the_recorded_vectors(name: str, engine: str) -> None:
    judged = judge_vectors(held(name), engine)
    assert [one.row() for one in judged.partings[:3]] == []
    assert judged.total > 1000


@pytest.mark.model
def test_smollm2(smollm2_snapshot: Path) -> None:
    found = make_vector_set(smollm2_snapshot / "tokenizer.json")
    assert canon.sha256_hex(found.encode()) == SMOLLM2
    for engine in ENGINE_NAMES:
        assert judge_vectors(found, engine).partings == ()


SMOLLM2 = "29601dfc5dc30171644aabaa5a2702fa7302c0f93ac61f81295f566987a70839"


class Lenient(Reference):
    """An engine that takes bytes, and puts U+FFFD in place of what is no UTF-8."""

    def tokenize_utf8(self, data: bytes, *, add_special_tokens: bool, trace: bool = False) -> Row:
        text = data.decode("utf-8", "replace")
        return self.tokenize(Request(text, add_special_tokens=add_special_tokens, trace=trace))


def test_an_engine_that_takes_bytes_judges_them_itself(
    whole: VectorSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    def opened(path: Path, engine: str) -> Lenient:
        return Lenient(TokenizerFile.at(path))

    monkeypatch.setattr("trlm_lab.flows.tokenizer_engines.open_tokenizer", opened)
    rows = [one for one in whole.vectors if one.group.startswith(("ascii", "ill_formed_stray"))]
    judged = judge_vectors(replace(whole, vectors=tuple(rows)), "lenient")
    assert {one.stage for one in judged.partings} == {"input"}
    assert len(judged.partings) == sum(one.failure is not None for one in rows) == LEAST
