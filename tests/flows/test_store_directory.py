"""Receipts go into a store, and into nothing else that lies under the name."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from trlm_lab.errors import DirectoryForeignError, StoreWriteError
from trlm_lab.flows import store_directory
from trlm_lab.flows.cli.app import run
from trlm_lab.flows.store_directory import require_store, seal_alone
from trlm_lab.receipts import ReceiptStore
from trlm_lab.receipts.receipt_file import receipt_text

ROOT = "0" * 64
OTHER = "1" * 64


def a_file(out: Path) -> None:
    out.write_text("mine")


def a_pipe(out: Path) -> None:
    os.mkfifo(out)


def nowhere(out: Path) -> None:
    out.symlink_to("nothing")


def strangers(out: Path) -> None:
    out.mkdir()
    (out / "thesis.tex").write_text("mine")


def linked_blobs(out: Path) -> None:
    (out.parent / "elsewhere").mkdir()
    out.mkdir()
    (out / "blobs").symlink_to(out.parent / "elsewhere")


def nodes_of_another_program(out: Path) -> None:
    (out / "nodes").mkdir(parents=True)
    (out / "nodes" / "graph.json").write_text("mine")


def a_receipt_of_another_program(out: Path) -> None:
    out.mkdir()
    (out / "receipt.json").write_text('{"paid": true}')


def a_receipt_that_is_a_folder(out: Path) -> None:
    (out / "receipt.json").mkdir(parents=True)


def a_receipt_that_is_a_pipe(out: Path) -> None:
    out.mkdir()
    os.mkfifo(out / "receipt.json")


HOSTILE = [
    a_file, a_pipe, nowhere, strangers, linked_blobs, nodes_of_another_program,
    a_receipt_of_another_program, a_receipt_that_is_a_folder, a_receipt_that_is_a_pipe,
]  # fmt: skip


def names(folder: Path) -> list[str]:
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*"))


@pytest.mark.parametrize("make", HOSTILE)
def test_what_is_no_store_takes_no_receipt(make: Callable[[Path], None], tmp_path: Path) -> None:
    make(tmp_path / "out")
    before = names(tmp_path)
    with pytest.raises(DirectoryForeignError):
        require_store(tmp_path / "out")
    assert names(tmp_path) == before


def test_a_place_below_a_file_is_none(tmp_path: Path) -> None:
    a_file(tmp_path / "file")
    with pytest.raises(DirectoryForeignError, match="no directory"):
        require_store(tmp_path / "file" / "deeper" / "out")


def test_a_new_an_empty_and_a_killed_store_are_taken(tmp_path: Path) -> None:
    for name in ("new", "new/deeper", "."):
        require_store(tmp_path / name)
    assert names(tmp_path) == []
    (tmp_path / "blobs").mkdir()
    (tmp_path / "blobs" / ".tmp-x").touch()
    (tmp_path / ".lock").touch()
    before = names(tmp_path)
    require_store(tmp_path)
    assert names(tmp_path) == before


def test_a_store_with_the_files_of_its_run_is_taken(tmp_path: Path) -> None:
    ReceiptStore(tmp_path).add("file", {"path": b"a", "size": 0, "sha256": ROOT}, [])
    (tmp_path / "plan.json").write_text("{}")
    (tmp_path / "receipt.json").write_text(receipt_text(ROOT))
    before = names(tmp_path)
    require_store(tmp_path)
    assert names(tmp_path) == before


def test_who_may_not_write_is_told_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The tests may run as root, whom no mode of a directory stops.
    monkeypatch.setattr(store_directory.os, "access", lambda path, mode: path != tmp_path)
    with pytest.raises(StoreWriteError) as caught:
        require_store(tmp_path / "new" / "store")
    assert caught.value.where == str(tmp_path)


def test_the_first_root_stays(tmp_path: Path) -> None:
    for node in (ROOT, OTHER):
        seal_alone(tmp_path, node)
    assert (tmp_path / "receipt.json").read_text() == receipt_text(ROOT)


def test_a_run_that_is_not_sealed_gets_no_root(tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text("{}")
    seal_alone(tmp_path, ROOT)
    assert names(tmp_path) == ["plan.json"]


def test_a_root_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, data: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(store_directory, "write_atomically", full)
    with pytest.raises(StoreWriteError, match="No space left"):
        seal_alone(tmp_path, ROOT)


@pytest.mark.xdist_group("flows")
def test_no_engine_starts_for_a_judgement_that_cannot_be_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    strangers(tmp_path / "out")
    command = ["golden", "judge", str(tmp_path), "--engine", "process:false", "--model", "x"]
    assert run([*command, "--out", str(tmp_path / "out")]) == 2
    assert run(["drift", "synthetic:llama-small", "--dir", str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err.count("DIRECTORY_FOREIGN") == 2
    assert names(tmp_path / "out") == ["thesis.tex"]
