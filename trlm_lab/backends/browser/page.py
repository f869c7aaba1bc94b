"""The runner page in a headless Chromium of its own, driven from asyncio.

Everything that goes wrong in the page (a console error, an exception, a crash, a browser that
ends) fails the command that is running, with its text.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from trlm_lab.errors import BrowserPageError, BrowserStartError, BrowserTimeoutError

#: No network beyond the page's own server, and no background services.
FLAGS = (
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--no-proxy-server",
    "--disable-domain-reliability",
    "--no-pings",
)
#: Calls a method of the page's `trlm` object and reports its progress.
_CALL = """([name, ...args]) =>
  trlm[name](...args, (row) => trlmProgress(row.stage, row.done, row.total))"""

Progress = Callable[[str, int, int], None]


async def _start(playwright: Any, executable: Path, profile: Path, sandbox: bool) -> Any:
    """A headless browser on a profile."""
    from playwright.async_api import Error

    try:
        return await playwright.chromium.launch_persistent_context(
            profile, executable_path=executable, headless=True, args=list(FLAGS),
            chromium_sandbox=sandbox, handle_sigint=False, handle_sigterm=False,
            handle_sighup=False, accept_downloads=False, service_workers="block",
        )  # fmt: skip
    except Error as error:
        raise BrowserStartError(executable=executable, detail=_first_line(error)) from error


async def _launch(playwright: Any, executable: Path, profile: Path) -> Any:
    """The same, in the browser's sandbox where the system lets it have one."""
    sandbox = _may_sandbox()
    try:
        return await _start(playwright, executable, profile, sandbox)
    except BrowserStartError as error:
        if not (sandbox and "sandbox" in str(error.__cause__)):
            raise
    # Containers and some distributions forbid the namespaces it is made of. The page is our own.
    return await _start(playwright, executable, profile, sandbox=False)


def _may_sandbox() -> bool:
    """Root cannot have the sandbox."""
    return not (hasattr(os, "geteuid") and os.geteuid() == 0)


class RunnerPage:
    """One browser with one page; `call` runs its commands one at a time."""

    def __init__(self) -> None:
        self._failure: asyncio.Future[str]
        self._on_progress: Progress | None = None
        self._last_sign = time.monotonic()
        self._stack = contextlib.AsyncExitStack()
        self._page: Any = None

    async def open(self, executable: Path, profile: Path, url: str) -> None:
        """Start the browser on a profile directory and open the page.

        Raises:
            BrowserStartError: the browser does not start.
            BrowserPageError: the page does not.
        """
        from playwright.async_api import async_playwright

        self._failure = asyncio.get_running_loop().create_future()
        playwright = await self._stack.enter_async_context(async_playwright())
        context = await _launch(playwright, executable, profile)
        self._stack.push_async_callback(_close_quietly, context)
        self._page = context.pages[0] if context.pages else await context.new_page()
        self._watch(context)
        await self._page.expose_function("trlmProgress", self._progress)
        await self._guarded(self._page.goto(url), idle_limit_s=60.0)

    def _watch(self, context: Any) -> None:
        self._page.on("console", self._on_console)
        self._page.on("pageerror", lambda error: self._fail(f"it threw {error}"))
        self._page.on("crash", lambda _: self._fail("it crashed, perhaps for want of memory"))
        context.on("close", lambda _: self._fail("the browser ended"))

    def _on_console(self, message: Any) -> None:
        if message.type == "error":
            self._fail(f"console error: {message.text} ({message.location.get('url', '')})")

    def _fail(self, text: str) -> None:
        if not self._failure.done():
            self._failure.set_result(text)

    def _progress(self, stage: str, done: int, total: int) -> None:
        self._last_sign = time.monotonic()
        if self._on_progress is not None:
            self._on_progress(stage, done, total)

    async def call(
        self, name: str, *args: Any, on_progress: Progress | None, idle_limit_s: float | None
    ) -> Any:
        """Call `trlm.NAME(...)` in the page; the answer is `{"result"}` or `{"problem"}`.

        Raises:
            BrowserPageError: the page failed meanwhile.
            BrowserTimeoutError: no progress for `idle_limit_s` seconds (None: no limit).
        """
        self._on_progress = on_progress
        return await self._guarded(self._page.evaluate(_CALL, [name, *args]), idle_limit_s)

    async def evaluate(self, script: str) -> Any:
        """Evaluate a script in the page."""
        return await self._page.evaluate(script)

    async def _guarded(self, work: Any, idle_limit_s: float | None) -> Any:
        from playwright.async_api import Error

        self._last_sign = time.monotonic()
        task = asyncio.ensure_future(work)
        try:
            while not task.done() and not self._failure.done():
                await asyncio.wait(
                    {task, self._failure},
                    timeout=self._left(idle_limit_s),
                    return_when=asyncio.FIRST_COMPLETED,
                )
            if self._failure.done():
                raise BrowserPageError(detail=self._failure.result())
            return task.result()
        except Error as error:
            raise BrowserPageError(detail=_first_line(error)) from error
        finally:
            await _abandon(task)

    def _left(self, idle_limit_s: float | None) -> float | None:
        if idle_limit_s is None:
            return None
        left = self._last_sign + idle_limit_s - time.monotonic()
        if left <= 0:
            raise BrowserTimeoutError(seconds=idle_limit_s)
        return left

    async def close(self) -> None:
        """Close page, browser and driver; works after a crash too."""
        if self._page is not None:
            self._fail("the session was closed")
        await self._stack.aclose()


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__


async def _abandon(task: asyncio.Future[Any]) -> None:
    """Cancel a task that may still run and take its outcome, so that nothing warns of it."""
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def _close_quietly(context: Any) -> None:
    from playwright.async_api import Error

    # A browser that has gone already cannot be closed again, which is what was wanted.
    with contextlib.suppress(Error):
        await context.close()
