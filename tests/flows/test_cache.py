"""What lies in the cache is listed, and what can be made again goes when it was long unread."""

import os
from pathlib import Path

import pytest

from trlm_lab.errors import UnknownNameError
from trlm_lab.flows.cache import KINDS, REMADE, cache_entries, cache_sums, prune_cache

NOW = 1_800_000_000.0
DAY = 86_400.0


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for kind in KINDS:
        for name, days in (("old", 30), ("new", 1)):
            folder = tmp_path / kind / name
            folder.mkdir(parents=True)
            (folder / "file").write_bytes(bytes(5000))
            for path in (folder / "file", folder):
                os.utime(path, (NOW - days * DAY, NOW - days * DAY))
    (tmp_path / "snapshots" / ".lock-old").touch()
    return tmp_path


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trlm_lab.flows.cache.time.time", lambda: NOW)


def left(home: Path) -> set[tuple[str, str]]:
    return {(entry.kind, entry.name) for entry in cache_entries(home)}


def test_every_entry_is_listed_with_size_and_days(home: Path) -> None:
    entries = cache_entries(home)
    assert left(home) == {(kind, name) for kind in KINDS for name in ("old", "new")}
    # Listing a directory reads it: only what files say counts.
    assert {e.name: round(e.idle_days) for e in entries} == {"old": 30, "new": 1}
    assert all(e.size >= 5000 for e in entries)
    sums = {row["kind"]: row for row in cache_sums(entries)}
    assert sums["artifacts"]["entries"] == 2
    assert sums["snapshots"]["made again"] == "from downloads"
    assert sums["wheels"]["made again"] == "from the network"


def test_what_was_read_lately_and_what_needs_a_network_stays(home: Path) -> None:
    removed = prune_cache(7, home=home)
    assert {(e.kind, e.name) for e in removed} == {(kind, "old") for kind in REMADE}
    assert left(home) == {(kind, "new") for kind in KINDS} | {
        (kind, "old") for kind in KINDS if kind not in REMADE
    }
    assert not list(home.rglob(".pruned-*"))


def test_a_dry_run_removes_nothing(home: Path) -> None:
    before = left(home)
    assert len(prune_cache(7, home=home, dry_run=True)) == len(REMADE)
    assert left(home) == before


def test_snapshots_go_when_asked_for(home: Path) -> None:
    prune_cache(7, ["snapshots"], home=home)
    assert ("snapshots", "old") not in left(home)
    assert ("snapshots", "new") in left(home)


def test_a_read_makes_an_entry_young(home: Path) -> None:
    file = home / "artifacts" / "old" / "file"
    os.utime(file, (NOW, file.stat().st_mtime))
    assert ("artifacts", "old") not in {(e.kind, e.name) for e in prune_cache(7, home=home)}


def test_what_a_kill_left_is_removed_later(home: Path) -> None:
    half = home / "native" / ".pruned-0"
    half.mkdir()
    os.utime(half, (NOW - 8 * DAY, NOW - 8 * DAY))
    prune_cache(7, home=home)
    assert not half.exists()


def test_an_unknown_kind_is_refused_before_anything_goes(home: Path) -> None:
    with pytest.raises(UnknownNameError, match="artefacts"):
        prune_cache(0, ["artifacts", "artefacts"], home=home)
    assert ("artifacts", "old") in left(home)
