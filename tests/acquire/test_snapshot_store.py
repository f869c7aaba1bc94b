"""The snapshot cache: whole or absent, and verified on every use."""

import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from trlm_lab.acquire import acquire, verify_snapshot
from trlm_lab.acquire.snapshot_store import cached_snapshot, seal_snapshot
from trlm_lab.base.records import Pin
from trlm_lab.errors import SnapshotCorruptError, SnapshotMissingError

PIN = Pin("dir", "x")


def build(out: Path) -> dict[str, Any]:
    (out / "config.json").write_bytes(b"{}\n")
    (out / "model.safetensors").write_bytes(bytes(range(200)))
    return {"schema": "trlm.provenance.v1"}


@pytest.fixture
def sealed(tmp_path: Path) -> Path:
    root = tmp_path / "sealed"
    root.mkdir()
    seal_snapshot(root, PIN, build(root))
    return root


def test_a_sealed_directory_verifies(sealed: Path) -> None:
    snapshot = verify_snapshot(sealed)
    assert [f.display for f in snapshot.files] == [
        "config.json", "model.safetensors", "provenance.cbor"
    ]  # fmt: skip
    assert snapshot.pin == PIN
    assert snapshot.provenance == {"schema": "trlm.provenance.v1"}


def test_any_changed_byte_of_any_file_is_found(sealed: Path) -> None:
    for path in sorted(sealed.iterdir()):
        sound = path.read_bytes()
        for place in range(len(sound)):
            data = bytearray(sound)
            data[place] ^= 1
            path.write_bytes(bytes(data))
            with pytest.raises(SnapshotCorruptError):
                verify_snapshot(sealed)
        path.write_bytes(sound)
    verify_snapshot(sealed)


def test_a_cut_or_grown_file_is_found(sealed: Path) -> None:
    path = sealed / "model.safetensors"
    for data in (b"", path.read_bytes() + b"x"):
        path.write_bytes(data)
        with pytest.raises(SnapshotCorruptError, match="the manifest says 200"):
            verify_snapshot(sealed)


@pytest.mark.parametrize("name", ["config.json", "provenance.cbor"])
def test_a_lost_file_is_found(sealed: Path, name: str) -> None:
    (sealed / name).unlink()
    with pytest.raises(SnapshotCorruptError, match=f"{name}: the file is missing"):
        verify_snapshot(sealed)


def test_a_foreign_file_is_found(sealed: Path) -> None:
    (sealed / "extra.json").write_bytes(b"{}")
    with pytest.raises(SnapshotCorruptError, match=r"extra\.json: the file is not listed"):
        verify_snapshot(sealed)


def test_a_link_in_place_of_a_file_is_found(sealed: Path, tmp_path: Path) -> None:
    path = sealed / "config.json"
    moved = tmp_path / "elsewhere"
    path.rename(moved)
    path.symlink_to(moved)
    with pytest.raises(SnapshotCorruptError, match="no plain file"):
        verify_snapshot(sealed)


def test_a_directory_without_manifest_is_no_snapshot(tmp_path: Path) -> None:
    with pytest.raises(SnapshotMissingError, match="no snapshot manifest"):
        verify_snapshot(tmp_path)


def test_a_failed_build_leaves_nothing(own_home: Path) -> None:
    def broken(out: Path) -> dict[str, Any]:
        build(out)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cached_snapshot("k", PIN, broken)
    assert [p.name for p in (own_home / "snapshots").iterdir()] == [".lock-k"]
    assert cached_snapshot("k", PIN, build).root == own_home / "snapshots" / "k"


def test_a_build_runs_once(own_home: Path) -> None:
    calls: list[Path] = []

    def counted(out: Path) -> dict[str, Any]:
        calls.append(out)
        return build(out)

    threads = [threading.Thread(target=cached_snapshot, args=("k", PIN, counted)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(calls) == 1


KILLED = """
import os, signal, sys
from pathlib import Path
from trlm_lab.acquire.snapshot_store import cached_snapshot
from trlm_lab.base.records import Pin

def build(out: Path):
    (out / "config.json").write_bytes(b"half")
    os.kill(os.getpid(), signal.SIGKILL)

cached_snapshot("k", Pin("dir", "x"), build)
"""


def test_a_killed_build_leaves_no_half_snapshot(own_home: Path) -> None:
    environment = {**os.environ, "TRLM_HOME": str(own_home)}
    ended = subprocess.run([sys.executable, "-c", KILLED], env=environment, check=False)
    assert ended.returncode == -signal.SIGKILL
    assert not (own_home / "snapshots" / "k").exists()
    assert (own_home / "snapshots" / ".building-k").exists()
    assert cached_snapshot("k", PIN, build).file("config.json") is not None
    assert not (own_home / "snapshots" / ".building-k").exists()


def test_a_damaged_cache_is_refused_and_not_repaired_silently(own_home: Path) -> None:
    snapshot = acquire("synthetic:llama-small")
    (snapshot.root / "config.json").write_bytes(b"{}")
    with pytest.raises(SnapshotCorruptError, match="remove the snapshot directory"):
        acquire("synthetic:llama-small")
    shutil.rmtree(snapshot.root)
    assert acquire("synthetic:llama-small").snapshot_id == snapshot.snapshot_id
