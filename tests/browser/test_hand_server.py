"""Serving the page for a person: from Python and from the command line."""

import queue
import re
import signal
import subprocess
import sys
import threading
import urllib.request
from pathlib import Path

import pytest

from trlm_lab.backends.browser import serve
from trlm_lab.errors import ModelFilesError


def test_it_serves_until_it_is_told_to_stop(tiny_slm: Path) -> None:
    told: queue.Queue[str] = queue.Queue()
    stop = threading.Event()
    thread = threading.Thread(
        target=serve, args=(tiny_slm,), kwargs={"tell": told.put, "stop": stop}
    )
    thread.start()
    url = told.get(timeout=30)
    with urllib.request.urlopen(f"{url}artifact.slm", timeout=30) as answer:
        assert answer.read() == tiny_slm.read_bytes()
    stop.set()
    thread.join(30)
    assert not thread.is_alive()


def test_an_artifact_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ModelFilesError, match=r"absent\.slm"):
        serve(tmp_path / "absent.slm")


def command(*arguments: str) -> subprocess.Popen[str]:
    line = [sys.executable, "-m", "trlm_lab.backends.browser", *arguments]
    return subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_the_command_tells_its_address_and_ends_on_interrupt() -> None:
    with command() as process:
        assert process.stderr is not None
        told = process.stderr.readline()
        found = re.search(r"http://127\.0\.0\.1:\d+/", told)
        assert found is not None, told
        with urllib.request.urlopen(found[0], timeout=30) as answer:
            assert b"Browser runner" in answer.read()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (0, "", "")


def test_the_command_refuses_with_the_error_s_exit_status() -> None:
    with command("absent.slm") as process:
        _, err = process.communicate(timeout=60)
    assert process.returncode == 3
    assert "MODEL_FILES at absent.slm" in err
