"""Pipes, sockets, devices and directories are refused at once by every reader; none waits."""

import os
import signal
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from trlm_lab import errors
from trlm_lab.acquire import check_gguf, require_safetensors
from trlm_lab.acquire.gguf_file import read_gguf
from trlm_lab.base import strict_json
from trlm_lab.base.blobs import file_sha256
from trlm_lab.base.plain_file import open_plain, read_plain, require_plain
from trlm_lab.base.safetensors_header import read_header
from trlm_lab.cases import load_suite
from trlm_lab.flows.checking import check_path
from trlm_lab.flows.inspection import inspection_document


@pytest.fixture(autouse=True)
def no_waiting() -> Iterator[None]:
    """A reader that waits for a pipe fails instead of hanging the suite."""

    def fail(*_: object) -> None:
        raise AssertionError("the reader waited")

    before = signal.signal(signal.SIGALRM, fail)
    signal.alarm(20)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def pipe(path: Path) -> None:
    os.mkfifo(path)


def bound(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        # The address has a short limit, so it is bound by its name alone.
        here = Path.cwd()
        os.chdir(path.parent)
        try:
            listener.bind(path.name)
        finally:
            os.chdir(here)


STRANGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "pipe": (pipe, "a named pipe"),
    "socket": (bound, "a socket"),
    "device": (lambda p: p.symlink_to("/dev/zero"), "a character device"),
    "directory": (lambda p: p.mkdir(), "a directory"),
}
READERS: dict[str, Callable[[Path], object]] = {
    "open": open_plain,
    "read": read_plain,
    "stat": require_plain,
    "json": strict_json.load_file,
    "hash": file_sha256,
    "safetensors": read_header,
    "weights": require_safetensors,
    "gguf": read_gguf,
    "slm": inspection_document,
    "check": check_path,
    "cases": load_suite,
}


@pytest.mark.parametrize("kind", STRANGE)
@pytest.mark.parametrize("reader", READERS)
def test_what_is_no_plain_file_is_refused_at_once(tmp_path: Path, reader: str, kind: str) -> None:
    make, words = STRANGE[kind]
    if (reader, kind) == ("check", "directory"):
        return  # a directory is what a check takes
    path = tmp_path / "x.json"
    make(path)
    with pytest.raises(errors.NotPlainFileError, match=words):
        READERS[reader](path)


def test_a_plain_file_and_a_link_to_one_are_read(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"bytes")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    assert read_plain(tmp_path / "a") == read_plain(tmp_path / "b") == b"bytes"
    with pytest.raises(FileNotFoundError):
        open_plain(tmp_path / "c")


def test_a_check_of_a_pipe_is_a_finding(tmp_path: Path) -> None:
    pipe(tmp_path / "x.gguf")
    assert [f["code"] for f in check_gguf(tmp_path / "x.gguf")] == ["NOT_PLAIN_FILE"]


def test_what_replaces_the_file_between_two_looks_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"")
    opened = os.open

    def swapped(name: Path, flags: int) -> int:
        path.unlink()
        os.mkfifo(path)
        return opened(name, flags)

    monkeypatch.setattr(os, "open", swapped)
    with pytest.raises(errors.NotPlainFileError, match="a named pipe"):
        open_plain(path)
