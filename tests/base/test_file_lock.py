"""Locks end with their holder, and a second taker hears at once who holds them."""

import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from trlm_lab.base.file_lock import locked, locked_at_once
from trlm_lab.errors import LockHeldError

HOLDER = """
import sys, time
from pathlib import Path
from trlm_lab.base.file_lock import locked_at_once
with locked_at_once(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(600)
"""


def test_a_second_taker_is_told_the_holder(tmp_path: Path) -> None:
    told = pytest.raises(LockHeldError, match=f"process {os.getpid()} is writing")
    with locked_at_once(tmp_path / "lock"), told, locked_at_once(tmp_path / "lock"):
        pass  # pragma: no cover
    with locked_at_once(tmp_path / "lock"):
        pass


def test_a_killed_holder_blocks_nobody(tmp_path: Path) -> None:
    place = tmp_path / "lock"
    command = [sys.executable, "-c", HOLDER, str(place)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(LockHeldError) as refused, locked_at_once(place):
            pass  # pragma: no cover
        assert refused.value.facts["holder"] == str(holder.pid)
        holder.send_signal(signal.SIGKILL)
        holder.wait()
    assert place.read_text() == f"{holder.pid}\n"
    with locked_at_once(place):
        assert place.read_text() == f"{os.getpid()}\n"


def test_the_waiting_lock_is_held_inside_and_free_again(tmp_path: Path) -> None:
    place = tmp_path / "deep" / "lock"
    for _ in range(2):
        with locked(place):
            with pytest.raises(LockHeldError) as refused, locked_at_once(place):
                pass  # pragma: no cover
            assert refused.value.facts["holder"] == "unknown"
        with locked_at_once(place):
            assert place.read_text() == f"{os.getpid()}\n"
        place.write_text("")


def test_a_lock_whose_file_was_removed_is_taken_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between opening and locking the holder before may remove the file that was opened."""
    place, lock = tmp_path / "lock", fcntl.flock

    def removed_first(handle: int, operation: int) -> None:
        monkeypatch.setattr(fcntl, "flock", lock)
        place.unlink()
        lock(handle, operation)

    monkeypatch.setattr(fcntl, "flock", removed_first)
    with locked_at_once(place):
        with pytest.raises(LockHeldError), locked_at_once(place):
            pass  # pragma: no cover
        assert place.read_text() == f"{os.getpid()}\n"
