"""Progress of long work on standard error: bars with time left on a terminal, lines elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any

from trlm_lab.errors import RunInterruptedError

#: Without a terminal a running stage says how far it is at most this often, in seconds.
LINE_EVERY = 10.0
#: An estimate of the time left rests on so many reports at least, and at most.
ENOUGH_REPORTS, RECENT = 3, 24
#: ... over so many seconds, or over this share of the work.
ENOUGH_SECONDS, ENOUGH_SHARE = 2.0, 0.1


class Meter:
    """One running piece of work; `advance` may be called from any thread."""

    def __init__(self, board: Board, title: str, total: float, unit: str) -> None:
        self._board, self.title, self.total, self.unit = board, title, total, unit
        self.done = 0.0
        self.started = self.last_line = board.clock()
        #: (seconds, units done) of the latest reports; what came before says little of the rest.
        self._reports: deque[tuple[float, float]] = deque(maxlen=RECENT)
        self.handle: Any = None

    def advance(self, amount: float = 1.0) -> None:
        """Report `amount` more units done.

        Raises:
            RunInterruptedError: the run was interrupted; the worker stops here.
        """
        self.done += amount
        self._reports.append((self._board.clock(), self.done))
        if self._board.cancelled.is_set():
            raise RunInterruptedError(where=self.title)
        self._board.changed(self)

    @property
    def left(self) -> float | None:
        """Seconds left by the rate of the latest reports, or None while they say too little.

        The first report carries the start (opening a model, compiling), so the rate is counted
        from there on; it needs a few reports, and some seconds or much of the work between them.
        """
        if len(self._reports) < ENOUGH_REPORTS:
            return None
        (begun, before), (latest, done) = self._reports[0], self._reports[-1]
        spent, made = latest - begun, done - before
        if made <= 0 or (spent < ENOUGH_SECONDS and made < ENOUGH_SHARE * self.total):
            return None
        return max(0.0, spent * (self.total - done) / made - (self._board.clock() - latest))

    @property
    def outlook(self) -> str:
        """The time left in words."""
        left = self.left
        return "estimating" if left is None else f"{duration(left)} left"


def duration(seconds: float) -> str:
    """`45 s`, `3 min 05 s`, `2 h 10 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


class Board:
    """All meters of a run; a context manager. `quiet` shows nothing; `clock` gives seconds."""

    def __init__(self, *, quiet: bool = False, clock: Callable[[], float] = time.monotonic) -> None:
        self.quiet = quiet
        self.clock = clock
        self._lock = threading.Lock()
        self._bars: Any = None
        self.cancelled = threading.Event()
        self._reported: dict[str, Meter] = {}

    def __enter__(self) -> Board:
        if not self.quiet and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn

            self._bars = Progress(
                TextColumn("{task.description}"),
                BarColumn(bar_width=24),
                TextColumn("{task.completed:.0f}/{task.total:.0f} {task.fields[unit]}"),
                TextColumn("{task.fields[outlook]}"),
                console=Console(stderr=True),
            )
            self._bars.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        if self._bars is not None:
            self._bars.stop()
            self._bars = None

    def say(self, text: str) -> None:
        """One line of words."""
        if self.quiet:
            return
        if self._bars is not None:
            self._bars.console.print(text, highlight=False)
        else:
            print(text, file=sys.stderr, flush=True)

    @contextmanager
    def meter(self, title: str, total: float, unit: str) -> Iterator[Meter]:
        """A bar while the block runs; a closing line with the time taken where there is no bar."""
        meter = Meter(self, title, total, unit)
        self._show(meter)
        try:
            yield meter
        finally:
            self._close(meter)

    def report(self, what: str, done: int, total: int) -> None:
        """The callback that stages take: what is being done, units done, all units."""
        meter = self._reported.get(what)
        if meter is None:
            meter = self._reported[what] = Meter(self, what, total, "")
            self._show(meter)
        meter.advance(done - meter.done)
        if done >= total:
            self._close(self._reported.pop(what))

    def _show(self, meter: Meter) -> None:
        if self._bars is not None:
            with self._lock:
                meter.handle = self._bars.add_task(
                    meter.title, total=meter.total, unit=meter.unit, outlook=meter.outlook
                )

    def changed(self, meter: Meter) -> None:
        """Redraw after an advance."""
        with self._lock:
            if meter.handle is not None:
                self._bars.update(meter.handle, completed=meter.done, outlook=meter.outlook)
                return
        now = self.clock()
        if self.quiet or now - meter.last_line < LINE_EVERY:
            return
        meter.last_line = now
        done = f"{meter.done:.0f}/{meter.total:.0f} {meter.unit}".rstrip()
        self.say(f"  {meter.title}: {done}, {meter.outlook}")

    def _close(self, meter: Meter) -> None:
        spent = self.clock() - meter.started
        if meter.handle is not None:
            with self._lock:
                self._bars.remove_task(meter.handle)
        if spent > 1.0:
            amount = f"{meter.done:.0f} {meter.unit} in " if meter.unit else ""
            if meter.done < meter.total:
                amount = f"stopped at {meter.done:.0f} of {meter.total:.0f} {meter.unit} after "
            self.say(f"  {meter.title}: {amount}{spent:.1f} s")
