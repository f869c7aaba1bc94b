"""Build the peer runtime llama.cpp once into the cache, and install it; `make peers` runs this.

`python -m trlm_lab.backends.build_peer` builds the wheel of the pinned source distribution (about
six minutes on two cores), keeps it under the cache root, and installs it into the running
environment. A kill leaves no half wheel; a second run takes the finished one. The wheel is compiled
for the processor it was built on, so it is kept under a name of the processor's features.
"""

from __future__ import annotations

import hashlib
import platform
import sys
import sysconfig
import tempfile
from pathlib import Path

from trlm_lab.backends.llama_cpp import VERSION, missing_part
from trlm_lab.backends.llama_cpp_sdist import (
    REQUIREMENT,
    cached_converter,
    fetch_sdist,
    keep_converter,
)
from trlm_lab.backends.peer_steps import constraints, pip, run_step
from trlm_lab.base.home import trlm_home
from trlm_lab.errors import PeerBuildError, TrlmError

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


def build_wheel(sdist: Path) -> Path:
    """Build the wheel of an archive; it appears under its name only when it is whole.

    Raises:
        PeerBuildError: pip or the compiler failed.
    """
    room = wheel_room()
    room.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".tmp-", dir=room) as scratch:
        # pip's own cache of wheels knows no processors.
        arguments = ["wheel", "--no-deps", "--no-cache-dir", "-w", scratch, str(sdist)]
        pip("building llama.cpp (about six minutes)", arguments)
        built = next(Path(scratch).glob("*.whl"))
        return built.replace(room / built.name)


def install(wheel: Path) -> None:
    """Install the wheel and what it needs into the running environment.

    Raises:
        PeerBuildError: pip failed, or the installed package cannot be loaded.
    """
    pip("installing llama.cpp", ["install", "--force-reinstall", "--no-deps", str(wheel)])
    pip("installing what it needs", ["install", "-c", str(constraints()), str(wheel), "gguf"])
    run_step("loading llama.cpp", LOADING)


def _loads() -> bool:
    """Whether the installed package can be loaded; its own dependencies may be missing."""
    try:
        run_step("loading llama.cpp", LOADING)
    except PeerBuildError:
        return False
    return True


def bring() -> None:
    """Install llama.cpp and keep its converter, as far as either is missing.

    Raises:
        PeerBuildError: a step failed.
        CheckoutMissingError: there is no checkout.
    """
    installed = missing_part() is None and _loads()
    wheel = None if installed else cached_wheel()
    if wheel is not None:
        install(wheel)
    if (installed or wheel is not None) and cached_converter() is not None:
        return
    with tempfile.TemporaryDirectory(prefix="trlm-llama-cpp-") as scratch:
        sdist = fetch_sdist(Path(scratch))
        keep_converter(sdist)
        if not installed and wheel is None:
            install(build_wheel(sdist))


def main() -> int:
    """Build where needed, install where needed; returns the exit status."""
    try:
        bring()
    except TrlmError as error:
        print(error.text, file=sys.stderr)
        return error.exit_status
    print(f"llama.cpp and its converter are here ({REQUIREMENT})", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
