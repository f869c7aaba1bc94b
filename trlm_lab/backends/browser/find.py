"""Finds a Chromium: `TRLM_CHROMIUM`, Playwright's own, then the usual places of the system."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from trlm_lab.backends.browser.loop_thread import LoopThread
from trlm_lab.errors import BrowserMissingError, BrowserStartError

VARIABLE = "TRLM_CHROMIUM"
GET_PLAYWRIGHT = "pip install 'trlm-lab[browser]'"
GET_BROWSER = "python -m playwright install --with-deps chromium"
_NAMES = ("/usr/bin/chromium", "google-chrome", "chromium", "chromium-browser")


@dataclass(frozen=True)
class Chromium:
    """An executable and the version it states."""

    executable: Path
    version: str


async def _playwright_executable() -> str:
    from playwright.async_api import async_playwright

    async with async_playwright() as playwright:
        return str(playwright.chromium.executable_path)


def _playwrights_own() -> str | None:
    loop = LoopThread("trlm-find-chromium")
    try:
        path = loop.call(_playwright_executable())
    except Exception as error:
        # Its driver is a program of its own, which fails in ways that no class names.
        detail = f"Playwright's driver does not start: {error}"
        raise BrowserMissingError(detail=detail, command=GET_PLAYWRIGHT) from error
    finally:
        loop.close()
    return path if Path(path).is_file() else None


def _executable() -> Path:
    named = os.environ.get(VARIABLE)
    if named:
        found = shutil.which(named)
        if found is None:
            detail = f"{VARIABLE} names {named!r}, which is no executable file"
            raise BrowserMissingError(where=VARIABLE, detail=detail, command=GET_BROWSER)
        return Path(found)
    found = _playwrights_own() or next(filter(None, map(shutil.which, _NAMES)), None)
    if found is None:
        raise BrowserMissingError(detail="no Chromium was found", command=GET_BROWSER)
    return Path(found)


def _version(executable: Path) -> str:
    try:
        told = subprocess.run(
            [executable, "--version"], capture_output=True, text=True, timeout=30, check=True
        ).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise BrowserStartError(executable=executable, detail=str(error)) from error
    match = re.search(r"(\d+(?:\.\d+){3})", told)
    if match is None:
        detail = f"it calls itself {told.strip()!r}, which states no version"
        raise BrowserStartError(executable=executable, detail=detail)
    return f"Chromium {match[1]}"


@lru_cache(maxsize=8)
def _found(setting: str | None, path: str) -> Chromium:
    executable = _executable()
    return Chromium(executable, _version(executable))


def find_chromium() -> Chromium:
    """The browser that runs will use; found once for each setting of the variables.

    Raises:
        BrowserMissingError: Playwright or a browser is missing.
        BrowserStartError: the executable does not state its version.
    """
    if find_spec("playwright") is None:
        detail = "the package playwright is not installed"
        raise BrowserMissingError(detail=detail, command=GET_PLAYWRIGHT)
    return _found(os.environ.get(VARIABLE), os.environ.get("PATH", ""))
