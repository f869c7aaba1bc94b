"""Tests are skipped only for what tests/skips.md lists; continuous integration skips nothing."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests import skips
from trlm_lab.flows.engines import ENGINES, runner

TESTS = Path(__file__).resolve().parents[1]
PLAIN = """
import pytest
from tests.skips import lacking

class Gone:
    name = "llama.cpp"
    def availability(self):
        from trlm_lab.base.records import Availability
        return Availability(False, reason="not built", fix="make peers")

def test_engine(require):
    require(Gone())

def test_tool():
    lacking("cargo", "none on the path")

def test_other():
    pytest.skip("I do not feel like it")
"""


def outcomes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **environment: str) -> dict[str, str]:
    """How three tests end that lack an engine, lack a tool, and skip for no listed reason."""
    for name in ("CI", skips.VARIABLE):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "test_plain.py").write_text(PLAIN)
    options = ["-p", "tests.conftest", "-c", "/dev/null", "--rootdir", str(tmp_path), "-q", "-rA"]
    printed = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "-p", "no:cacheprovider", str(tmp_path)],
        cwd=TESTS.parent,
        capture_output=True,
        text=True,
        check=False,
    ).stdout
    failed = re.findall(r"^(?:FAILED|ERROR) .*::test_(\w+)", printed, re.MULTILINE)
    return {name: "failed" if name in failed else "skipped" for name in ("engine", "tool", "other")}


@pytest.mark.parametrize(
    ("environment", "failed"),
    [
        ({}, {"other"}),
        ({"CI": "true"}, {"engine", "tool", "other"}),
        ({"CI": "true", skips.VARIABLE: "none"}, {"other"}),
        ({skips.VARIABLE: "native-scalar,llama.cpp"}, {"engine", "other"}),
        ({skips.VARIABLE: "all"}, {"engine", "tool", "other"}),
    ],
)
def test_what_is_missing_is_skipped_or_failed(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    environment: dict[str, str],
    failed: set[str],
) -> None:
    seen = outcomes(tmp_path, monkeypatch, **environment)
    assert {name for name, outcome in seen.items() if outcome == "failed"} == failed


def sources() -> dict[str, str]:
    """Text of every file of the tests but those two that speak of skipping itself."""
    own = (Path(__file__).resolve(), TESTS / "skips.py")
    files = [path for path in TESTS.rglob("*.py") if path not in own]
    return {str(path.relative_to(TESTS)): path.read_text() for path in files}


def test_the_page_lists_exactly_what_can_be_missing() -> None:
    engines = {runner(name).name for name in ENGINES} - {"reference"}
    tools = {
        name for text in sources().values() for name in re.findall(r'\blacking\(\s*"([^"]+)"', text)
    }
    assert set(skips.listed()) == engines | tools


def test_no_test_has_another_way_to_skip() -> None:
    other_ways = re.compile(r"pytest\.skip\(|skipif|importorskip|xfail")
    assert [name for name, text in sources().items() if other_ways.search(text)] == []
