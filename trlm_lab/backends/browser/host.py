"""Server, browser and page of one session: started together, closed together, whatever happens."""

from __future__ import annotations

import atexit
import contextlib
import tempfile
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from trlm_lab.backends.browser.channel import Channel
from trlm_lab.backends.browser.find import Chromium
from trlm_lab.backends.browser.leftovers import end_leftovers
from trlm_lab.backends.browser.loop_thread import LoopThread
from trlm_lab.backends.browser.page import Progress, RunnerPage
from trlm_lab.backends.browser.resources import Resource
from trlm_lab.backends.browser.server import PageServer

#: Seconds for an orderly end; then the browser is killed.
CLOSE_LIMIT_S = 15.0


class PageHost:
    """Runs the page over `table` in `chromium`, for threads that know nothing of asyncio."""

    def __init__(self, chromium: Chromium, table: dict[str, Resource]) -> None:
        self._stack = contextlib.ExitStack()
        # Also where the caller forgets to close; atexit comes before the loop's thread dies.
        atexit.register(self.close)
        try:
            self._start(chromium, table)
        except BaseException:
            self.close()
            raise

    def _start(self, chromium: Chromium, table: dict[str, Resource]) -> None:
        directory = tempfile.TemporaryDirectory(prefix="trlm-chromium-", ignore_cleanup_errors=True)
        self.profile = Path(self._stack.enter_context(directory))
        self._stack.callback(end_leftovers, self.profile)
        self._server = self._stack.enter_context(PageServer(table))
        self._loop = LoopThread("trlm-chromium")
        self._stack.callback(self._loop.close)
        self._page = RunnerPage()
        self._stack.callback(self._close_page)
        self._loop.call(self._page.open(chromium.executable, self.profile, self._server.url))

    def _close_page(self) -> None:
        try:
            self._loop.submit(self._page.close()).result(CLOSE_LIMIT_S)
        except TimeoutError:
            self.kill()

    def listening(self) -> contextlib.AbstractContextManager[tuple[str, Channel]]:
        """A channel for one run and the path on which the page reaches it."""
        return self._server.listening()

    def giving(self, body: bytes) -> contextlib.AbstractContextManager[str]:
        """The path on which the page finds these bytes."""
        return self._server.giving(body)

    def command(
        self, name: str, *args: Any, on_progress: Progress, idle_limit_s: float | None
    ) -> Future[dict[str, Any]]:
        """Start `trlm.NAME(...)` in the page; see `RunnerPage.call`."""
        call = self._page.call(name, *args, on_progress=on_progress, idle_limit_s=idle_limit_s)
        return self._loop.submit(call)

    def evaluate(self, script: str) -> Any:
        """Evaluate a script in the page, for tests and for looking around."""
        return self._loop.call(self._page.evaluate(script))

    def kill(self) -> None:
        """End the browser without asking it."""
        end_leftovers(self.profile)

    def close(self) -> None:
        """Close page, browser, driver and server, remove the profile. May be called again."""
        atexit.unregister(self.close)
        self._stack.close()
