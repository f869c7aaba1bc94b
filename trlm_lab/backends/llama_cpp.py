"""llama.cpp as a backend: the process adapter over `llama_cpp_process`, logits only.

The model directory's own float32 weights are exported to an F32 GGUF, so that what is on trial is
llama.cpp's arithmetic and not a quantized file.
"""

from __future__ import annotations

import sys
from importlib import metadata, util
from pathlib import Path

from trlm_lab.backends.process import ProcessRunner, ProcessSession
from trlm_lab.backends.process_command import DEFAULT_ENVIRONMENT, Limits, ProcessCommand
from trlm_lab.base.interfaces import Subject
from trlm_lab.base.records import Availability
from trlm_lab.errors import PeerMissingError

#: The version that is built and tested; another one is another peer.
VERSION = "0.3.36"
FIX = "make peers"
SCRIPT = Path(__file__).with_name("llama_cpp_process.py")


class LlamaCppRunner:
    """The `Runner` of llama.cpp; `threads` is part of its identity."""

    name = "llama.cpp"

    def __init__(self, threads: int = 1, *, timeout: float = 600.0) -> None:
        # -P keeps the script's own directory, which has modules of common names, off the path.
        arguments = (sys.executable, "-P", str(SCRIPT), "--threads", str(threads))
        limits = Limits(seconds=timeout)
        command = ProcessCommand(arguments, DEFAULT_ENVIRONMENT, limits)
        self._process = ProcessRunner(command, engine=self.name)

    def availability(self) -> Availability:
        """Whether the pinned version is installed; nothing is loaded."""
        missing = missing_part()
        if missing:
            return Availability(False, reason=missing, fix=FIX)
        return Availability(True, version=VERSION, features=("logits", "cpu"))

    def open(self, subject: Subject) -> ProcessSession:
        """Open a model directory.

        Raises:
            PeerMissingError: llama.cpp is not installed; the verdict is NOT_SUPPORTED.
            ModelShapeError: the subject does not tell the model's shapes.
        """
        missing = missing_part()
        if missing:
            raise PeerMissingError(where=self.name, peer="llama.cpp", detail=missing, command=FIX)
        return self._process.open(subject)


def missing_part() -> str | None:
    """What is missing for llama.cpp to run here, or None."""
    for module in ("llama_cpp", "gguf"):
        if util.find_spec(module) is None:
            return f"the package {module} is missing"
    version = metadata.version("llama-cpp-python")
    return None if version == VERSION else f"llama-cpp-python {version}, {VERSION} is pinned"
