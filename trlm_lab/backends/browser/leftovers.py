"""Ends a browser that outlived its session, known by its profile directory and nothing else."""

from __future__ import annotations

from pathlib import Path

import psutil

_GRACE_S = 5.0


def _uses(process: psutil.Process, profile: Path) -> bool:
    try:
        return f"--user-data-dir={profile}" in process.cmdline()
    except psutil.Error:
        return False


def end_leftovers(profile: Path) -> None:
    """Kill the processes that were started on this profile and wait until they are gone."""
    found = [process for process in psutil.process_iter() if _uses(process, profile)]
    for process in found:
        try:
            process.kill()
        except psutil.NoSuchProcess:
            continue
    psutil.wait_procs(found, timeout=_GRACE_S)
