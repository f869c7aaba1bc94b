"""Finding a browser, and saying how to get one."""

from pathlib import Path

import pytest

from trlm_lab.backends.browser import ChromiumRunner
from trlm_lab.backends.browser import find as find_module
from trlm_lab.backends.browser.find import find_chromium
from trlm_lab.errors import BrowserMissingError, BrowserStartError


def program(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_the_variable_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = program(tmp_path / "my-chromium", "echo Chromium 99.1.2.3 built somewhere")
    monkeypatch.setenv("TRLM_CHROMIUM", str(chosen))
    assert (find_chromium().executable, find_chromium().version) == (chosen, "Chromium 99.1.2.3")


def test_a_variable_that_names_nothing_is_not_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRLM_CHROMIUM", "/nowhere/chromium")
    with pytest.raises(BrowserMissingError, match="names '/nowhere/chromium'"):
        find_chromium()


def test_a_program_that_is_no_browser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in (("silent", "true"), ("failing", "exit 3")):
        monkeypatch.setenv("TRLM_CHROMIUM", str(program(tmp_path / name, text)))
        with pytest.raises(BrowserStartError):
            find_chromium()


def test_without_a_browser_availability_says_how_to_get_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(find_module, "_playwrights_own", lambda: None)
    monkeypatch.setattr(find_module, "_NAMES", ("no-such-browser",))
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("TRLM_CHROMIUM", raising=False)
    here = ChromiumRunner().availability()
    assert not here.available
    assert "no Chromium was found" in here.reason
    assert "python -m playwright install --with-deps chromium" in here.fix


def test_a_driver_that_does_not_start_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken() -> str:
        raise OSError("no node here")

    monkeypatch.setattr(find_module, "_playwright_executable", broken)
    monkeypatch.delenv("TRLM_CHROMIUM", raising=False)
    monkeypatch.setenv("PATH", "/another/path")
    here = ChromiumRunner().availability()
    assert not here.available
    assert "Playwright's driver does not start: no node here" in here.reason


def test_without_playwright_availability_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(find_module, "find_spec", lambda name: None)
    here = ChromiumRunner().availability()
    assert not here.available
    assert "pip install 'trlm-lab[browser]'" in here.fix


def test_without_the_module_availability_says_so(tmp_path: Path) -> None:
    here = ChromiumRunner(module=tmp_path / "absent.wasm").availability()
    assert not here.available
    assert "absent.json" in here.reason
    assert "build_wasm" in here.fix
