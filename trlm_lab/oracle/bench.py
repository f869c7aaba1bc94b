"""What a capture costs beside a plain forward pass, the disk and the hash: figures only."""

from __future__ import annotations

import hashlib
import os
import shutil
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from trlm_lab.base.interfaces import Subject
from trlm_lab.base.records import Case, CaseTrace, EngineIdentity, Observation
from trlm_lab.oracle.runner import THREADS, TorchRunner

if TYPE_CHECKING:
    from trlm_lab.oracle.session import TorchSession

#: The aim: a capture takes at most this many forward passes, beside writing and hashing its bytes.
FORWARD_FACTOR = 1.6

#: A pass that lends its observations to a sink.
Push = Callable[[Callable[[Observation], None]], None]
#: Stores one case in a new directory; `flows` passes trace writers in.
WriteCase = Callable[[Path, EngineIdentity, Case, Push], CaseTrace]


@dataclass(frozen=True)
class CaptureBench:
    """Seconds of the median run, bytes of one full capture, bytes a second of disk and hash."""

    tokens: int
    threads: int
    forward_s: float
    full_s: float
    statistics_s: float
    bytes: int
    write_bytes_per_s: float
    sha256_bytes_per_s: float

    @property
    def full_aim_s(self) -> float:
        """The time that a full capture should take at most."""
        disk, sha = self.bytes / self.write_bytes_per_s, self.bytes / self.sha256_bytes_per_s
        return FORWARD_FACTOR * self.forward_s + disk + sha

    @property
    def statistics_aim_s(self) -> float:
        """The time that statistics should take at most."""
        return FORWARD_FACTOR * self.forward_s

    def to_map(self) -> dict[str, float | int]:
        """The figures by name; a ratio of at most 1 reaches its aim."""
        return {
            **vars(self),
            "full_aim_s": self.full_aim_s,
            "full_ratio": self.full_s / self.full_aim_s,
            "statistics_aim_s": self.statistics_aim_s,
            "statistics_ratio": self.statistics_s / self.statistics_aim_s,
        }


def bench_capture(
    model_dir: Path,
    full: WriteCase,
    figures: WriteCase,
    scratch: Path,
    *,
    tokens: int = 128,
    threads: int = THREADS,
    repeats: int = 5,
) -> CaptureBench:
    """Measure forward, both captures, disk and hash in turns, `repeats` times each; medians.

    `full` stores every array and `figures` their statistics. `scratch` is a directory on the disk
    to be measured; what is written there is removed again.

    Raises:
        OracleModelError, Refused, CaptureError: as `TorchRunner.open` and `run`.
    """
    case = Case("bench", tuple(range(tokens)))
    seconds: dict[str, list[float]] = {}

    def timed(what: str, work: Callable[[], object]) -> None:
        begun = time.perf_counter()
        work()
        seconds.setdefault(what, []).append(time.perf_counter() - begun)

    with TorchRunner(threads).open(Subject(model_dir=model_dir)) as session:
        sizes = _written_sizes(session, case, full, scratch)
        data = memoryview(os.urandom(max(sizes)))
        for _ in range(repeats):
            timed("forward", lambda: session.plain_logits(case))
            timed("full", lambda: _write(session, case, full, scratch))
            timed("statistics", lambda: _write(session, case, figures, scratch))
            shutil.rmtree(scratch / "capture")
            timed("disk", lambda: _write_plainly(scratch / "plain", data, sizes))
            (scratch / "plain").unlink()
            timed("sha", lambda: _hash_plainly(data, sizes))
    median = {what: statistics.median(found) for what, found in seconds.items()}
    total = sum(sizes)
    speeds = total / median["disk"], total / median["sha"]
    times = median["forward"], median["full"], median["statistics"]
    return CaptureBench(tokens, threads, *times, total, *speeds)


def _write(session: TorchSession, case: Case, write_case: WriteCase, scratch: Path) -> CaseTrace:
    place = scratch / "capture" / str(len(list(scratch.glob("capture/*"))))
    return write_case(place, session.identity, case, partial(session.observe, case))


def _written_sizes(
    session: TorchSession, case: Case, write_case: WriteCase, scratch: Path
) -> list[int]:
    """Bytes of each array of a capture, which warms up model and disk."""
    trace = _write(session, case, write_case, scratch)
    shutil.rmtree(scratch / "capture")
    return [_size(array.dtype, array.shape) for array in trace.arrays]


def _size(dtype: str, shape: tuple[int, ...]) -> int:
    elements = 1
    for extent in shape:
        elements *= extent
    return elements * {"float32": 4, "int64": 8}[dtype]


def _write_plainly(path: Path, data: memoryview, sizes: list[int]) -> None:
    """As many bytes into one file, with nothing else to do."""
    with path.open("wb", buffering=0) as stream:
        for size in sizes:
            stream.write(data[:size])


def _hash_plainly(data: memoryview, sizes: list[int]) -> None:
    for size in sizes:
        hashlib.sha256(data[:size])
