"""Unfinished outputs: what a killed process left goes with the next command, and nothing else."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.slm1.made import made
from trlm_lab.base.unfinished import replacing, unfinished_file, unfinished_name
from trlm_lab.pack.slm1 import migrate, unpack_slm1

GONE = 2**22 + 1


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def left_by(out: Path, process: int) -> Path:
    """A name as that process would have given it."""
    return out.with_name(unfinished_name(out).name.replace(f".{os.getpid()}.", f".{process}."))


def test_only_what_a_dead_process_left_for_this_output_goes(tmp_path: Path) -> None:
    out, other = tmp_path / "m.slm", tmp_path / "[n]*.slm"
    dead, folder, alive = left_by(out, GONE), left_by(out, GONE), left_by(out, os.getppid())
    foreign = left_by(other, GONE)
    for path in (dead, alive, foreign):
        path.write_bytes(b"x")
    folder.mkdir()
    (folder / "inside").write_bytes(b"x")
    with replacing(out) as stream:
        stream.write(b"whole")
    assert names(tmp_path) == sorted([alive.name, foreign.name, "m.slm"])
    with replacing(other) as stream:
        stream.write(b"whole")
    assert not foreign.exists()


def test_a_file_stands_under_its_name_whole_or_not_at_all(tmp_path: Path) -> None:
    out = tmp_path / "m.slm"
    out.write_bytes(b"before")

    def stopped() -> None:
        with replacing(out) as stream:
            stream.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped()
    assert (names(tmp_path), out.read_bytes()) == (["m.slm"], b"before")


def test_the_umask_says_who_may_read_an_output(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        stream, place = unfinished_file(tmp_path / "m.slm")
        stream.close()
        assert stat.S_IMODE(place.stat().st_mode) == 0o640
    finally:
        os.umask(before)


KILLED = """
import os, signal, sys
from pathlib import Path
from trlm_lab.pack.slm1 import migrate, unpack_slm1
def progress(what, done, total):
    if done:
        os.kill(os.getpid(), signal.SIGKILL)
{name}(Path(sys.argv[1]), Path(sys.argv[2]), progress=progress)
"""


@pytest.mark.parametrize("write", [migrate, unpack_slm1])
def test_a_killed_command_leaves_nothing_behind_the_next(write: object, tmp_path: Path) -> None:
    source, out = tmp_path / "old.slm", tmp_path / "made" / "new"
    source.write_bytes(made())
    code = KILLED.format(name=write.__name__)  # type: ignore[attr-defined]
    done = subprocess.run([sys.executable, "-c", code, str(source), str(out)], check=False)
    assert done.returncode == -9
    (left,) = out.parent.iterdir()
    assert left.name.startswith(".tmp-")
    write(source, out)  # type: ignore[operator]
    assert names(out.parent) == ["new"]
