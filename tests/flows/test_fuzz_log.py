"""The log of runs over generated texts: its sums, its differences, and what was kept."""

import json
from pathlib import Path

import pytest

from tests.flows.test_text_views import file, words
from trlm_lab.flows.exactness.fuzz_log import (
    fuzz,
    generator_rows,
    kept_rows,
    log_rows,
    mismatch_rows,
)
from trlm_lab.flows.exactness.shards import Mismatch, Shard

__all__ = ["file", "words"]


def test_a_sound_engine_differs_nowhere(file: Path) -> None:
    shard = fuzz(file, "python", 60, seed=3)
    (row,) = log_rows({"python": shard})
    assert row["texts"] + row["ill-formed"] == 60
    assert (row["engine"], row["differ"], row["ill-formed"]) == ("python", 0, 3)
    assert fuzz(file, "python", 60, seed=3) == shard
    assert fuzz(file, "python", 60, seed=4).digest != shard.digest
    assert sum(one["texts"] for one in generator_rows(shard)) >= row["texts"]


def test_a_difference_is_shown_where_it_begins() -> None:
    shard = Shard(1, 0, mismatches=[Mismatch(7, "prose", "x a b", "a b", "Split", {}, {})])
    assert mismatch_rows({"native": shard}) == [
        {"engine": "native", "text": 7, "generator": "prose", "smallest": "a·b", "stage": "Split"}
    ]
    assert log_rows({"native": shard})[0]["differ"] == 1


@pytest.mark.parametrize("shards", [1, 3])
def test_kept_shards_are_summed(tmp_path: Path, shards: int) -> None:
    room = tmp_path / "native-10" / "llama.cpp--x.gguf"
    room.mkdir(parents=True)
    for number in range(shards):
        row = Shard(1, number, texts=9, refused=1, bytes=80, long=1, ids=20).to_map()
        (room / f"{number}.json").write_text(json.dumps(row))
    (row,) = kept_rows(tmp_path)
    assert row["tokenizer"] == "llama.cpp/x.gguf"
    assert (row["texts"], row["ill-formed"], row["ids"]) == (9 * shards, shards, 20 * shards)
