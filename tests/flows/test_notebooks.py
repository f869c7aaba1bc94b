"""Notebooks run beside each other, in an interpreter that makes errors of warnings."""

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from tests.flows.test_errors import write_notebook
from trlm_lab.errors import UnknownNameError
from trlm_lab.flows import notebooks
from trlm_lab.flows.workspace import Workspace

pytestmark = pytest.mark.xdist_group("flows")

#: Filters of warnings are one state for all threads; a fresh interpreter has imported nothing yet.
SCRIPT = """
import json, sys, warnings
from pathlib import Path
from trlm_lab.flows import notebooks
from trlm_lab.flows.workspace import Workspace

notebooks.NOTEBOOKS = Path(sys.argv[1])
before = list(warnings.filters)
names = ["one", "two", "three", "four"]
done = notebooks.run_notebooks(Workspace(Path(sys.argv[2])), names, {"out": "y"}, [])
print(json.dumps({
    "evidence": [d.evidence for d in done],
    "restored": list(warnings.filters) == before,
}))
"""


@pytest.mark.slow
def test_two_at_once_with_warnings_as_errors(tmp_path: Path) -> None:
    source = tmp_path / "notebooks"
    source.mkdir()
    code = "from trlm_lab.flows.notebooks import evidence\nevidence(out=out)"
    for name in ("one", "two", "three", "four"):
        write_notebook(source, code)
        (source / "page.ipynb").rename(source / f"{name}.ipynb")
    command = [sys.executable, "-W", "error", "-c", SCRIPT, str(source), str(tmp_path / "ws")]
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONWARNINGS"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["evidence"] == [{"out": "y"}] * 4
    assert answer["restored"]


@pytest.mark.slow
def test_a_kernel_works_beside_its_notebook(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever the process is at that moment: `..` means the run whose notebook it is."""
    write_notebook(tmp_path, "import os\nprint(os.getcwd())")
    target = tmp_path / "run" / "notebooks" / "page.ipynb"
    target.parent.mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        notebooks._execute(tmp_path / "page.ipynb", target, {})
    assert str(target.parent) in json.dumps(json.loads(target.read_text())["cells"])


def test_an_unknown_notebook_names_the_known(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="01_acquire, 02_describe") as refused:
        notebooks.run_notebook(Workspace(tmp_path), "99_nothing", {}, [])
    assert refused.value.exit_status == 2
    assert list((tmp_path).rglob("*.ipynb")) == []


def test_no_folder_of_a_run_stays_behind_for_the_process(tmp_path: Path) -> None:
    """Papermill's reader works in a folder of its own; threads that cross leave it set."""
    from papermill.iorw import papermill_io

    files = papermill_io.get_handler("local")
    before, folder = files.cwd(None), tmp_path / "run"
    files.cwd(before)
    with notebooks._process_prepared(folder):
        assert Path.cwd() == folder
        files.cwd(str(folder))
    assert files.cwd(before) == before
    assert Path.cwd() != folder
