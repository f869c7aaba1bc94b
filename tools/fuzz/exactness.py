#!/usr/bin/env python3
"""Hold a tokenizer engine against the source's on generated texts, shard by shard.

python tools/fuzz/exactness.py [NAME …] [--engine python] [--texts 10000] [--seed 1]

A NAME is a set of tools/fetch_tokenizers.py, a file of one (llama.cpp/ggml-vocab-gpt-2.gguf),
`smollm2`, or a path; without any all are run. A finished shard is a JSON file and is not run again;
exit status 1 where any text differs. The source is the library that publishes what a file means.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from trlm_lab.acquire.tokenizer_data import tokenizer_packages
from trlm_lab.base.home import trlm_home
from trlm_lab.flows.exactness.fuzz_log import kept_rows
from trlm_lab.flows.exactness.shards import Shard, pool_of, run_shard
from trlm_lab.flows.exactness.text_generators import NORMALIZATION_TEST, Pool
from trlm_lab.flows.tokenizer_engines import (
    ENGINES,
    Reference,
    TokenizerEngine,
    open_tokenizer,
    source_engine,
)
from trlm_lab.flows.tokenizer_requests import TokenizerFile

KEPT = Path("reports/fuzz/tokenizers")


def subjects(names: list[str]) -> Iterator[tuple[str, Path]]:
    """Names and files; of a set all of its tokenizers."""
    packages = tokenizer_packages()
    for name in names or [*packages, "smollm2"]:
        package, _, member = name.partition("/")
        if name == "smollm2":
            yield from ((name, one) for one in sorted(_smollm2())[:1])
        elif package in packages:
            found = [
                (f"{package}/{one}".removesuffix("/tokenizer.json"), packages[package].path(one))
                for one in packages[package].files
                if _is_tokenizer(one) and (not member or one == member)
            ]
            if not found:
                raise SystemExit(f"{name}: {package} has no such tokenizer")
            yield from found
        else:
            yield Path(name).stem, Path(name)


def _smollm2() -> Iterator[Path]:
    for config in (trlm_home() / "snapshots").glob("*/tokenizer_config.json"):
        document = json.loads((config.parent / "tokenizer.json").read_bytes())
        if len(document["model"]["vocab"]) == 49152:
            yield config.parent / "tokenizer.json"


def _is_tokenizer(name: str) -> bool:
    return name == "tokenizer.json" or name.endswith(".gguf") or ".model" in name


def shards(
    path: Path, engine: str, given: argparse.Namespace, room: Path
) -> Iterator[dict[str, Any]]:
    """The shards of one tokenizer, from their files or freshly run."""
    todo = range(-(-given.texts // given.shard))
    files = [room / f"seed-{given.seed}-shard-{number:05}.json" for number in todo]
    opened = None
    for number, file in zip(todo, files, strict=True):
        if file.is_file():
            yield json.loads(file.read_bytes())
            continue
        if opened is None:
            opened = _opened(path, engine, given)
        count = min(given.shard, given.texts - number * given.shard)
        candidate, source, reference, pool = opened
        shard = Shard(given.seed, number)
        row = run_shard(candidate, source, pool, shard, count, reference).to_map()
        room.mkdir(parents=True, exist_ok=True)
        part = file.with_suffix(".part")
        part.write_text(json.dumps(row, indent=1))
        part.replace(file)
        yield row


def _opened(
    path: Path, engine: str, given: argparse.Namespace
) -> tuple[TokenizerEngine, TokenizerEngine, Reference, Pool]:
    candidate = open_tokenizer(path, engine)
    source = open_tokenizer(path, given.source or source_engine(path))
    reference = candidate if isinstance(candidate, Reference) else Reference(TokenizerFile.at(path))
    return candidate, source, reference, pool_of(reference.tokenizer, given.seed)


def table(kept: Path) -> Iterator[str]:
    """Rows of a Markdown table of all finished shards."""
    rows = list(kept_rows(kept))
    for head in rows[:1]:
        yield f"| {' | '.join(head)} |"
        yield "|---" * len(head) + "|"
    for row in rows:
        cells = (f"{cell:,}" if isinstance(cell, int) else cell for cell in row.values())
        yield f"| {' | '.join(cells)} |"


def main(arguments: list[str]) -> int:
    """A line a tokenizer, and the differences."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", nargs="*")
    parser.add_argument("--engine", default="python", choices=[*ENGINES])
    parser.add_argument("--source", default="", help="another engine than the source's library")
    parser.add_argument("--texts", type=int, default=10_000, help="texts for each tokenizer")
    parser.add_argument("--shard", type=int, default=1000, help="texts for each shard")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kept", type=Path, default=KEPT)
    parser.add_argument("--table", action="store_true", help="what finished shards found")
    given = parser.parse_args(arguments)
    if given.table:
        print("\n".join(table(given.kept)))
        return 0
    if not NORMALIZATION_TEST.is_file():
        print(f"{NORMALIZATION_TEST} is not here: what decomposes is taken instead")
    failed = 0
    for name, path in subjects(given.name):
        begin = time.monotonic()
        room = given.kept / f"{given.engine}-{given.shard}" / name.replace("/", "--")
        rows = list(shards(path, given.engine, given, room))
        sums = {
            k: sum(row[k] for row in rows) for k in ("texts", "refused", "long", "bytes", "ids")
        }
        found = [one for row in rows for one in row["mismatches"]]
        failed += len(found)
        took = time.monotonic() - begin
        print(f"{name}: {sums}, {len(found)} mismatches, {took:.0f} s", flush=True)
        for one in found[:5]:
            where = f"{one['generator']}, text {one['index']}"
            print(f"  {one['stage']}: {one['smallest']!a} ({where})")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
