"""tools/setup.sh on every state it may find, with a stand-in for Python, pip and the system."""

import os
import shutil
import stat
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
#: Programs of the system that the script may use; everything else is missing.
SYSTEM = ("bash", "cat", "cut", "dirname", "env", "flock", "grep", "mkdir", "cp", "rm", "sed",
          "sha256sum", "sleep", "tail", "touch", "tr")  # fmt: skip

#: Behaves as `python3`, and as `.venv/bin/python` with pip; files in $STATE tell how.
PYTHON = r"""#!/usr/bin/env bash
echo "$*" >>"$STATE/calls"
case "$*" in
  -) [ ! -e "$STATE/no-venv-module" ] ;;
  --version) echo "Python 3.11.2" ;;
  "-m venv "*)
    [ ! -e "$STATE/venv-fails" ] || exit 1
    mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;;
  "-m pip --version") [ ! -e "$STATE/no-pip" ] ;;
  "-m pip "*)
    [ ! -e "$STATE/offline" ] || {
      echo "WARNING: Retrying after connection broken by 'NewConnectionError'"
      echo "ERROR: Cannot install pip because these package versions have conflicts"
      exit 1
    }
    [ ! -e "$STATE/full" ] || { echo "ERROR: No space left on device"; exit 1; }
    [ ! -e "$STATE/killed" ] || kill -9 $PPID
    echo "Collecting something" ;;
  *"sys.version_info"*)
    case $0 in .venv/*) echo "(3, 11, 2)" ;; *) cat "$STATE/version" ;; esac ;;
  *"installed.py check") [ ! -e "$STATE/damage" ] || { cat "$STATE/damage"; exit 1; } ;;
  *"installed.py record") touch .venv/installed.txt ;;
  *find_chromium*)
    [ -e "$STATE/browser" ] || { echo "x.BrowserMissingError: none found"; exit 1; } ;;
  "-m playwright install chromium") [ ! -e "$STATE/playwright-works" ] || touch "$STATE/browser" ;;
esac
"""
APT = """#!/usr/bin/env bash
echo "apt-get $*" >>"$STATE/calls"
case "$*" in *chromium*) [ ! -e "$STATE/apt-works" ] || touch "$STATE/browser" ;; esac
"""


@dataclass(frozen=True)
class Machine:
    """A checkout, a path with few programs, and the switches of their stand-ins."""

    checkout: Path
    programs: Path
    state: Path

    def turn(self, *switches: str, on: bool = True) -> None:
        for name in switches:
            path = self.state / name
            path.touch() if on else path.unlink()

    def program(self, name: str, text: str) -> None:
        path = self.programs / name
        path.write_text(text)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def set_up(self, purpose: str = "test", **variables: str) -> tuple[int, list[str], list[str]]:
        """Exit status, the lines that it says, and what it called."""
        (self.state / "calls").unlink(missing_ok=True)
        done = subprocess.run(
            [self.checkout / "tools" / "setup.sh", purpose],
            env={"PATH": str(self.programs), "STATE": str(self.state), **variables},
            capture_output=True,
            text=True,
            check=False,
        )
        calls = self.state / "calls"
        said = done.stderr.splitlines()
        assert all(line.startswith("[setup] ") for line in said), said
        made = calls.read_text().splitlines() if calls.exists() else []
        return done.returncode, [line.removeprefix("[setup] ") for line in said], made


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A Debian machine with Python, a network, a browser and Rust."""
    made = Machine(tmp_path / "a checkout", tmp_path / "bin", tmp_path / "state")
    made.programs.mkdir()
    made.state.mkdir()
    (made.checkout / "tools").mkdir(parents=True)
    for name in ("tools/setup.sh", "tools/installed.py", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, made.checkout / name)
    for name in SYSTEM:
        (made.programs / name).symlink_to(str(shutil.which(name)))
    made.program("python3", PYTHON)
    made.program("apt-get", APT)
    made.program("rustc", "#!/bin/sh\n")
    made.program("id", "#!/bin/sh\necho 0\n")
    (made.state / "os-release").write_text('ID="debian"\n')
    (made.state / "version").write_text("(3, 11, 2)\n")
    made.turn("browser")
    return made


def pip_calls(calls: list[str]) -> list[str]:
    """Installations, without the flags that all of them have."""
    return [c.partition(" install ")[2] for c in calls if c.startswith("-m pip") and "install" in c]


def test_a_fresh_machine_installs_once_and_pins_everything(machine: Machine) -> None:
    status, said, calls = machine.set_up()
    assert status == 0
    assert said[0] == "creating .venv with Python 3.11.2: there is none"
    assert "350 MB" in said[1]
    first, second = pip_calls(calls)
    assert first == "-c constraints.txt pip"
    assert second.startswith("-c constraints.txt --build-constraint constraints.txt -e .[")
    assert machine.set_up()[1] == []
    assert pip_calls(machine.set_up()[2]) == []


def test_the_set_up_for_tests_serves_the_demo_and_not_the_other_way(machine: Machine) -> None:
    machine.set_up("test")
    assert pip_calls(machine.set_up("demo")[2]) == []
    shutil.rmtree(machine.checkout / ".venv")
    machine.set_up("demo")
    assert len(pip_calls(machine.set_up("test")[2])) == 2


def test_another_index_for_torch(machine: Machine) -> None:
    calls = machine.set_up(TORCH_INDEX="somewhere")[2]
    assert "-c constraints.txt --index-url somewhere torch==2.13.0" in pip_calls(calls)


@pytest.mark.parametrize("stamp", ["0" * 64, "", "f" * 64 + "\n"])
def test_an_older_or_newer_stamp_installs_again_into_the_same_environment(
    machine: Machine, stamp: str
) -> None:
    machine.set_up()
    (machine.checkout / ".venv" / "installed-test").write_text(stamp)
    _, said, calls = machine.set_up()
    assert not [line for line in said if line.startswith("creating")]
    assert len(pip_calls(calls)) == 2


def test_a_set_up_killed_in_pip_starts_over(machine: Machine) -> None:
    machine.turn("killed")
    assert machine.set_up()[0] == -9
    machine.turn("killed", on=False)
    status, said, _ = machine.set_up()
    assert status == 0
    assert said[0].endswith("an earlier installation was cut short")


def test_without_a_network_one_line_says_so_and_nothing_is_thrown_away(machine: Machine) -> None:
    machine.set_up()
    (machine.checkout / ".venv" / "installed-test").write_text("old")
    machine.turn("offline")
    for _ in range(2):
        status, said, _ = machine.set_up()
        assert status == 4
        assert said[-1].startswith("missing: Python packages: the package index cannot be reached")
        assert not [line for line in said if line.startswith("creating")]
    machine.turn("offline", on=False)
    assert machine.set_up()[0] == 0


def test_what_pip_says_otherwise_is_told(machine: Machine) -> None:
    machine.turn("full")
    status, said, _ = machine.set_up()
    assert status == 4
    assert said[-1].startswith("missing: Python packages: pip says ERROR: No space left on device")


def test_missing_pieces_start_over(machine: Machine) -> None:
    machine.set_up()
    (machine.state / "damage").write_text("the package numpy lacks numpy/__init__.py\n")
    assert machine.set_up()[1][0].endswith("the package numpy lacks numpy/__init__.py")


def test_an_environment_without_pip_or_from_another_place_starts_over(machine: Machine) -> None:
    machine.set_up()
    machine.turn("no-pip")
    assert machine.set_up()[1][0].endswith("the present one has no working pip")
    machine.turn("no-pip", on=False)
    moved = Machine(machine.checkout.with_name("moved"), machine.programs, machine.state)
    machine.checkout.rename(moved.checkout)
    assert moved.set_up()[1][0].endswith("the present one was made elsewhere or by hand")
    assert moved.set_up()[1] == []


def test_another_python_is_taken_when_it_is_asked_for(machine: Machine) -> None:
    machine.set_up()
    assert machine.set_up(PYTHON="python3")[1] == []
    (machine.state / "version").write_text("(3, 13, 0)\n")
    assert machine.set_up(PYTHON="python3")[1][0].endswith("PYTHON asks for another version")


def test_no_suitable_python(machine: Machine) -> None:
    status, said, _ = machine.set_up(PYTHON="python2")
    assert (status, len(said)) == (4, 1)
    assert said[0].startswith("missing: PYTHON=python2 is no Python 3.11 to 3.13 with venv")
    machine.turn("no-venv-module")
    status, said, _ = machine.set_up()
    assert (status, len(said)) == (4, 1)
    assert "apt-get install python3-venv" in said[0]
    machine.turn("no-venv-module", on=False)
    machine.turn("venv-fails")
    status, said, _ = machine.set_up()
    assert status == 4
    assert said[-1].startswith("missing: a working venv module for python3")


def browser_lines(machine: Machine, distribution: str) -> tuple[list[str], list[str]]:
    """What is said and called on a machine of a distribution without a browser."""
    machine.turn("browser", on=False)
    release = machine.state / "os-release"
    release.write_text(f"NAME=x\nID={distribution}\n")
    status, said, calls = machine.set_up(TRLM_OS_RELEASE=str(release))
    assert status == 0
    return said, calls


def test_debian_brings_its_own_browser(machine: Machine) -> None:
    machine.turn("apt-works")
    said, calls = browser_lines(machine, "debian")
    assert said[-1] == "installing the system package chromium (about 100 MB)"
    assert "apt-get install -y -qq --no-install-recommends chromium" in calls


def test_ubuntu_takes_the_browser_of_playwright(machine: Machine) -> None:
    machine.turn("playwright-works")
    said, calls = browser_lines(machine, "ubuntu")
    assert said[-1] == "downloading Playwright's Chromium (about 170 MB)"
    assert not [c for c in calls if c.startswith("apt-get")]


def test_without_root_debian_takes_the_browser_of_playwright(machine: Machine) -> None:
    machine.turn("playwright-works")
    machine.program("id", "#!/bin/sh\necho 1000\n")
    said, _ = browser_lines(machine, "debian")
    assert said[-1] == "downloading Playwright's Chromium (about 170 MB)"


@pytest.mark.parametrize("distribution", ["debian", "ubuntu", "fedora"])
def test_a_browser_that_cannot_be_brought_is_one_line(machine: Machine, distribution: str) -> None:
    said, _ = browser_lines(machine, distribution)
    missing = [line for line in said if line.startswith("missing")]
    assert len(missing) == 1
    assert missing[0].startswith("missing: a browser (none found; try: .venv/bin/playwright")


def test_without_rust_one_line_tells_the_way(machine: Machine) -> None:
    (machine.programs / "rustc").unlink()
    assert machine.set_up()[1][-1].startswith("no rustc: the native engine will be NOT_SUPPORTED")


def test_a_purpose_that_is_none(machine: Machine) -> None:
    assert machine.set_up("everything")[:2] == (2, ["usage: tools/setup.sh demo|test"])


def test_what_is_installed_is_noted_and_missed(tmp_path: Path) -> None:
    """The real tools/installed.py on a real environment of one package."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path], check=True)
    python = tmp_path / "bin" / "python"
    room = next((tmp_path / "lib").glob("python*")) / "site-packages"
    (room / "thing.py").touch()
    (room / "thing-1.dist-info").mkdir()
    (room / "thing-1.dist-info" / "METADATA").write_text("Name: thing\nVersion: 1\n")
    record = room / "thing-1.dist-info" / "RECORD"
    record.write_text("thing.py,,\nthing-1.dist-info/METADATA,,\n")

    def tool(what: str) -> tuple[int, str]:
        command = [python, "-I", ROOT / "tools" / "installed.py", what]
        environment = {k: v for k, v in os.environ.items() if not k.startswith("COV")}
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
        return done.returncode, done.stdout.strip()

    assert tool("record") == (0, "")
    assert tool("check") == (0, "")
    (room / "thing.py").unlink()
    assert tool("check") == (1, "the package thing lacks thing.py")
    record.unlink()
    assert tool("check") == (1, "the package thing is half installed")
    shutil.rmtree(record.parent)
    assert tool("check") == (1, "the package thing is gone")
