"""An asyncio loop in a thread of its own, so that callers may have a loop themselves (Jupyter)."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

Result = TypeVar("Result")

#: Seconds that cancelled work may take to end.
DRAIN_LIMIT_S = 10.0


class LoopThread:
    """Runs coroutines for threads that must not, or cannot, run a loop."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=name, daemon=True)
        self._thread.start()

    def submit(self, coroutine: Coroutine[Any, Any, Result]) -> Future[Result]:
        """Start a coroutine on the loop."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def call(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        """Run a coroutine to its end; interrupting the wait cancels it."""
        future = self.submit(coroutine)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def close(self) -> None:
        """Cancel what still runs, end the loop and the thread."""
        if self._loop.is_closed():
            return
        self.call(_drain())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


async def _drain() -> None:
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks, timeout=DRAIN_LIMIT_S)
    await asyncio.get_running_loop().shutdown_asyncgens()
