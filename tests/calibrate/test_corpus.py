"""Calibration corpora: identity, disjointness, and what is refused."""

from __future__ import annotations

import copy
import random
from dataclasses import replace

import pytest

from trlm_lab.base import strict_json
from trlm_lab.calibrate.corpus import Corpus, TextSource
from trlm_lab.calibrate.corpus_choice import make_corpus
from trlm_lab.calibrate.overlap import Judged, shared_ngram
from trlm_lab.errors import CalibrationRecordError, CalibrationTextOverlapError

SOURCE = TextSource("t", "@x/t", "1.0", "ab" * 32, "CC0-1.0")


def document(number: int, length: int = 40) -> tuple[str, str, list[int]]:
    ids = [0, *random.Random(number).choices(range(1000), k=length - 1)]
    return f"t/{number}.txt", f"{number:064x}", ids


def corpus(judged: tuple[Judged, ...] = (), count: int = 6, wanted: int = 4) -> Corpus:
    return make_corpus(
        [SOURCE], "cd" * 32, [document(n) for n in range(count)], judged,
        window=10, per_document=2, ngram=4, wanted=wanted,
    )  # fmt: skip


def test_the_same_inputs_give_the_same_corpus_and_a_file_gives_it_back() -> None:
    first = corpus()
    assert first == corpus()
    assert len(first.records) == 4
    assert {len(r.ids) for r in first.records} == {10}
    data = strict_json.pretty(first.to_map())
    again = Corpus.from_map(strict_json.loads(data), "c.json")
    assert again.corpus_id == first.corpus_id
    assert again.to_map() == first.to_map()


def test_any_change_is_another_corpus() -> None:
    """A licence, a tokenizer, a record, what it was held against: each has an id of its own."""
    first = corpus()
    changed = [
        replace(first, sources=(replace(SOURCE, licence="unknown"),)),
        replace(first, tokenizer_sha256="ce" * 32),
        replace(first, records=first.records[:-1]),
        replace(first, records=first.records[::-1]),
        replace(first, filtering=replace(first.filtering, dropped=1)),
        corpus((Judged("suite", (tuple(range(900, 920)),)),)),
    ]
    assert len({one.corpus_id for one in (first, *changed)}) == len(changed) + 1


def test_overlapping_records_are_left_out_and_counted() -> None:
    first = corpus()
    held = Judged("held-out", (tuple(first.records[0].ids[3:9]),))
    found = corpus((held,))
    assert first.records[0] not in found.records
    assert found.filtering.dropped >= 1
    assert found.against[0]["shared"] == 0
    assert found.against[0]["ngrams"] == 3
    with pytest.raises(CalibrationRecordError, match="are wanted"):
        corpus((held,), wanted=12)


def test_overlap_is_refused_with_both_names() -> None:
    first = corpus()
    judged = Judged("demo-judged", (tuple(first.records[2].ids[2:8]),))
    with pytest.raises(CalibrationTextOverlapError) as caught:
        first.check_disjoint([judged], "c.json")
    text = str(caught.value)
    assert first.records[2].document in text
    assert "demo-judged" in text
    first.check_disjoint([Judged("other", ((5, 3, 5, 3, 5, 3, 5, 3),))], "c.json")


def test_short_cases_are_compared_whole_and_tiny_ones_say_nothing() -> None:
    ids = list(range(100, 130))
    assert shared_ngram(ids, Judged("nine", (tuple(range(105, 114)),)), 16) == 5
    assert shared_ngram(ids, Judged("two", ((105, 106),)), 16) is None
    assert shared_ngram(ids, Judged("other", (tuple(range(104, 122, 2)),)), 16) is None
    assert shared_ngram(ids[:5], Judged("long", (tuple(ids),)), 16) is None


def test_what_is_no_corpus_is_refused() -> None:
    good = corpus().to_map()
    for key in ("schema", "records", "ids", "filtering", "tokenizer_sha256"):
        row = copy.deepcopy(good)
        del row[key]
        with pytest.raises(CalibrationRecordError, match=key):
            Corpus.from_map(row, "c.json")
    row = copy.deepcopy(good)
    row["ids"][1][0] += 1
    with pytest.raises(CalibrationRecordError, match="record 1"):
        Corpus.from_map(row, "c.json")
    row = copy.deepcopy(good)
    row["ids"].pop()
    with pytest.raises(CalibrationRecordError):
        Corpus.from_map(row, "c.json")
