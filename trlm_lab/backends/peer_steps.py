"""Steps of a build: a program with its time on one line, and its output where it fails."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from trlm_lab.backends.llama_cpp import FIX
from trlm_lab.errors import CheckoutMissingError, PeerBuildError

#: The library alone: no tools, no server, no image models.
CMAKE_ARGS = (
    "-DLLAVA_BUILD=OFF -DMTMD_BUILD=OFF -DLLAMA_BUILD_TOOLS=OFF -DLLAMA_BUILD_COMMON=OFF "
    "-DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_SERVER=OFF -DLLAMA_BUILD_TESTS=OFF"
)
#: Exact versions of what it needs, to run and to be built; a checkout has the file.
CONSTRAINTS = Path(__file__).resolve().parents[2] / "constraints.txt"
LOG_LINES = 15


def constraints() -> Path:
    """The file that pins every version.

    Raises:
        CheckoutMissingError: there is no checkout.
    """
    if not CONSTRAINTS.is_file():
        raise CheckoutMissingError(where=str(CONSTRAINTS), what="the list of pinned versions")
    return CONSTRAINTS


def pip(step: str, arguments: Sequence[str]) -> None:
    """One call of pip. Raises PeerBuildError where it fails."""
    whole = [sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments]
    run_step(step, whole)


def run_step(step: str, arguments: Sequence[str]) -> None:
    """Run a step with its time on one line; its output is shown only where it fails.

    Raises:
        PeerBuildError: it ended with another status than 0.
    """
    environment = {**os.environ, "CMAKE_ARGS": CMAKE_ARGS}
    if CONSTRAINTS.is_file():
        # The build's own tools; an address, for pip splits the variable at spaces.
        environment["PIP_BUILD_CONSTRAINT"] = CONSTRAINTS.as_uri()
    with tempfile.TemporaryFile() as log:
        child = subprocess.Popen(arguments, stdout=log, stderr=subprocess.STDOUT, env=environment)
        try:
            _show_time(step, child)
        finally:
            if child.poll() is None:
                child.terminate()
                child.wait()
        if child.returncode != 0:
            log.seek(0)
            lines = log.read().decode("utf-8", "replace").splitlines()[-LOG_LINES:]
            text = "".join(f"\n  {line}" for line in lines)
            ending = f"exit status {child.returncode}"
            raise PeerBuildError(where=step, step=step, ending=ending, log=text, command=FIX)


def _show_time(step: str, child: subprocess.Popen[bytes]) -> None:
    """One line that is rewritten on a terminal, and printed twice elsewhere."""
    begun = time.monotonic()
    live = sys.stderr.isatty()
    print(f"{step} ...", end="" if live else "\n", file=sys.stderr, flush=True)
    while child.poll() is None:
        time.sleep(0.2)
        if live:
            seconds = time.monotonic() - begun
            print(f"\r{step} ... {seconds:.0f} s", end="", file=sys.stderr, flush=True)
    start = "\r" if live else ""
    print(f"{start}{step}: {time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)
