"""What runs over generated texts found, as rows: fresh ones of a notebook, kept ones of a tool."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from trlm_lab.flows.exactness.shards import Shard, pool_of, run_shard
from trlm_lab.flows.text_views import visible
from trlm_lab.flows.tokenizer_engines import Reference, source_engine, tokenizer_opened
from trlm_lab.flows.tokenizer_requests import TokenizerFile

_SUMS = ("texts", "long", "bytes", "ids", "refused")


def fuzz(path: Path, engine: str, texts: int, seed: int = 1) -> Shard:
    """One engine against the source of a file on generated texts: shard 0 of a seed.

    Raises:
        As `open_tokenizer`, for the engine and for the source.
    """
    reference = Reference(TokenizerFile.at(path))
    with (
        tokenizer_opened(path, engine) as candidate,
        tokenizer_opened(path, source_engine(path)) as source,
    ):
        pool = pool_of(reference.tokenizer, seed)
        return run_shard(candidate, source, pool, Shard(seed, 0), texts, reference)


def log_rows(runs: Mapping[str, Shard]) -> list[dict[str, Any]]:
    """A row an engine: how much it was given, and on how many texts it differs."""
    return [_sums(engine, [shard.to_map()]) for engine, shard in runs.items()]


def generator_rows(shard: Shard) -> list[dict[str, Any]]:
    """In how many texts each generator had a part."""
    return [{"generator": name, "texts": n} for name, n in sorted(shard.generators.items())]


def mismatch_rows(runs: Mapping[str, Shard]) -> list[dict[str, Any]]:
    """A row a difference: the smallest text that shows it, and the first stage that parts."""
    return [
        {
            "engine": engine,
            "text": one.index,
            "generator": one.generator,
            "smallest": visible(one.smallest),
            "stage": one.stage,
        }
        for engine, shard in runs.items()
        for one in shard.mismatches
    ]


def kept_rows(folder: Path) -> Iterator[dict[str, Any]]:
    """A row an engine and tokenizer: the sums of the finished shards that lie in a folder."""
    for room in sorted({file.parent for file in folder.rglob("*.json")}):
        shards = [json.loads(file.read_bytes()) for file in sorted(room.glob("*.json"))]
        engine, name = room.parent.name.partition("-")[0], room.name.replace("--", "/")
        yield {"engine": engine, "tokenizer": name, **_sums(engine, shards)}


def _sums(engine: str, shards: list[dict[str, Any]]) -> dict[str, Any]:
    texts, long, size, ids, refused = (sum(one[key] for one in shards) for key in _SUMS)
    return {
        "engine": engine,
        "texts": texts,
        "over 200 bytes": long,
        "bytes": size,
        "ids": ids,
        "ill-formed": refused,
        "differ": sum(len(one["mismatches"]) for one in shards),
    }
