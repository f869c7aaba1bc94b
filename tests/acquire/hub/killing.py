"""Acquire again and again, killed before each change of the disk in turn, and tell what was left.

Run as a program, so that nothing but it is killed: it forks, and has no other threads.
"""

import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.acquire.hub.conftest import acquired, published
from trlm_lab.acquire import verify_snapshot

WRITES = os.O_WRONLY | os.O_RDWR
CHANGES = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate"}


def changes(event: str, facts: tuple[Any, ...], home: str) -> bool:
    """Whether an audit event is about to change something below `home`."""
    if event == "open":
        return str(facts[0]).startswith(home) and bool((facts[2] or 0) & WRITES)
    return event in CHANGES and str(facts[0]).startswith(home)


def child(work: Callable[[], object]) -> int:
    """Do the work in a child; its exit status, or minus the signal that ended it."""
    pid = os.fork()
    if pid == 0:
        try:
            work()
        except BaseException:
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def killed_before(number: int, home: str) -> None:
    """Acquire, and be killed before the change of this number, if there are so many."""
    count = 0

    def hook(event: str, facts: tuple[Any, ...]) -> None:
        nonlocal count
        if changes(event, facts, home):
            count += 1
            if count == number:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)
    acquired()


def rounds(home: Path) -> list[dict[str, Any]]:
    """A row for every change: what stood there after the kill, and what came of going on."""
    rows: list[dict[str, Any]] = []
    status = -signal.SIGKILL
    while status == -signal.SIGKILL:
        shutil.rmtree(home, ignore_errors=True)
        number = len(rows) + 1
        status = child(lambda number=number: killed_before(number, str(home)))
        left = [verify_snapshot(root).snapshot_id for root in published()]
        again = child(acquired)
        (snapshot,) = [verify_snapshot(root) for root in published()]
        rows.append({"killed": status, "left": left, "again": again, "id": snapshot.snapshot_id})
    return rows


if __name__ == "__main__":
    # What is imported late is imported now, before anything forks.
    acquired()
    print(json.dumps(rounds(Path(os.environ["TRLM_HOME"]))))
