"""What a process backend runs: the arguments, the environment that passes, and the limits.

Nothing here starts a process. `process_parse` makes the record from a command line or a file.
"""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trlm_lab.backends.process_files import names_file
from trlm_lab.base import canon
from trlm_lab.base.blobs import file_sha256
from trlm_lab.base.records.node_kinds import absolute_path
from trlm_lab.errors import ProgramMissingError

#: Variables that a command without a runner file sees, where they are set.
DEFAULT_ENVIRONMENT: tuple[str, ...] = (
    "CUDA_VISIBLE_DEVICES",
    "HF_HOME",
    "HOME",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "LD_LIBRARY_PATH",
    "MKL_NUM_THREADS",
    "OMP_NUM_THREADS",
    "PATH",
    "PYTHONPATH",
    "TMPDIR",
    "TRLM_HOME",
    "TZ",
    "VIRTUAL_ENV",
)


@dataclass(frozen=True)
class Limits:
    """Wall time in seconds, address space in bytes, size of any one written file in bytes."""

    seconds: float = 600.0
    memory_bytes: int | None = None
    file_bytes: int = 1 << 34


@dataclass(frozen=True)
class ProcessCommand:
    """A command ready to run; the request and the output directory are appended to `arguments`."""

    arguments: tuple[str, ...]
    environment: tuple[str, ...] = DEFAULT_ENVIRONMENT
    limits: Limits = Limits()

    def program(self) -> Path:
        """The executable that the first argument names, found on the search path.

        Raises:
            ProgramMissingError: there is none.
        """
        found = shutil.which(self.arguments[0], path=search_path())
        if found is None:
            raise ProgramMissingError(where="command", program=self.arguments[0])
        return Path(found)

    def visible_environment(self) -> dict[str, str]:
        """The variables that the process gets: the allowed names that are set, and PATH."""
        kept = {name: os.environ[name] for name in self.environment if name in os.environ}
        return {**kept, "PATH": search_path()}

    def identity(self) -> dict[str, Any]:
        """What binds a receipt: arguments without absolute paths, hashes of files they name."""
        return {
            "executable": self.program().name,
            "executable_sha256": file_sha256(self.program().resolve()),
            "arguments": [_shown(argument) for argument in self.arguments[1:]],
            "environment": sorted(self.environment),
        }


def search_path() -> str:
    """PATH and the workbench's own programs: last where an environment is activated, else first."""
    own = str(Path(sys.executable).parent)
    inherited = os.environ.get("PATH", os.defpath)
    activated = os.environ.get("VIRTUAL_ENV") or os.environ.get("CONDA_PREFIX")
    parts = [inherited, own] if activated else [own, inherited]
    return os.pathsep.join(parts)


def _shown(argument: str) -> dict[str, str]:
    """An argument as the identity spells it: a file with its hash, an absolute path by its name,
    any other text with a path in it (a script, say) by its hash."""
    option, equals, value = argument.rpartition("=")
    path = Path(value)
    text = path.name if path.is_absolute() else value
    shown = {"text": f"{option}{equals}{text}"}
    if absolute_path(shown["text"]):
        return {"text": "", "text_sha256": canon.sha256_hex(argument.encode())}
    if names_file(path):
        shown["sha256"] = file_sha256(path)
    return shown
