"""Take on resource limits, then become the given program; run as a script of its own.

Called as `process_exec.py MEMORY_BYTES FILE_BYTES PROGRAM ARGUMENT...` (0: no limit). A limit set
before `exec` binds the program and its children, and needs no code between fork and exec in the
workbench, which may have threads. On Linux the program also ends when the workbench is killed in a
way that lets it do nothing any more.
"""

from __future__ import annotations

import os
import resource
import signal
import sys


def set_limit(kind: int, value: int) -> None:
    """Lower the soft and the hard limit, as far as the inherited hard limit allows."""
    hard = resource.getrlimit(kind)[1]
    ceiling = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(kind, (ceiling, ceiling))


def end_with_parent() -> None:
    """Ask Linux to kill this process when the thread that started it ends (PR_SET_PDEATHSIG)."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)


def become(memory_bytes: int, file_bytes: int, program: str, arguments: list[str]) -> None:
    """Set the limits and replace this process."""
    end_with_parent()
    set_limit(resource.RLIMIT_CORE, 0)
    if memory_bytes:
        set_limit(resource.RLIMIT_AS, memory_bytes)
    if file_bytes:
        set_limit(resource.RLIMIT_FSIZE, file_bytes)
    os.execv(program, [program, *arguments])


if __name__ == "__main__":
    try:
        become(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4:])
    except OSError as error:
        sys.exit(f"{sys.argv[3]} cannot be run: {error.strerror}")
