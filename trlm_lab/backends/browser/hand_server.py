"""Serves the page for a person, until it is told to stop."""

from __future__ import annotations

import sys
import threading
import webbrowser
from collections.abc import Callable
from pathlib import Path

from trlm_lab.backends.browser.resources import resources
from trlm_lab.backends.browser.server import PageServer
from trlm_lab.backends.wasm_module import MODULE


def _tell(url: str) -> None:
    print(f"The page is at {url} (Ctrl-C ends it).", file=sys.stderr, flush=True)


def serve(
    artifact: Path | None = None,
    *,
    port: int = 0,
    module: Path = MODULE,
    open_browser: bool = False,
    tell: Callable[[str], None] = _tell,
    stop: threading.Event | None = None,
) -> None:
    """Serve the page on 127.0.0.1 until Ctrl-C, or until `stop` is set.

    `artifact` is offered by the page beside its file picker. Port 0 takes a free one; `tell` gets
    the address.

    Raises:
        PageMissingError: a file of the page, or the module, is not there.
        ModelFilesError: the artifact is not there.
        PortTakenError: another program listens on the port.
    """
    with PageServer(resources(artifact, module), port=port) as server:
        tell(server.url)
        if open_browser:
            webbrowser.open(server.url)
        try:
            (stop or threading.Event()).wait()
        except KeyboardInterrupt:
            return
