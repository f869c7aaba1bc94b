"""What a full capture costs beside a plain forward pass, the disk and the hash: figures only."""

from __future__ import annotations

import hashlib
import os
import shutil
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from trlm_lab.base.interfaces import Subject
from trlm_lab.base.records import Case, CaseTrace, EngineIdentity, Observation
from trlm_lab.oracle.runner import THREADS, TorchRunner

#: The aim: a capture takes at most this many forward passes, beside writing and hashing its bytes.
FORWARD_FACTOR = 1.6

#: Stores one case in a new directory; `flows` passes the trace writer in.
WriteCase = Callable[[Path, EngineIdentity, Case, Iterator[Observation]], CaseTrace]


@dataclass(frozen=True)
class CaptureBench:
    """Seconds of the median run, bytes of one capture, and bytes a second of disk and hash."""

    tokens: int
    threads: int
    forward_s: float
    capture_s: float
    bytes: int
    write_bytes_per_s: float
    sha256_bytes_per_s: float

    @property
    def aim_s(self) -> float:
        """The time that a capture should take at most."""
        disk, sha = self.bytes / self.write_bytes_per_s, self.bytes / self.sha256_bytes_per_s
        return FORWARD_FACTOR * self.forward_s + disk + sha

    def to_map(self) -> dict[str, float | int]:
        """The figures by name."""
        return {**vars(self), "aim_s": self.aim_s, "ratio": self.capture_s / self.aim_s}


def bench_capture(
    model_dir: Path,
    write_case: WriteCase,
    scratch: Path,
    *,
    tokens: int = 128,
    threads: int = THREADS,
    repeats: int = 3,
) -> CaptureBench:
    """Measure forward, capture, disk and hash `repeats` times each; medians.

    `scratch` is a directory on the disk to be measured; what is written there is removed again.

    Raises:
        OracleModelError, Refused, CaptureError: as `TorchRunner.open` and `run`.
    """
    case = Case("bench", tuple(range(tokens)))
    with TorchRunner(threads).open(Subject(model_dir=model_dir)) as session:
        session.plain_logits(case)
        forward = [_timed(lambda: session.plain_logits(case)) for _ in range(repeats)]
        capture, trace = [], None
        for _ in range(repeats):
            place = _fresh(scratch / "capture")
            begun = time.perf_counter()
            trace = write_case(place, session.identity, case, session.run(case))
            capture.append(time.perf_counter() - begun)
            shutil.rmtree(place)
    assert trace is not None
    sizes = [_size(array.dtype, array.shape) for array in trace.arrays]
    disk = [_timed(lambda: _write_plainly(scratch / "plain", sizes)) for _ in range(repeats)]
    sha = [_timed(lambda: _hash_plainly(sizes)) for _ in range(repeats)]
    total, median = sum(sizes), statistics.median
    speeds = total / median(disk), total / median(sha)
    return CaptureBench(tokens, threads, median(forward), median(capture), total, *speeds)


def _timed(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def _fresh(path: Path) -> Path:
    shutil.rmtree(path, ignore_errors=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _size(dtype: str, shape: tuple[int, ...]) -> int:
    elements = 1
    for extent in shape:
        elements *= extent
    return elements * {"float32": 4, "int64": 8}[dtype]


def _write_plainly(path: Path, sizes: list[int]) -> None:
    """One file an array, as the trace store has it, with nothing else to do."""
    _fresh(path).mkdir()
    data = memoryview(os.urandom(max(sizes)))
    for index, size in enumerate(sizes):
        (path / str(index)).write_bytes(data[:size])
    shutil.rmtree(path)


def _hash_plainly(sizes: list[int]) -> None:
    data = memoryview(bytes(max(sizes)))
    for size in sizes:
        hashlib.sha256(data[:size])
