"""What may stand where a file is to be written."""

import os
from pathlib import Path

import pytest

from trlm_lab.base.output_file import require_output, written_below
from trlm_lab.errors import OutputIsInputError, OutputNotPlainError


@pytest.mark.parametrize("name", ["new", "old", "no/folder"])
def test_a_new_name_and_a_plain_file_are_fine(tmp_path: Path, name: str) -> None:
    (tmp_path / "old").write_bytes(b"kept")
    require_output(tmp_path / name, tmp_path / "missing")
    # To ask changes nothing; the same place is refused where it is an input.
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("old", b"kept")]


def test_a_plain_file_is_refused_where_it_is_the_input(tmp_path: Path) -> None:
    (tmp_path / "old").write_bytes(b"kept")
    with pytest.raises(OutputIsInputError):
        require_output(tmp_path / "old", tmp_path / "missing", tmp_path / "old")


@pytest.mark.parametrize("kind", ["device", "pipe", "folder", "link"])
def test_nothing_but_a_plain_file_is_replaced(tmp_path: Path, kind: str) -> None:
    path = Path(os.devnull) if kind == "device" else tmp_path / kind
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "link":
        path.symlink_to(os.devnull)
    with pytest.raises(OutputNotPlainError):
        require_output(path)


@pytest.mark.parametrize("link", [os.link, os.symlink])
def test_an_input_by_another_name(tmp_path: Path, link: object) -> None:
    (tmp_path / "in").write_bytes(b"")
    link(tmp_path / "in", tmp_path / "out")  # type: ignore[operator]
    with pytest.raises(OutputIsInputError):
        require_output(tmp_path / "out", tmp_path / "other", tmp_path / "in")


def test_a_loop_of_links_is_a_refusal_of_the_system(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(OSError, match="symbolic links"):
        require_output(tmp_path / "loop")


def test_a_full_disk_is_named(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No space left") as caught, written_below(tmp_path):
        raise OSError(28, "No space left on device")
    assert caught.value.filename == str(tmp_path)
    with pytest.raises(FileNotFoundError) as missing, written_below(tmp_path):
        (tmp_path / "none").read_bytes()
    assert missing.value.filename == str(tmp_path / "none")
