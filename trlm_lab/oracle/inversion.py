"""Turn a function that calls back with values into a generator of them, in bounded memory.

The function runs in a thread of its own and waits while `CAPACITY` values are unread. Closing
the generator stops it at its next value; its exceptions are raised in the reader.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from threading import Condition, Thread
from typing import Generic, TypeVar

Item = TypeVar("Item")

#: Values that may lie unread: about one layer of checkpoints.
CAPACITY = 24


class ReaderGone(BaseException):
    """Raised inside the producing function when nobody reads any more."""


class _Channel(Generic[Item]):
    def __init__(self, produce: Callable[[Callable[[Item], None]], None]) -> None:
        self._produce = produce
        self._unread: deque[Item] = deque()
        self._changed = Condition()
        self._closed = False
        self._finished = False
        self._error: BaseException | None = None

    def run(self) -> None:
        """Body of the producing thread."""
        try:
            self._produce(self._put)
        except ReaderGone:
            pass
        except BaseException as error:
            self._error = error
        with self._changed:
            self._finished = True
            self._changed.notify_all()

    def _put(self, item: Item) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._closed or len(self._unread) < CAPACITY)
            if self._closed:
                raise ReaderGone
            self._unread.append(item)
            self._changed.notify_all()

    def read(self) -> Iterator[Item]:
        """Values until the producer ends; then its exception, if any."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._finished or bool(self._unread))
                if not self._unread:
                    break
                item = self._unread.popleft()
                self._changed.notify_all()
            yield item
        if self._error is not None:
            raise self._error

    def close(self) -> None:
        """Let the producer stop at its next value."""
        with self._changed:
            self._closed = True
            self._unread.clear()
            self._changed.notify_all()


def generate(produce: Callable[[Callable[[Item], None]], None]) -> Iterator[Item]:
    """Yield what `produce` passes to its callback, while it runs in a thread of its own."""
    channel: _Channel[Item] = _Channel(produce)
    thread = Thread(target=channel.run, name="oracle", daemon=True)
    thread.start()
    try:
        yield from channel.read()
    finally:
        channel.close()
        thread.join()
