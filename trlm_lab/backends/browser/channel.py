"""A bounded hand-over of frames from the server's threads to the one that consumes a run."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any

from trlm_lab.errors import BrowserTimeoutError

#: Frames that may wait: the worker fills one while the consumer reads another.
CAPACITY = 2


class Channel:
    """Frames of one run. The sender blocks while the channel is full, so memory stays bounded."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._frames: deque[bytearray] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self._ended = False
        self._error: BaseException | None = None
        self._last_sign = time.monotonic()

    def put(self, frame: bytearray) -> bool:
        """Hand a frame over; blocks while full. False once nobody receives any more."""
        with self._changed:
            self._changed.wait_for(lambda: self._shut or len(self._frames) < self._capacity)
            if self._shut:
                return False
            self._frames.append(frame)
            self._changed.notify_all()
            return True

    @property
    def _shut(self) -> bool:
        return self._closed or self._ended

    def touch(self) -> None:
        """Note a sign of life, which restarts the idle clock."""
        self._last_sign = time.monotonic()

    def end(self, error: BaseException | None = None) -> None:
        """No frame follows; the consumer drains what waits, then ends or raises `error`."""
        with self._changed:
            self._ended = True
            self._error = self._error or error
            self._changed.notify_all()

    def end_with(self, work: Future[Any]) -> None:
        """End as work ended, with its error if it has one."""
        self.end(None if work.cancelled() else work.exception())

    def close(self) -> None:
        """The consumer leaves: a blocked sender returns, later frames are turned away."""
        with self._changed:
            self._closed = True
            self._frames.clear()
            self._changed.notify_all()

    def frames(self, idle_limit_s: float) -> Iterator[bytearray]:
        """Frames until the end.

        Raises:
            BrowserTimeoutError: no frame and no sign of life for `idle_limit_s` seconds.
            BaseException: whatever `end` was given.
        """
        self.touch()
        while (frame := self._next(idle_limit_s)) is not None:
            yield frame
            # The time that the consumer took is no silence of the browser.
            self.touch()

    def _next(self, idle_limit_s: float) -> bytearray | None:
        with self._changed:
            while not self._frames and not self._ended:
                left = self._last_sign + idle_limit_s - time.monotonic()
                if left <= 0:
                    raise BrowserTimeoutError(seconds=idle_limit_s)
                self._changed.wait(left)
            if self._frames:
                self._changed.notify_all()
                return self._frames.popleft()
            if self._error is not None:
                raise self._error
            return None
