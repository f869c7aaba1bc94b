"""The package as a wheel: it holds its data, runs, and says what only a checkout has."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from trlm_lab.backends import peer_steps
from trlm_lab.errors import CheckoutMissingError
from trlm_lab.flows import notebooks

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("wheel")]
Trlm = Callable[..., subprocess.CompletedProcess[str]]


def tracked(folder: str) -> list[str]:
    """Files of a folder that are or would be under version control, relative to the root."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", folder]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return [name for name in done.stdout.split("\0") if name and (ROOT / name).is_file()]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel of the tracked files, built without a network."""
    room = tmp_path_factory.mktemp("wheel")
    for name in [*tracked("trlm_lab"), "pyproject.toml", "README.md", "LICENSE"]:
        (room / "source" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, room / "source" / name)
    pip("wheel", "--no-build-isolation", "-w", str(room), str(room / "source"))
    return next(room.glob("*.whl"))


def pip(command: str, *arguments: str) -> None:
    shared = ["--no-deps", "--no-index", "--disable-pip-version-check", "-q"]
    done = subprocess.run(
        [sys.executable, "-m", "pip", command, *shared, *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def trlm(wheel: Path) -> Trlm:
    """Run a command of the installed wheel; its dependencies are those of this environment."""
    site = wheel.parent / "site"
    pip("install", "--target", str(site), str(wheel))

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-P", *command],
            cwd=wheel.parent,
            env={**os.environ, "PYTHONPATH": str(site), "TRLM_HOME": str(wheel.parent / "home")},
            capture_output=True,
            text=True,
            check=False,
        )

    where = run("-c", "import trlm_lab; print(trlm_lab.__file__)").stdout.strip()
    assert Path(where) == site / "trlm_lab" / "__init__.py"
    return lambda *words: run(str(site / "bin" / "trlm"), *words)


def test_every_file_of_the_package_is_inside(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    assert [name for name in tracked("trlm_lab") if name not in names] == []
    assert {Path(n).parts[0] for n in names} == {"trlm_lab", "trlm_lab-0.1.0.dist-info"}


def test_the_command_runs(trlm: Trlm) -> None:
    done = trlm("--help")
    assert done.returncode == 0, done.stderr
    assert "doctor" in done.stdout
    assert trlm("faults", "list").returncode == 0


def test_the_doctor_says_what_a_wheel_cannot_build(trlm: Trlm) -> None:
    done = trlm("doctor", "--json")
    assert done.returncode == 0, done.stderr
    engines = {row["name"]: row for row in json.loads(done.stdout)["engines"]}
    assert engines["reference"]["available"]
    assert engines["wasm-scalar@wasmtime"]["available"]
    assert not engines["native-scalar"]["available"]
    assert engines["native-scalar"]["fix"]


def test_a_whole_run_is_refused_at_once_for_its_notebooks(trlm: Trlm, wheel: Path) -> None:
    out = wheel.parent / "out"
    done = trlm("run", "synthetic:llama-small", "--out", str(out))
    assert done.returncode == 4
    assert "CHECKOUT_MISSING" in done.stderr
    assert "make demo" in done.stderr
    assert not out.exists()


def test_what_lies_beside_the_package_is_missed_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notebooks, "NOTEBOOKS", tmp_path)
    with pytest.raises(CheckoutMissingError, match="the notebook 01_acquire"):
        notebooks.notebook_source("01_acquire")
    monkeypatch.setattr(peer_steps, "CONSTRAINTS", tmp_path / "constraints.txt")
    with pytest.raises(CheckoutMissingError, match="the list of pinned versions"):
        peer_steps.constraints()
