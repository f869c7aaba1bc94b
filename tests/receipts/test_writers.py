"""Kills, several writers, full disks and read-only disks: the store stays sound."""

import errno
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.receipts.nodes import grow
from tests.receipts.programs.write_store import write
from trlm_lab.base import blobs
from trlm_lab.errors import StoreWriteError
from trlm_lab.flows.leftovers import sweep_run
from trlm_lab.receipts import ReceiptStore, verify_store
from trlm_lab.receipts.history import is_whole
from trlm_lab.receipts.verify import RECEIPT_FILE, receipt_text

ROOT = Path(__file__).resolve().parents[2]
WRITER = ROOT / "tests" / "receipts" / "programs" / "write_store.py"


def writer(store: Path, first: int, count: int) -> subprocess.Popen[str]:
    command = [sys.executable, str(WRITER), str(store), str(first), str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT,
                            env={**os.environ, "PYTHONPATH": str(ROOT)})  # fmt: skip


def told(process: subprocess.Popen[str]) -> dict[int, str]:
    """What the writer said that it stored; a last line cut short by a kill is none."""
    assert process.stdout is not None
    with process.stdout as stream:
        lines = [line.split() for line in stream if line.endswith("\n")]
    process.wait()
    return {int(number): node for number, node in lines}


def problems(directory: Path) -> set[str]:
    """Codes of errors, in a store that nobody sealed."""
    return {f.code for f in verify_store(directory).findings if f.level == "error"}


def test_kill_at_any_moment(tmp_path: Path) -> None:
    """Killed at moments spread over its work; whatever it said is stored is there, nothing torn."""
    store = ReceiptStore(tmp_path)
    said: dict[int, str] = {}
    for turn in range(8):
        process = writer(tmp_path, 1000 * turn, 1000)
        assert process.stdout is not None
        first = process.stdout.readline().split()
        time.sleep(0.0137 * turn)
        process.kill()
        said |= {int(first[0]): first[1], **told(process)}
        assert process.returncode < 0
        assert problems(tmp_path) == {"RECEIPT_MISSING"}
    assert len(said) >= 8
    for number, node in said.items():
        assert is_whole(store, node)
        assert write(store, number) == node
    sweep_run(tmp_path)
    assert {f.code for f in verify_store(tmp_path).findings} == {"RECEIPT_MISSING"}
    assert not list(tmp_path.rglob(".tmp-*"))


def test_two_writers_of_overlapping_nodes(tmp_path: Path) -> None:
    pair = [writer(tmp_path, 0, 60), writer(tmp_path, 30, 60)]
    first, second = (told(process) for process in pair)
    assert [p.returncode for p in pair] == [0, 0]
    assert all(second[n] == first[n] for n in range(30, 60))
    assert problems(tmp_path) == {"RECEIPT_MISSING"}
    assert len(list(ReceiptStore(tmp_path))) == 3 * 90
    assert not list(tmp_path.rglob(".tmp-*"))


def test_a_sweep_in_the_middle_of_a_write_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another program may take an unfinished file away; the writer writes it once more."""
    store, swept, flush = ReceiptStore(tmp_path), [0], os.fsync

    def flush_and_sweep(handle: int) -> None:
        flush(handle)
        for found in list(tmp_path.rglob(".tmp-*")) if swept[0] < 3 else []:
            found.unlink()
            swept[0] += 1

    monkeypatch.setattr(blobs.os, "fsync", flush_and_sweep)
    assert is_whole(store, write(store, 1))
    assert swept == [3]


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = ReceiptStore(tmp_path)
    sound = write(store, 1)

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(blobs.os, "fsync", full)
        with pytest.raises(StoreWriteError, match="No space left") as refused:
            write(store, 2)
    assert refused.value.remedy
    assert refused.value.exit_status == 4
    assert is_whole(store, sound)
    assert problems(tmp_path) == {"RECEIPT_MISSING"}
    assert not list(tmp_path.rglob(".tmp-*"))
    assert is_whole(store, write(store, 2))


def test_a_file_that_the_system_cuts_short(tmp_path: Path) -> None:
    """A limit on file sizes stands for a disk that fills up in the middle of a write."""
    store = ReceiptStore(tmp_path)
    sound = write(store, 1)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, hard))
    try:
        with pytest.raises(StoreWriteError, match="large"):
            write(store, 2)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert is_whole(store, sound)
    assert problems(tmp_path) == {"RECEIPT_MISSING"}
    assert not list(tmp_path.rglob(".tmp-*"))


def test_damage_is_mended_by_what_the_name_stands_for(tmp_path: Path) -> None:
    store = ReceiptStore(tmp_path)
    node = write(store, 1)
    paths = [store.node_path(node), store.blobs.path(next(iter(store.blobs)))]
    for path in paths:
        sound = path.read_bytes()
        for spoilt in (sound[:-1], sound[:-1] + b"!", b""):
            path.write_bytes(spoilt)
            assert write(store, 1) == node
            assert path.read_bytes() == sound
        path.unlink()
        path.symlink_to(tmp_path / "elsewhere")
        write(store, 1)
        assert not path.is_symlink()
    assert not (tmp_path / "elsewhere").exists()


READ_ONLY = """
import sys
from pathlib import Path
from trlm_lab.flows.verification import verify_directory
from trlm_lab.receipts import verify_store

def refuse(event, arguments):
    if event in ("os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.symlink"):
        raise PermissionError(f"{event} {arguments}")
    if event == "open" and isinstance(arguments[2], int) and arguments[2] & 0o1103:
        raise PermissionError(f"open for writing {arguments}")

sys.addaudithook(refuse)
try:
    (Path(sys.argv[1]) / "probe").write_bytes(b"")
except PermissionError:
    print("guarded")
report = verify_directory(Path(sys.argv[1]))
print(report.sound, report.nodes, [f.code for f in report.findings])
"""


def test_a_store_on_a_read_only_disk_verifies(tmp_path: Path) -> None:
    """Nothing is opened for writing, made, moved or removed, whoever the user is."""
    store = ReceiptStore(tmp_path)
    root = grow(store, "environment")
    (tmp_path / RECEIPT_FILE).write_text(receipt_text(root))
    for path in (tmp_path / "nodes", tmp_path / "blobs", tmp_path):
        path.chmod(0o555)
    try:
        done = subprocess.run([sys.executable, "-B", "-c", READ_ONLY, str(tmp_path)],
                              capture_output=True, text=True, cwd=ROOT, check=False)  # fmt: skip
    finally:
        for path in (tmp_path, tmp_path / "nodes", tmp_path / "blobs"):
            path.chmod(0o755)
    assert done.stdout.splitlines() == ["guarded", "True 1 []"], done.stdout + done.stderr
