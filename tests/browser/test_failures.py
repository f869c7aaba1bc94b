"""What goes wrong in a browser is said, and nothing of it stays behind."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from trlm_lab.backends.browser import ChromiumRunner, ChromiumSession
from trlm_lab.backends.browser import page as page_module
from trlm_lab.backends.browser import session as session_module
from trlm_lab.backends.browser.find import Chromium, find_chromium
from trlm_lab.base.interfaces import Subject
from trlm_lab.base.records import Case
from trlm_lab.errors import (
    BrowserPageError,
    BrowserStartError,
    BrowserTimeoutError,
    FrameError,
    SessionClosedError,
)

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]

CASE = Case("five", (1, 2, 3, 4, 5))


@pytest.fixture
def opened(chromium: ChromiumRunner, tiny_subject: Subject) -> Iterator[ChromiumSession]:
    """A session that the test may break."""
    with chromium.open(tiny_subject) as session:
        yield session


def processes_of(session: ChromiumSession, kind: str = "") -> list[psutil.Process]:
    """Processes of the session's browser; `kind` as in `--type=renderer`."""
    flag = f"--user-data-dir={session.profile}"
    roots = [p for p in psutil.process_iter() if flag in _command(p)]
    family = {q for p in roots for q in [p, *p.children(recursive=True)]}
    return [p for p in family if not kind or f"--type={kind}" in _command(p)]


def _command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def in_page(session: ChromiumSession, script: str) -> None:
    """Run a script in the page, behind the session's back."""
    session.host.evaluate(script)


def test_closing_leaves_nothing(chromium: ChromiumRunner, tiny_subject: Subject) -> None:
    with chromium.open(tiny_subject) as session:
        assert processes_of(session)
        assert session.profile.is_dir()
    assert processes_of(session) == []
    assert not session.profile.exists()


def test_a_renderer_that_dies(opened: ChromiumSession) -> None:
    run = opened.run(CASE)
    next(run)
    for process in processes_of(opened, "renderer"):
        process.kill()
    with pytest.raises(BrowserPageError, match="crashed"):
        list(run)
    assert processes_of(opened) == []
    with pytest.raises(SessionClosedError):
        opened.run_digests(CASE)


def test_a_browser_that_dies(opened: ChromiumSession) -> None:
    for process in processes_of(opened):
        process.kill()
    with pytest.raises(BrowserPageError):
        opened.run_digests(CASE)
    assert not opened.profile.exists()


def test_a_console_error_is_a_failure(opened: ChromiumSession) -> None:
    in_page(opened, "() => console.error('something broke')")
    with pytest.raises(BrowserPageError, match="console error: something broke"):
        opened.run_digests(CASE)


def test_an_exception_in_the_page_is_a_failure(opened: ChromiumSession) -> None:
    in_page(opened, "() => { setTimeout(() => { throw new Error('unexpected'); }, 0); }")
    with pytest.raises(BrowserPageError, match="unexpected"):
        opened.run_digests(CASE)


@pytest.mark.slow
@pytest.mark.parametrize("digests", [True, False])
def test_a_browser_that_hangs(
    chromium: ChromiumRunner, tiny_subject: Subject, digests: bool
) -> None:
    with chromium.open(tiny_subject) as session:
        session.idle_limit_s = 1.0
        for process in processes_of(session, "renderer"):
            process.suspend()
        with pytest.raises(BrowserTimeoutError, match="no sign of life for 1 s"):
            session.run_digests(CASE) if digests else list(session.run(CASE))
        assert processes_of(session) == []


def test_a_page_that_sends_nonsense(
    opened: ChromiumSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_module, "digest_from_row", lambda row: None)
    with pytest.raises(FrameError, match="44 arrays came, the worker computed 44 others"):
        list(opened.run(CASE))


def test_a_program_that_is_no_browser(
    tmp_path: Path, tiny_subject: Subject, chromium: ChromiumRunner
) -> None:
    program = tmp_path / "not-chromium"
    program.write_text("#!/bin/sh\nexit 7\n")
    program.chmod(0o755)
    assert tiny_subject.artifact is not None
    with pytest.raises(BrowserStartError, match="not-chromium --headless"):
        ChromiumSession(
            chromium.name, Chromium(program, ""), tiny_subject.artifact, chromium.module, 10.0
        )


SCRIPT = """
import sys
from pathlib import Path
from trlm_lab.backends.browser import ChromiumRunner
from trlm_lab.base.interfaces import Subject
from trlm_lab.base.records import Case
session = ChromiumRunner().open(Subject(artifact=Path(sys.argv[1])))
print(session.profile, flush=True)
{rest}
"""
REST = {
    "unclosed": "next(session.run(Case('a', (1, 2))))",
    "interrupted": "with session:\n    while True:\n        session.run_digests(Case('a', (1, 2)))",
}


@pytest.fixture
def program(tiny_slm: Path) -> Iterator[Callable[[str], subprocess.Popen[str]]]:
    """Starts a program in a process group of its own, as a shell does."""
    started: list[subprocess.Popen[str]] = []

    def start(rest: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", SCRIPT.format(rest=rest), str(tiny_slm)]
        pipe = subprocess.PIPE
        process = subprocess.Popen(
            command, stdout=pipe, stderr=pipe, text=True, start_new_session=True
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def profile_users(profile: str) -> list[psutil.Process]:
    return [p for p in psutil.process_iter() if f"--user-data-dir={profile}" in _command(p)]


@pytest.mark.slow
def test_a_session_that_nobody_closes(
    program: Callable[[str], subprocess.Popen[str]],
) -> None:
    process = program(REST["unclosed"])
    out, err = process.communicate(timeout=120)
    assert (process.returncode, err) == (0, "")
    assert not Path(out.strip()).exists()
    assert profile_users(out.strip()) == []


@pytest.mark.slow
def test_an_interrupt_ends_everything(
    program: Callable[[str], subprocess.Popen[str]],
) -> None:
    process = program(REST["interrupted"])
    assert process.stdout is not None
    profile = process.stdout.readline().strip()
    assert profile.startswith(tempfile.gettempdir())
    time.sleep(0.5)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert process.returncode != 0
    assert "KeyboardInterrupt" in err
    assert not Path(profile).exists()
    assert profile_users(profile) == []


def test_without_a_usable_sandbox_the_browser_starts_anyway(
    chromium: ChromiumRunner,
    tiny_subject: Subject,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real, tried = find_chromium().executable, tmp_path / "tried"
    program = tmp_path / "picky"
    program.write_text(
        f"""#!/bin/sh
        case " $* " in *" --no-sandbox "*) exec {real} "$@" ;; esac
        touch {tried}
        echo "FATAL: No usable sandbox!" >&2
        exit 1
        """
    )
    program.chmod(0o755)
    monkeypatch.setattr(page_module, "_may_sandbox", lambda: True)
    assert tiny_subject.artifact is not None
    with ChromiumSession(
        chromium.name, Chromium(program, ""), tiny_subject.artifact, chromium.module, 60.0
    ) as session:
        assert session.run_digests(CASE).names[0] == "token_ids"
    assert tried.exists()
