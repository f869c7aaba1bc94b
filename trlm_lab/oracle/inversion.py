"""Turn a function that calls back with values into a generator of them, in bounded memory.

The function runs in a thread of its own and waits while `CAPACITY` values, or values of more than
`CAPACITY_BYTES`, are unread. Closing the generator stops it at its next value; its exceptions are
raised in the reader.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from threading import Condition, Thread
from typing import Generic, TypeVar

Item = TypeVar("Item")

#: Values that may lie unread: about one layer of checkpoints of a short case.
CAPACITY = 24
#: Bytes of such values; one alone may have more.
CAPACITY_BYTES = 64_000_000


class ReaderGone(BaseException):
    """Raised inside the producing function when nobody reads any more."""


class _Channel(Generic[Item]):
    def __init__(
        self, produce: Callable[[Callable[[Item], None]], None], weigh: Callable[[Item], int]
    ) -> None:
        self._produce, self._weigh = produce, weigh
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
            self._changed.wait_for(lambda: self._closed or self._has_room(item))
            if self._closed:
                raise ReaderGone
            self._unread.append(item)
            self._changed.notify_all()

    def _has_room(self, item: Item) -> bool:
        held = sum(map(self._weigh, self._unread))
        fits = held == 0 or held + self._weigh(item) <= CAPACITY_BYTES
        return len(self._unread) < CAPACITY and fits

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
            # Else it would live until the next one is there.
            del item
        if self._error is not None:
            raise self._error

    def close(self) -> None:
        """Let the producer stop at its next value."""
        with self._changed:
            self._closed = True
            self._unread.clear()
            self._changed.notify_all()


def generate(
    produce: Callable[[Callable[[Item], None]], None],
    weigh: Callable[[Item], int] = lambda item: 0,
) -> Iterator[Item]:
    """Yield what `produce` passes to its callback, while it runs in a thread of its own.

    `weigh` says how many bytes a value has.
    """
    channel: _Channel[Item] = _Channel(produce, weigh)
    thread = Thread(target=channel.run, name="oracle", daemon=True)
    thread.start()
    try:
        yield from channel.read()
    finally:
        channel.close()
        thread.join()
