"""Progress of long work on standard error: bars with time left on a terminal, lines elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any

from trlm_lab.errors import RunInterruptedError

#: Without a terminal a running stage says how far it is at most this often, in seconds.
LINE_EVERY = 10.0


class Meter:
    """One running piece of work; `advance` may be called from any thread."""

    def __init__(self, board: Board, title: str, total: float, unit: str) -> None:
        self._board, self.title, self.total, self.unit = board, title, total, unit
        self.done = 0.0
        self.started = self.last_line = time.monotonic()
        self.handle: Any = None

    def advance(self, amount: float = 1.0) -> None:
        """Report `amount` more units done.

        Raises:
            RunInterruptedError: the run was interrupted; the worker stops here.
        """
        self.done += amount
        if self._board.cancelled.is_set():
            raise RunInterruptedError(where=self.title)
        self._board.changed(self)

    @property
    def left(self) -> float | None:
        """Seconds left by the mean rate so far, or None before a tenth is done."""
        spent = time.monotonic() - self.started
        early = self.done < 0.1 * self.total or not self.done
        return None if early else spent * (self.total - self.done) / self.done


class Board:
    """All meters of a run; a context manager. `quiet` shows nothing."""

    def __init__(self, *, quiet: bool = False) -> None:
        self.quiet = quiet
        self._lock = threading.Lock()
        self._bars: Any = None
        self.cancelled = threading.Event()
        self._reported: dict[str, Meter] = {}

    def __enter__(self) -> Board:
        if not self.quiet and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

            self._bars = Progress(
                TextColumn("{task.description}"),
                BarColumn(bar_width=24),
                TextColumn("{task.completed:.0f}/{task.total:.0f} {task.fields[unit]}"),
                TimeRemainingColumn(compact=True),
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
                meter.handle = self._bars.add_task(meter.title, total=meter.total, unit=meter.unit)

    def changed(self, meter: Meter) -> None:
        """Redraw after an advance."""
        with self._lock:
            if meter.handle is not None:
                self._bars.update(meter.handle, completed=meter.done)
                return
        now = time.monotonic()
        if self.quiet or now - meter.last_line < LINE_EVERY:
            return
        meter.last_line = now
        left = meter.left
        tail = "" if left is None else f", about {left:.0f} s left"
        self.say(f"  {meter.title}: {meter.done:.0f}/{meter.total:.0f} {meter.unit}{tail}")

    def _close(self, meter: Meter) -> None:
        spent = time.monotonic() - meter.started
        if meter.handle is not None:
            with self._lock:
                self._bars.remove_task(meter.handle)
        if spent > 1.0:
            amount = f"{meter.done:.0f} {meter.unit} in " if meter.unit else ""
            if meter.done < meter.total:
                amount = f"stopped at {meter.done:.0f} of {meter.total:.0f} {meter.unit} after "
            self.say(f"  {meter.title}: {amount}{spent:.1f} s")
