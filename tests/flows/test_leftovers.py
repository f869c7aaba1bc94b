"""What killed runs leave is removed, and what somebody may still be writing is not."""

import os
import time
from pathlib import Path

import pytest

from trlm_lab.flows.leftovers import ABANDONED, aside, sweep_cache, sweep_run

#: No process has this number on Linux, whose numbers end at 2**22.
GONE = 4_194_305


def aged(path: Path, seconds: float) -> Path:
    when = time.time() - seconds
    os.utime(path, (when, when))
    return path


def test_abandoned_work_of_a_cache_goes(tmp_path: Path) -> None:
    old = tmp_path / "native" / ".tmp-killed"
    (old / "build").mkdir(parents=True)
    aged(old / "build", 2 * ABANDONED)
    aged(old, 2 * ABANDONED)
    part = tmp_path / "artifacts" / "key" / ".tmp-x.slm.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(b"half")
    aged(part, 2 * ABANDONED)
    building = tmp_path / "snapshots" / ".building-x"
    building.mkdir(parents=True)
    aged(building, 2 * ABANDONED)
    assert set(sweep_cache(tmp_path)) == {old, part, building}
    assert not old.exists()


def test_fresh_work_of_a_cache_stays(tmp_path: Path) -> None:
    fresh = tmp_path / "native" / ".tmp-at-work"
    fresh.mkdir(parents=True)
    # The directory is old, but something in it was written just now.
    busy = tmp_path / "derived" / ".tmp-busy"
    busy.mkdir(parents=True)
    (busy / "model.safetensors").write_bytes(b"half")
    aged(busy, 2 * ABANDONED)
    done = tmp_path / "artifacts" / "key" / "model.slm"
    done.parent.mkdir(parents=True)
    done.write_bytes(b"whole")
    aged(done, 2 * ABANDONED)
    assert sweep_cache(tmp_path) == []
    assert fresh.exists()
    assert busy.exists()
    assert done.exists()


def test_no_cache_is_no_error(tmp_path: Path) -> None:
    assert sweep_cache(tmp_path / "absent") == []


def test_a_runs_directory_is_swept_whole(tmp_path: Path) -> None:
    for name in ("blobs/.tmp-a", "traces/t.zarr/.tmp-b", "blobs/kept"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"x")
    assert len(sweep_run(tmp_path)) == 2
    assert (tmp_path / "blobs" / "kept").exists()


def test_aside_leaves_nothing(tmp_path: Path) -> None:
    out = tmp_path / "m.slm"
    with aside(out) as place:
        place.write_bytes(b"whole")
        place.replace(out)
    assert [p.name for p in tmp_path.iterdir()] == ["m.slm"]

    def fail() -> None:
        with aside(out) as place:
            place.mkdir()
            (place / "half").write_bytes(b"x")
            raise RuntimeError("stopped")

    with pytest.raises(RuntimeError):
        fail()
    assert [p.name for p in tmp_path.iterdir()] == ["m.slm"]


def test_aside_removes_what_the_dead_left_and_nothing_else(tmp_path: Path) -> None:
    out = tmp_path / "m[1].slm"
    names = (f".m[1].slm.{GONE}.part", f".m[1].slm.{os.getppid()}.part", f".m1.slm.{GONE}.part",
             ".m[1].slm.mine.part")  # fmt: skip
    for name in names:
        (tmp_path / name).write_bytes(b"half")
    with aside(out):
        pass
    assert {p.name for p in tmp_path.iterdir()} == set(names[1:])


def test_a_refusal_leaves_no_empty_folder(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()

    def refuse(out: Path) -> None:
        with aside(out) as place:
            place.mkdir()
            raise ValueError("refused")

    for out in (tmp_path / "a" / "b" / "result", own / "result"):
        with pytest.raises(ValueError, match="refused"):
            refuse(out)
    assert list(tmp_path.iterdir()) == [own]
    with aside(tmp_path / "a" / "b" / "result") as place:
        (place.parent / "done").write_bytes(b"")
    assert (tmp_path / "a" / "b" / "done").is_file()
