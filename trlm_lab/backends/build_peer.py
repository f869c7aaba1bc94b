"""Build the peer runtime llama.cpp once into the cache, and install it; `make peers` runs this.

`python -m trlm_lab.backends.build_peer` builds the wheel of the pinned source distribution (about
six minutes on two cores), keeps it under the cache root, and installs it into the running
environment. A kill leaves no half wheel; a second run takes the finished one. The wheel is compiled
for the processor it was built on, so it is kept under a name of the processor's features.
"""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from trlm_lab.backends.llama_cpp import FIX, VERSION, missing_part
from trlm_lab.base.home import trlm_home
from trlm_lab.errors import CheckoutMissingError, PeerBuildError, TrlmError

REQUIREMENT = f"llama-cpp-python=={VERSION}"
#: SHA-256 of llama_cpp_python-0.3.36.tar.gz on PyPI.
SDIST_SHA256 = "832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e"
#: The library alone: no tools, no server, no image models.
CMAKE_ARGS = (
    "-DLLAVA_BUILD=OFF -DMTMD_BUILD=OFF -DLLAMA_BUILD_TOOLS=OFF -DLLAMA_BUILD_COMMON=OFF "
    "-DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_SERVER=OFF -DLLAMA_BUILD_TESTS=OFF"
)
#: Exact versions of what it needs, to run and to be built; a checkout has the file.
CONSTRAINTS = Path(__file__).resolve().parents[2] / "constraints.txt"
LOG_LINES = 15
LOADING = (sys.executable, "-c", "import llama_cpp")


def wheel_room() -> Path:
    """Where the wheel for this processor, system and Python lies or would lie."""
    features = f"{sysconfig.get_platform()} {platform.machine()} {_processor_features()}"
    return trlm_home() / "wheels" / hashlib.sha256(features.encode()).hexdigest()[:16]


def _processor_features() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    flags = next((line for line in lines if line.startswith(("flags", "Features"))), "")
    return " ".join(sorted(flags.partition(":")[2].split()))


def cached_wheel() -> Path | None:
    """The finished wheel, or None."""
    found = sorted(wheel_room().glob(f"llama_cpp_python-{VERSION}-*.whl"))
    return found[0] if found else None


def constraints() -> Path:
    """The file that pins every version.

    Raises:
        CheckoutMissingError: there is no checkout.
    """
    if not CONSTRAINTS.is_file():
        raise CheckoutMissingError(where=str(CONSTRAINTS), what="the list of pinned versions")
    return CONSTRAINTS


def build_wheel() -> Path:
    """Build the wheel; it appears under its name only when it is whole.

    Raises:
        PeerBuildError: pip or the compiler failed.
        CheckoutMissingError: there is no checkout.
    """
    room = wheel_room()
    room.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".tmp-", dir=room) as scratch:
        pinned = Path(scratch) / "requirement.txt"
        pinned.write_text(f"{REQUIREMENT} --hash=sha256:{SDIST_SHA256}\n", encoding="utf-8")
        # pip's own cache of wheels knows no processors.
        arguments = ["wheel", "--no-deps", "--no-cache-dir", "--no-binary", "llama-cpp-python"]
        arguments += ["--require-hashes", "-w", scratch, "-r", str(pinned)]
        _pip("building llama.cpp (about six minutes)", arguments)
        built = next(Path(scratch).glob("*.whl"))
        return built.replace(room / built.name)


def install(wheel: Path) -> None:
    """Install the wheel and what it needs into the running environment.

    Raises:
        PeerBuildError: pip failed, or the installed package cannot be loaded.
    """
    _pip("installing llama.cpp", ["install", "--force-reinstall", "--no-deps", str(wheel)])
    _pip("installing what it needs", ["install", "-c", str(constraints()), str(wheel), "gguf"])
    _run("loading llama.cpp", LOADING)


def _loads() -> bool:
    """Whether the installed package can be loaded; its own dependencies may be missing."""
    try:
        _run("loading llama.cpp", LOADING)
    except PeerBuildError:
        return False
    return True


def _pip(step: str, arguments: Sequence[str]) -> None:
    whole = [sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments]
    _run(step, whole)


def _run(step: str, arguments: Sequence[str]) -> None:
    """Run a step with its time on one line; its output is shown only where it fails."""
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


def main() -> int:
    """Build where needed, install where needed; returns the exit status."""
    try:
        if missing_part() is None and _loads():
            print(f"llama.cpp is installed ({REQUIREMENT})", file=sys.stderr)
            return 0
        install(cached_wheel() or build_wheel())
    except TrlmError as error:
        print(error.text, file=sys.stderr)
        return error.exit_status
    return 0


if __name__ == "__main__":
    sys.exit(main())
