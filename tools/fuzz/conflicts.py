#!/usr/bin/env python3
"""Where two publications of one tokenizer disagree: texts, the smallest ones, and both ids.

python tools/fuzz/conflicts.py [--texts 2000] [--seed 1]

Each publication is run by the reference, which does what its own source does (exactness.py).
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path
from random import Random

from trlm_lab.acquire.tokenizer_data import tokenizer_packages
from trlm_lab.flows.exactness.shards import shrunk
from trlm_lab.flows.exactness.text_generators import Pool, equal_texts, mixed
from trlm_lab.flows.tokenizer_engines import read_reference
from trlm_lab.flows.tokenizer_requests import TokenizerFile

#: Model, a publication, another one: package and file.
PAIRS = (
    ("Llama 3", ("llama3_1", "tokenizer.json"), ("llama.cpp", "ggml-vocab-llama-bpe.gguf")),
    ("Qwen 2 and 3", ("qwen3", "tokenizer.json"), ("llama.cpp", "ggml-vocab-qwen2.gguf")),
    ("BERT", ("all_minilm_l6_v2", "tokenizer.json"), ("llama.cpp", "ggml-vocab-bert-bge.gguf")),
    ("Mistral 7B", ("llama2", "tokenizer.json"), ("mistral", "tokenizer.model.v1")),
)
SHOWN = 12


def path(publication: tuple[str, str]) -> Path:
    """The file of a publication."""
    return tokenizer_packages()[publication[0]].path(publication[1])


def main(arguments: list[str]) -> int:
    """A line a pair, and its smallest texts by how often they come up."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--texts", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    pool = Pool(
        ("the", " a", "ing", "\u00e9t\u00e9", "\u4e16"), ("<s>", "</s>", "<|x|>"), equal_texts()
    )
    for model, first, second in PAIRS:
        left = read_reference(TokenizerFile.at(path(first)))
        right = read_reference(TokenizerFile.at(path(second)))

        def differs(text: str, left=left, right=right) -> bool:
            return left.encode(text).ids != right.encode(text).ids

        found: Counter[str] = Counter()
        for index in range(given.texts):
            _, text = mixed(Random(f"{given.seed}:{model}:{index}"), pool)
            if differs(text):
                found[shrunk(text, differs)] += 1
        print(f"{model}: {found.total()} of {given.texts} texts differ", flush=True)
        for text, count in found.most_common(SHOWN):
            ids = left.encode(text).ids, right.encode(text).ids
            print(f"  {count:4} {text!a} {ids[0]} {ids[1]}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
